"""Absolute values."""

from __future__ import annotations

from .expr import Expr, as_expr, binary, unary


def magnitude(value: object) -> Expr:
    """`value` without its sign; 0 for -0. An unsigned integer is its own magnitude, and so is the lowest signed one."""
    number = as_expr(value)
    if number.dtype.is_integer and not number.dtype.is_signed and not number.is_tile:
        return number
    return binary("max", number, unary("-", number))
