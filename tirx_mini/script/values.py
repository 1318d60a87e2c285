"""Functions of values: conversions, choices, and what Python's operators cannot write."""

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
    """`a` where `cond` holds, else `b`. A thread reads only what the side that it takes reads."""
    return choose(cond, a, b) if isinstance(cond, Expr) else (a if cond else b)


def ceildiv(a: Any, b: Any) -> Any:
    """a / b rounded up."""
    return (a + b - 1) // b


def Cast(dtype: DTypeLike, value: ExprLike) -> Expr:
    """`value` converted to `dtype`."""
    return convert(data_type(dtype), value)


def reinterpret(dtype: DTypeLike, value: ExprLike) -> Expr:
    """The bits of `value` as a value of `dtype`, which has as many: ``T.reinterpret("uint32", x)``."""
    return bits_as(data_type(dtype), value)


def assume(cond: Any = None) -> Any:
    """`cond` itself: what TVM's compiler may take for granted."""
    return cond


def likely(cond: ExprLike) -> Any:
    """`cond` itself: a hint for TVM's compiler."""
    return cond


def predicate(value: ExprLike) -> Expr:
    """``T.ptx.pred(value)``: `value` as a predicate of PTX, true where it is not zero."""
    return as_bool(value)


def static_assert(condition: Any, message: str = "the assertion fails") -> None:
    """Check a condition that is known at compile time. Raises TirxError with `message` if it is false."""
    if isinstance(condition, Expr):
        raise TirxError("T.static_assert needs a condition that is known at compile time", condition.span)
    if not condition:
        raise TirxError(str(message))


def _shifted(pointer: Any, offset: Any) -> Expr:
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


def handle_add_byte_offset(pointer: Any, offset: ExprLike) -> Expr:
    """`pointer`, `offset` bytes further on."""
    return _shifted(pointer, offset)


def ptr_byte_offset(pointer: Any, offset: ExprLike, dtype: Any = None) -> Expr:
    """`pointer`, `offset` bytes further on; `dtype` is accepted for compatibility with TVM."""
    return _shifted(pointer, offset)


def evaluate(value: Any) -> None:
    """Execute an instruction for its effect."""
    if isinstance(value, Call):
        current("Tx.evaluate").emit(Evaluate(value))
