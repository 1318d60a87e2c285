"""Statements as functions, for plain Python code that builds part of a kernel.

    with T.If(tx == 0):
        with T.Then():
            T.buffer_store(A, 1.0, [0])
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from tirx_mini.ir import (
    Break,
    Buffer,
    Continue,
    Expr,
    ExprLike,
    Stmt,
    TirxError,
    Var,
    as_condition,
    as_expr,
    int_value,
    seq,
    substitute,
)  # fmt: skip
from tirx_mini.ir import (
    BufferLoad as Load,
)
from tirx_mini.ir import (
    If as IfStmt,
)
from tirx_mini.ir import (
    Return as ReturnStmt,
)
from tirx_mini.ir import (
    While as WhileStmt,
)
from tirx_mini.wording import described

from .builder import current
from .instructions import namespace, raw_call
from .vectors import stored


class _Branches:
    """A branch under construction, with the statements of both sides."""

    def __init__(self) -> None:
        self.then: Stmt | None = None
        self.orelse: Stmt | None = None


@contextmanager
def If(condition: ExprLike) -> Iterator[None]:
    """Open a branch, whose sides are the inner blocks ``with T.Then():`` and ``with T.Else():``."""
    builder = current("T.If")
    branches, known = _Branches(), int_value(condition)
    builder.branches.append(branches)
    try:
        yield
    finally:
        builder.branches.pop()
    taken = branches.then if known or branches.then is None else branches.orelse
    if known is None:
        builder.emit(IfStmt(as_condition(condition), branches.then or seq(), branches.orelse))
    elif taken is not None:
        builder.emit(taken)


@contextmanager
def _side(name: str) -> Iterator[None]:
    builder = current(f"T.{name}")
    if not builder.branches:
        raise TirxError(f"`T.{name}()` is a side of `with T.If(condition):`", hint="open it inside that block")
    branches = builder.branches[-1]
    with builder.block() as block, builder.read_once("branch"):
        yield
        setattr(branches, "then" if name == "Then" else "orelse", builder.body(block))


def Then() -> Any:
    """Open the side of ``T.If`` that executes if the condition holds."""
    return _side("Then")


def Else() -> Any:
    """Open the side of ``T.If`` that executes if the condition does not hold."""
    return _side("Else")


@contextmanager
def While(condition: ExprLike) -> Iterator[None]:
    """Open a loop that repeats while the condition holds."""
    builder = current("T.While")
    with builder.block() as block, builder.read_once("loop"):
        yield
        body = builder.body(block)
    builder.emit(WhileStmt(as_condition(condition), body))


def break_loop() -> None:
    """Break out of the innermost loop."""
    current("T.break_loop").emit(Break())


def continue_loop() -> None:
    """Continue with the next iteration of the innermost loop."""
    current("T.continue_loop").emit(Continue())


def tvm_storage_sync(storage_scope: str, is_load: bool = False, num_blocks: int = -1) -> None:
    """Synchronise the threads that share a memory: the CTA for "shared", the warp for "warp"."""
    names = {"shared": "cta_sync", "shared.dyn": "cta_sync", "warp": "warp_sync"}
    if storage_scope not in names:
        raise TirxError(
            f'tvm_storage_sync synchronises "shared" or "warp", not {described(storage_scope)}',
            hint="use T.cuda.grid_sync() for all CTAs",
        )
    group: Any = namespace().cuda
    getattr(group, names[storage_scope])()


def buffer_store(buffer: Buffer, value: ExprLike, indices: Sequence[ExprLike], predicate: object = None) -> None:
    """Store an element: ``buffer[indices] = value``."""
    if predicate is not None:
        raise TirxError("T.buffer_store has no predicate here", hint="write an `if` around it")
    element = BufferLoad(buffer, indices)
    current("T.buffer_store").emit(stored(buffer, element.indices, as_expr(value)))


def BufferLoad(buffer: Buffer, indices: Sequence[ExprLike], predicate: object = None) -> Load:
    """Load an element: ``buffer[indices]``."""
    if predicate is not None:
        raise TirxError("T.BufferLoad has no predicate here", hint="write T.if_then_else(predicate, buf[i], 0)")
    if not isinstance(buffer, Buffer):
        raise TirxError(f"an element is one of a buffer, not of {described(buffer)}", about=buffer)
    element = buffer[tuple(indices) if isinstance(indices, (list, tuple)) else indices]
    if not isinstance(element, Load):
        hint = f"give {buffer.ndim} indices, without slices"
        raise TirxError(f"{described(element)} is a tile, and no element of {buffer.name}", hint=hint, about=indices)
    return element


def Assert(condition: ExprLike, message: object = "", error_kind: str = "RuntimeError") -> Any:
    """Abort the launch if a condition does not hold (PTX ISA: trap); also ``with T.Assert(…):``.

    Raises `TirxError` with `message` where the condition is known not to hold.
    """
    known = int_value(condition)
    if known is None:
        raw_call("trap.unless", condition)
    elif not known:
        parts = message if isinstance(message, (list, tuple)) else [message]
        hint = "its condition is known while the kernel is read: change the values, or the condition"
        raise TirxError("".join(map(str, parts)) or "this assertion fails", hint=hint)
    return nullcontext()


def thread_return() -> None:
    """Exit the executing thread."""
    current("T.thread_return").emit(ReturnStmt())


def Return(value: object = None) -> None:
    """Exit the executing thread; a kernel returns no value."""
    thread_return()


def Bind(value: ExprLike, type_annotation: object = None, *, var: object = None) -> Expr:
    """Bind `value` to a new variable."""
    builder = current("T.Bind")
    return builder.bind(builder.take_name(getattr(var, "name", "v")), as_expr(value))


def Let(expr: ExprLike, where: Mapping[Var, ExprLike]) -> Expr:
    """Substitute values for variables in `expr`."""
    return substitute(as_expr(expr), {var: as_expr(value) for var, value in where.items()})
