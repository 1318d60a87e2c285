"""The scalars that a while loop must change in order to terminate."""

from __future__ import annotations

from collections.abc import Iterator

from tirx_mini.ir import (
    AddressOf,
    AllocBuffer,
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
    Seq,
    Stmt,
    Var,
    While,
    children,
    walk,
)


def loop_state(loop: While) -> tuple[Buffer, ...] | None:
    """Return the mutable scalars that determine when the loop ends, directly or through others.

    If one iteration leaves all of them unchanged, so does every later one. None if the exit may also depend on memory,
    on the result of an instruction or on an array.
    """
    effects = _Effects()
    effects.block(loop.body, ())
    state: set[Buffer] = set()
    todo = [loop.cond, *effects.leaving]
    while todo:
        for node in walk(todo.pop()):
            if isinstance(node, Var):
                todo += effects.bound.pop(node, [])
            elif isinstance(node, (Call, AddressOf)) or (isinstance(node, BufferLoad) and not _is_scalar(node.buffer)):
                return None
            elif isinstance(node, BufferLoad) and node.buffer not in state:
                if node.buffer in effects.addressed:
                    return None
                state.add(node.buffer)
                todo += effects.stored.get(node.buffer, [])
    own = {node.buffer for node in walk(loop.body) if isinstance(node, AllocBuffer)}  # new in each iteration
    return tuple(sorted(state - own, key=lambda buffer: buffer.name))


def _is_scalar(buffer: Buffer) -> bool:
    return buffer.scope == "local" and buffer.size == 1


class _Effects:
    """The dependences of each scalar, variable and exit of a loop's body.

    leaving: the conditions of its breaks and continues, and of inner loops' breaks and continues.
    """

    def __init__(self) -> None:
        self.stored: dict[Buffer, list[Expr]] = {}
        self.bound: dict[Var, list[Expr]] = {}
        self.addressed: set[Buffer] = set()
        self.leaving: list[Expr] = []

    def block(self, stmt: Stmt | None, control: tuple[Expr, ...]) -> None:
        """Collect the effects of `stmt`. control: the conditions that guard it."""
        if stmt is None:
            return
        for expr in _own_expressions(stmt):
            self.addressed |= {node.buffer for node in walk(expr) if isinstance(node, AddressOf)}
        if isinstance(stmt, Seq):
            for child in stmt.stmts:
                self.block(child, control)
        elif isinstance(stmt, If):
            for arm in (stmt.then, stmt.orelse):
                self.block(arm, (*control, stmt.cond))
        elif isinstance(stmt, For):
            self.bound.setdefault(stmt.var, []).extend((stmt.start, stmt.stop))
            self.block(stmt.body, (*control, stmt.start, stmt.stop))
        elif isinstance(stmt, While):
            self.block(stmt.body, (*control, stmt.cond))
        elif isinstance(stmt, Hint):
            self.block(stmt.body, control)
        elif isinstance(stmt, Bind):
            self.bound.setdefault(stmt.var, []).append(stmt.value)
        elif isinstance(stmt, BufferStore):
            self.stored.setdefault(stmt.buffer, []).extend((stmt.value, *control))
        elif isinstance(stmt, (Break, Continue)):
            self.leaving.extend(control)


def _own_expressions(stmt: Stmt) -> Iterator[Expr]:
    """Yield the expressions of a statement itself, without those of nested statements."""
    return (child for child in children(stmt) if isinstance(child, Expr))
