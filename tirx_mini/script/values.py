"""Functions of values: conversions, choices, and what Python's operators cannot write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tirx_mini.ir import Call, Evaluate, Expr, ExprLike, Ramp, as_expr
from tirx_mini.ir import cast as convert
from tirx_mini.ir import reinterpret as bits_as
from tirx_mini.ir import select as choose

from .builder import current
from .handles import data_type

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


def ramp(base: ExprLike, lanes: int) -> Expr:
    """The index of a vector access: base, base + 1, …, base + lanes - 1."""
    start = as_expr(base)
    return Ramp(start.dtype, start, lanes)


def evaluate(value: Any) -> None:
    """Execute an instruction for its effect."""
    if isinstance(value, Call):
        current("Tx.evaluate").emit(Evaluate(value))
