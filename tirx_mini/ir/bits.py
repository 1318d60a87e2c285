"""Reinterpretation of a value's bits as another type."""

from __future__ import annotations

from tirx_mini.records import dataclass

from .dtype import DataType
from .expr import Expr, as_expr, cast
from .span import Span, TirxError


@dataclass(frozen=True, eq=False, repr=False, slots=True)
class Reinterpret(Expr):
    """A bit cast of `value` to `dtype`, of the same width: ``Tx.reinterpret("uint32", x)`` (PTX ISA: mov.b32).

    A vector and a scalar of the same size may stand for one another; lane 0 is in the lowest bits.
    """

    value: Expr


def reinterpret(dtype: str, value: object, *, span: Span | None = None) -> Expr:
    """Reinterpret the bits of `value` as `dtype`. Raises `TirxError` if the widths differ."""
    target, expr = DataType(dtype), as_expr(value)
    if expr.dtype == target:
        return expr
    if expr.is_tile:
        raise TirxError(f"reinterpret needs a value, but {expr!r} is a tile", expr.span or span)
    if target.is_handle or expr.dtype.is_handle:
        return cast(target, expr, span=span)
    if expr.dtype.bits * expr.dtype.lanes != target.bits * target.lanes or "bool" in (target.scalar, expr.dtype.scalar):
        raise TirxError(
            f"the bits of a value of {expr.dtype} cannot be read as {target}, which has another size",
            expr.span or span,
            f"to convert the number, write Tx.cast(…, \"{target}\")",
        )
    return Reinterpret(target, expr, span=span or expr.span)
