"""The LowerReturns pass: convert early returns to conditions, so that lowered code ends only at its last statement."""

from __future__ import annotations

from tirx_mini.ir import (
    INT32,
    AllocBuffer,
    Break,
    Buffer,
    BufferStore,
    For,
    Hint,
    If,
    PrimFunc,
    Return,
    Scope,
    Seq,
    Stmt,
    While,
    binary,
    const,
    inner_statements,
    scalar,
    seq,
    unary,
)
from tirx_mini.records import replace


def lower_returns(func: PrimFunc) -> PrimFunc:
    """Replace `Return` statements by conditions on the following code and by loop exits."""
    holding: set[Stmt] = set()
    if not _note_returns(func.body, holding):
        return func
    lowering = _Returns(holding)
    body = lowering.statement(func.body, True)
    return func.with_body(seq(AllocBuffer(lowering.ended), lowering.set(0), body) if lowering.used else body)


def _note_returns(stmt: Stmt, holding: set[Stmt]) -> bool:
    """Add the statements in which threads return to `holding`. Return whether `stmt` is one."""
    inner = [_note_returns(part, holding) for part in inner_statements(stmt)]
    if isinstance(stmt, Return) or any(inner):
        holding.add(stmt)
    return stmt in holding


def _always(stmt: Stmt) -> bool:
    """Return whether every thread that executes a statement returns in it."""
    if isinstance(stmt, Seq):
        return any(_always(part) for part in stmt.stmts)
    if isinstance(stmt, If):
        return stmt.orelse is not None and _always(stmt.then) and _always(stmt.orelse)
    return isinstance(stmt, Return)


class _Returns:
    """Lowers returns. ended: the flag for returned threads. used: whether the flag is needed.

    holding: the statements in which threads return.
    last: of a statement, whether nothing of the kernel follows it, so that the flag is not needed.
    """

    def __init__(self, holding: set[Stmt]) -> None:
        self.holding = holding
        self.ended: Buffer = scalar("ended", INT32)
        self.used = False
        self.loops = 0

    def set(self, value: int) -> Stmt:
        return BufferStore(self.ended, (const(0),), const(value))

    def _returns(self, stmt: Stmt) -> bool:
        parts = stmt.stmts if isinstance(stmt, Seq) else ()  # a sequence may have been made since
        return stmt in self.holding or any(part in self.holding for part in parts)

    def statement(self, stmt: Stmt, last: bool) -> Stmt:
        """Rewrite a statement to set `ended` in the threads that return."""
        if isinstance(stmt, Return):
            return self._left(stmt, last)
        if not self._returns(stmt):
            return stmt
        if isinstance(stmt, Seq):
            return self._in_order(list(stmt.stmts), stmt, last)
        if isinstance(stmt, If):
            orelse = None if stmt.orelse is None else self.statement(stmt.orelse, last)
            return replace(stmt, then=self.statement(stmt.then, last), orelse=orelse)
        if isinstance(stmt, (For, While)):
            self.loops += 1
            inner = self.statement(stmt.body, False)
            self.loops -= 1
            return replace(stmt, body=inner)
        assert isinstance(stmt, (Scope, Hint)) and stmt.body is not None
        return replace(stmt, body=self.statement(stmt.body, last))

    def _left(self, stmt: Return, last: bool) -> Stmt:
        """Emit a thread's return: a loop exit if inside a loop, and the flag for the remaining code."""
        if last and not self.loops:
            return seq(span=stmt.span)
        self.used = True
        leave = (Break(span=stmt.span),) if self.loops else ()
        return seq(replace(self.set(1), span=stmt.span), *leave, span=stmt.span)

    def _in_order(self, stmts: list[Stmt], whole: Seq, last: bool) -> Stmt:
        """Guard the statements after a return for the threads that have not returned."""
        place = next(i for i, stmt in enumerate(stmts) if self._returns(stmt))
        before, first, rest = stmts[:place], stmts[place], stmts[place + 1 :]
        if not rest or _always(first):
            return seq(*before, self.statement(first, last), span=whole.span)
        after = seq(*rest, span=rest[0].span)
        if isinstance(first, If) and first.orelse is None and _always(first.then):
            return seq(*before, self._else(first, after, last), span=whole.span)
        self.used = True
        going = binary("==", self.ended[0], 0)
        left = self.statement(first, False)
        if self.loops and isinstance(first, (For, While)):  # the loop around it is left, too
            leave = If(unary("not", going), Break(span=first.span), span=first.span)
            return seq(*before, left, leave, self.statement(after, last), span=whole.span)
        return seq(*before, left, If(going, self.statement(after, last), span=first.span), span=whole.span)

    def _else(self, first: If, after: Stmt, last: bool) -> Stmt:
        """Convert ``if c: …; return`` and the following statements to the two arms of a branch."""
        then, orelse = self.statement(first.then, last), self.statement(after, last)
        if isinstance(then, Seq) and not then.stmts:
            return replace(first, cond=unary("not", first.cond), then=orelse)
        return replace(first, then=then, orelse=orelse)
