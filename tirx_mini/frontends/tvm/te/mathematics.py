"""Elementwise math functions, lowered to GPU instructions or LLVM functions."""

from __future__ import annotations

import math
from typing import Any

from tirx_mini.ir import FLOAT32, Call, Expr, as_expr, binary, cast, const, magnitude
from tirx_mini.ir import select as _select
from tirx_mini.isa import NAMES
from tirx_mini.script import tirx


def exp(x: object) -> Expr:
    """Return e to the power of `x`."""
    return _typed(x, lambda value: exp2(value * math.log2(math.e)))


def exp2(x: object) -> Expr:
    """Return 2 to the power of `x`."""
    return _typed(x, lambda value: _called("ptx.ex2.approx", value))


def log(x: object) -> Expr:
    """Return the natural logarithm of `x`."""
    return _typed(x, lambda value: log2(value) * math.log(2))


def log2(x: object) -> Expr:
    """Return the base-2 logarithm of `x`."""
    return _typed(x, lambda value: _called("ptx.lg2.approx", value))


def sqrt(x: object) -> Expr:
    """Return the square root of `x`."""
    return _typed(x, lambda value: _called("ptx.sqrt.rn", value))


def rsqrt(x: object) -> Expr:
    """Return the reciprocal square root of `x`."""
    return _typed(x, lambda value: _called("ptx.rsqrt.approx", value))


def sigmoid(x: object) -> Expr:
    """Return the logistic function of `x`, 1 / (1 + exp(-x))."""
    return _typed(x, lambda value: const(1.0, value.dtype) / (exp(-value) + 1.0))


def tanh(x: object) -> Expr:
    """Return the hyperbolic tangent of `x`."""
    return _typed(x, lambda value: sigmoid(value * 2.0) * 2.0 - 1.0)


def abs(x: object) -> Expr:
    """Return the absolute value of `x`."""
    return magnitude(x)


def if_then_else(cond: object, true_value: object, false_value: object) -> Expr:
    """Return `true_value` if `cond` holds, else `false_value`; only one of them is evaluated."""
    return _select(cond, true_value, false_value)


sin, cos, tan, sinh, cosh = tirx.sin, tirx.cos, tirx.tan, tirx.sinh, tirx.cosh
asin, acos, atan, asinh, acosh, atanh = tirx.asin, tirx.acos, tirx.atan, tirx.asinh, tirx.acosh, tirx.atanh
erf, exp10, log10, log1p = tirx.erf, tirx.exp10, tirx.log10, tirx.log1p
floor, ceil, trunc, nearbyint, round = tirx.floor, tirx.ceil, tirx.trunc, tirx.nearbyint, tirx.round
atan2, fmod, hypot, copysign, nextafter, ldexp = (
    tirx.atan2, tirx.fmod, tirx.hypot, tirx.copysign, tirx.nextafter, tirx.ldexp
)  # fmt: skip
power, isinf, isfinite, popcount = tirx.pow, tirx.isinf, tirx.isfinite, tirx.popcount
pow = power


def isnan(x: object) -> Expr:
    """Return whether `x` is NaN."""
    value = as_expr(x)
    return binary("!=", value, value)


def _called(path: str, value: Expr) -> Call:
    return NAMES[path].call(value)


def _typed(x: object, function: Any) -> Expr:
    """Apply a float32 function to a value of any type."""
    value = as_expr(x)
    result = function(cast(FLOAT32, value))
    return cast(value.dtype, result) if value.dtype.is_float else result
