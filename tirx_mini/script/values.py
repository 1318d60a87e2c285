"""Value functions: conversions, selection, and operations without a Python operator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tirx_mini.ir import (
    HANDLE,
    AddressOf,
    Analyzer,
    Call,
    Evaluate,
    Expr,
    ExprLike,
    TirxError,
    as_bool,
    as_expr,
    simplify,
)
from tirx_mini.ir import cast as convert
from tirx_mini.ir import reinterpret as bits_as
from tirx_mini.ir import select as choose

from .builder import current
from .handles import data_type
from .views import flat_place

if TYPE_CHECKING:
    from .annotations import DTypeLike


def if_then_else(cond: ExprLike, a: ExprLike, b: ExprLike) -> Any:
    """Return `a` if `cond` holds, else `b`; a thread executes only the selected side's loads."""
    return choose(cond, a, b) if isinstance(cond, Expr) else (a if cond else b)


def ceildiv(a: Any, b: Any) -> Any:
    """Return a / b, rounded up."""
    return (a + b - 1) // b


def Cast(dtype: DTypeLike, value: ExprLike) -> Expr:
    """Convert `value` to `dtype`."""
    return convert(data_type(dtype), value)


def reinterpret(dtype: DTypeLike, value: ExprLike) -> Expr:
    """Reinterpret the bits of `value` as `dtype` of the same width: ``T.reinterpret("uint32", x)``."""
    return bits_as(data_type(dtype), value)


def assume(cond: object = None) -> Any:
    """Return `cond` unchanged, an assumption for TVM's compiler."""
    return cond


def likely(cond: ExprLike) -> Any:
    """Return `cond` unchanged, a hint for TVM's compiler."""
    return cond


def predicate(value: ExprLike) -> Expr:
    """Return `value` as a PTX predicate, true if nonzero: ``T.ptx.pred(value)``."""
    return as_bool(value)


def static_assert(condition: object, message: str = "the assertion fails") -> None:
    """Assert a compile-time condition. Raises TirxError with `message` if it is false."""
    if isinstance(condition, Expr):
        raise TirxError("T.static_assert needs a condition that is known at compile time", condition.span)
    if not condition:
        raise TirxError(str(message))


def _shifted(pointer: object, offset: object) -> Expr:
    if not isinstance(pointer, AddressOf):
        raise TirxError("a byte offset is added to a pointer into a buffer, such as buf.data or buf.ptr_to([i])")
    buffer, size = pointer.buffer, pointer.buffer.dtype.itemsize
    elements = Analyzer().divisor(as_expr(offset))
    if elements % size:
        raise TirxError(
            f"the offset is not known to be a multiple of {size} bytes, an element of {buffer.name}",
            hint="view the buffer as bytes first: buf.view(\"uint8\").ptr_to([…])",
        )
    return AddressOf(HANDLE, buffer, (simplify(flat_place(pointer) + as_expr(offset) // size),))


def handle_add_byte_offset(pointer: object, offset: ExprLike) -> Expr:
    """Return `pointer` advanced by `offset` bytes."""
    return _shifted(pointer, offset)


def ptr_byte_offset(pointer: object, offset: ExprLike, dtype: object = None) -> Expr:
    """Return `pointer` advanced by `offset` bytes; `dtype` is accepted for compatibility with TVM."""
    return _shifted(pointer, offset)


def evaluate(value: object) -> None:
    """Execute an instruction for its side effect."""
    if isinstance(value, Call):
        current("Tx.evaluate").emit(Evaluate(value))
