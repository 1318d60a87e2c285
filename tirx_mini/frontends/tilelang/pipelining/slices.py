"""Slicing of the producer: the loops around its copies, and the scalars that the copies depend on."""

from __future__ import annotations

from collections.abc import Iterable

from tirx_mini.ir import (
    AddressOf,
    Bind,
    Break,
    Buffer,
    BufferLoad,
    BufferStore,
    Call,
    Continue,
    Expr,
    For,
    Hint,
    If,
    Mutator,
    Seq,
    Stmt,
    Var,
    While,
    seq,
    unary,
    walk,
)
from tirx_mini.records import dataclass, replace


class NoSlice(Exception):
    """A copy depends on values that only the consumer threads have."""


@dataclass(frozen=True)
class Slice:
    """A program slice. body: its statements. scalars: the thread-local variables that it reads and writes."""

    body: Stmt
    scalars: frozenset[Buffer]


def slice_of(body: Stmt, copies: Iterable[Stmt]) -> Slice:
    """Return the slice of `body` that determines when and with which operands `copies` execute.

    Raises NoSlice where these depend on shared memory, fragments, tensor memory, or global memory that the kernel
    writes.
    """
    slicer = _Slicer(body, frozenset(map(id, copies)))
    known = -1
    result = None
    while known != slicer.size:  # what is needed may need more
        known = slicer.size
        result = slicer.stmt(body)
    assert result is not None
    return Slice(result, frozenset(slicer.scalars))


class _Slicer:
    """Computes a slice. wanted: the copies. variables, scalars: the dependences found so far."""

    def __init__(self, body: Stmt, wanted: frozenset[int]) -> None:
        self.wanted = wanted
        self.variables: set[Var] = set()
        self.scalars: set[Buffer] = set()
        self.written = {n.buffer.root for n in walk(body) if isinstance(n, (BufferStore, AddressOf))}

    @property
    def size(self) -> int:
        return len(self.variables) + len(self.scalars)

    def need(self, *exprs: Expr) -> None:
        """Record the dependences of expressions."""
        for node in (node for expr in exprs for node in walk(expr)):
            if isinstance(node, Var):
                self.variables.add(node)
            elif isinstance(node, BufferLoad):
                self._need_element(node.buffer.root)
            elif isinstance(node, Call):
                raise NoSlice

    def _need_element(self, buffer: Buffer) -> None:
        if buffer.scope == "local":
            self.scalars.add(buffer)
        elif buffer.scope != "global" or buffer in self.written:
            raise NoSlice

    def stmt(self, stmt: Stmt) -> Stmt | None:
        """Return the part of a statement that belongs to the slice, or None."""
        if id(stmt) in self.wanted:
            self.need(*(node for node in walk(stmt) if isinstance(node, Expr)))
            return stmt
        if isinstance(stmt, Seq):
            kept = [self.stmt(part) for part in reversed(stmt.stmts)]
            kept.reverse()
            return seq(*kept, span=stmt.span) if any(kept) else None
        if isinstance(stmt, (Break, Continue)):
            return stmt
        if isinstance(stmt, Bind) and stmt.var in self.variables:
            self.need(stmt.value)
            return stmt
        if isinstance(stmt, BufferStore) and stmt.buffer.root in self.scalars:
            self.need(stmt.value, *stmt.indices)
            return stmt
        return self._compound(stmt)

    def _compound(self, stmt: Stmt) -> Stmt | None:
        if isinstance(stmt, If):
            then, orelse = self.stmt(stmt.then), stmt.orelse and self.stmt(stmt.orelse)
            if then is None and orelse is None:
                return None
            self.need(stmt.cond)
            if then is None:
                return If(unary("not", stmt.cond), orelse, span=stmt.span)  # type: ignore[arg-type]
            return replace(stmt, then=then, orelse=orelse)
        if not isinstance(stmt, (For, While, Hint)) or stmt.body is None:
            return None
        body = self.stmt(stmt.body)
        if body is None or not any(id(n) in self.wanted or isinstance(n, BufferStore) for n in walk(body)):
            return None
        if isinstance(stmt, For):
            self.need(stmt.start, stmt.stop)
        elif isinstance(stmt, While):
            self.need(stmt.cond)
        return replace(stmt, body=body)


class Renamed(Mutator):
    """Clones statements with fresh variables, so that both copies can coexist."""

    def __init__(self) -> None:
        self.own: dict[Var, Var] = {}

    def _own(self, var: Var) -> Var:
        return self.own.setdefault(var, Var(var.dtype, var.name))

    def visit_For(self, node: For) -> Stmt:
        start, stop = self.expr(node.start), self.expr(node.stop)
        return replace(node, var=self._own(node.var), start=start, stop=stop, body=self.stmt(node.body))

    def visit_Bind(self, node: Bind) -> Stmt:
        value = self.expr(node.value)
        return replace(node, var=self._own(node.var), value=value)

    def visit_Var(self, node: Var) -> Expr:
        return self.own.get(node, node)
