"""Scalar functions: arithmetic, conversions and selection."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tirx_mini.ir import Buffer, Expr, as_expr, binary, const, int_value, magnitude, select
from tirx_mini.ir import cast as convert
from tirx_mini.ir import reinterpret as bits_as
from tirx_mini.script import DType, tirx

from .dtypes import dtype_of

__all__ = [
    "Cast", "Select", "assume", "call_extern", "cast", "ceildiv", "clamp", "device_assert", "if_then_else", "infinity",
    "isinf", "isnan", "max_value", "min_value", "reinterpret",
]  # fmt: skip


_TIR: Any = tirx
"""The namespace of TIR, whose names are those of tile primitives, too: here they are functions of values."""


def value_of(operand: object) -> Any:
    """Return a value, loading the element of a one-element buffer."""
    if isinstance(operand, Buffer) and int_value(as_expr(operand.size)) == 1:
        return operand[(0,) * operand.ndim]
    return operand


def _like(x: object, result: Expr) -> Expr:
    """Convert a float32 result to the operand's 16-bit float dtype, as TIR's functions do."""
    given = as_expr(value_of(x)).dtype
    return convert(given, result) if given.is_float and given.bits == 16 else result


def _unary(function: Callable[[Expr], Expr], doc: str) -> Callable[[Any], Expr]:
    def compute(x: object) -> Expr:
        value = as_expr(value_of(x))
        wide = value if value.dtype == "float32" else convert("float32", value)
        return _like(value, function(wide))

    compute.__doc__ = doc
    return compute


def _reciprocal(x: Expr) -> Expr:
    return binary("/", 1.0, x)


def absolute(x: object) -> Expr:
    """Return the absolute value of a number."""
    return magnitude(value_of(x))


def pow(x: object, y: object) -> Expr:
    """Return `x` to the power of `y`, expanded to products for small integer `y`."""
    base = as_expr(value_of(x))
    times = int_value(as_expr(y))
    if times is None and isinstance(y, float) and y.is_integer():
        times = int(y)
    if times is not None and 0 <= times <= 8:
        result: Expr = const(1, base.dtype)
        for _ in range(times):
            result = result * base
        return result
    return _TIR.pow(base, y)


def _extreme(op: str, doc: str) -> Callable[..., Any]:
    def compute(*values: Any, **_: object) -> object:
        found = [value_of(value) for value in (values[0] if len(values) == 1 and _many(values[0]) else values)]
        if not any(isinstance(value, Expr) for value in found):
            return getattr(builtins, op)(found)
        result = found[0]
        for value in found[1:]:
            result = binary(op, result, value)
        return result

    compute.__doc__ = doc
    return compute


def _many(value: object) -> bool:
    return isinstance(value, Sequence)


def cast(value: object, dtype: object) -> Expr:
    """Convert `value` to `dtype`; the two arguments may be swapped."""
    if isinstance(value, (str, DType)):
        value, dtype = dtype, value
    return convert(dtype_of(dtype), as_expr(value_of(value)))


def Cast(dtype: object, value: object) -> Expr:
    """Convert `value` to `dtype`."""
    return convert(dtype_of(dtype), as_expr(value_of(value)))


def reinterpret(a: object, b: object = None, *, value: object = None, dtype: object = None) -> Expr:
    """Reinterpret the bits of a value as a dtype of equal width: ``T.reinterpret("uint32", x)``,
    or arguments swapped."""
    b = b if b is not None else value if dtype is None else dtype
    if isinstance(a, Expr) and str(b) == "handle":  # a pointer, as `T.attr` takes it
        return a
    value, dtype = (a, b) if isinstance(a, Expr) else (b, a)
    return bits_as(dtype_of(dtype), as_expr(value_of(value)))


def clamp(dst: object, min_val: object, max_val: object) -> Expr:
    """Clamp `dst` to the range from `min_val` to `max_val`."""
    return binary("max", binary("min", value_of(dst), max_val), min_val)


def if_then_else(cond: object, a: object, b: object) -> Any:
    """Return `a` if `cond` holds, else `b`; only the selected side's loads are executed."""
    return select(cond, value_of(a), value_of(b)) if isinstance(cond, Expr) else (a if cond else b)


def Select(cond: object, a: object, b: object) -> Any:
    """Alias of `if_then_else`."""
    return if_then_else(cond, a, b)


def ceildiv(a: object, b: object) -> Any:
    """Return a / b, rounded up."""
    return (value_of(a) + value_of(b) - 1) // value_of(b)


def infinity(dtype: object) -> Expr:
    """Return the infinity of a dtype."""
    return const(math.inf, dtype_of(dtype))


def max_value(dtype: object) -> Expr:
    """Return the largest finite value of a dtype."""
    return _TIR.max_value(dtype_of(dtype))


def min_value(dtype: object) -> Expr:
    """Return the smallest finite value of a dtype."""
    return _TIR.min_value(dtype_of(dtype))


def isinf(x: object) -> Expr:
    """Return whether a number is infinite."""
    value = as_expr(value_of(x))
    return absolute(value) == const(math.inf, value.dtype)


def isnan(x: object) -> Expr:
    """Return whether a value is NaN."""
    value = as_expr(value_of(x))
    return binary("!=", value, value)


def assume(condition: object) -> None:
    """State an assumption for TileLang's optimiser; it has no effect here."""


def device_assert(condition: object, msg: str = "") -> None:
    """Check a condition at run time; omitted, as in a release build."""


_IN_C = {"max": "fmaxf", "min": "fminf", "abs": "fabsf", "rsqrt": "rsqrtf"}


def call_extern(dtype: object, func_name: str, *args: object) -> Any:
    """Call a CUDA C++ function by name, either a math function such as "fmaxf" or "expf", or any other."""
    plain = next((ours for ours, name in _IN_C.items() if name == func_name), func_name)
    for name in (plain, plain.removesuffix("f")):
        if name in FUNCTIONS:
            return FUNCTIONS[name](*args)
    return _TIR.call_extern(str(dtype_of(dtype)), func_name, *args)


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "exp": _unary(tirx.exp, "e to the power of `x` (``ex2.approx``)."),
    "exp2": _unary(tirx.exp2, "2 to the power of `x` (``ex2.approx``)."),
    "log": _unary(tirx.log, "The natural logarithm of `x` (``lg2.approx``)."),
    "log2": _unary(tirx.log2, "The logarithm of `x` to the base 2 (``lg2.approx``)."),
    "sqrt": _unary(tirx.sqrt, "The square root of `x`, rounded to nearest."),
    "rsqrt": _unary(tirx.rsqrt, "1 / the square root of `x` (``rsqrt.approx``)."),
    "fast_rcp": _unary(_reciprocal, "1 / `x`."),
    "abs": absolute,
    "fabs": absolute,
    "pow": pow,
    "power": pow,
    "max": _extreme("max", "The largest of several values."),
    "min": _extreme("min", "The smallest of several values."),
    "__exp": _unary(tirx.exp, "e to the power of `x` (``ex2.approx``)."),
    "__exp10": _unary(lambda x: _TIR.exp2(x * math.log2(10)), "10 to the power of `x`."),
    "__log": _unary(tirx.log, "The natural logarithm of `x` (``lg2.approx``)."),
    "__log2": _unary(tirx.log2, "The logarithm of `x` to the base 2 (``lg2.approx``)."),
    "__log10": _unary(lambda x: _TIR.log2(x) * math.log10(2), "The logarithm of `x` to the base 10."),
}
"""Functions by their names in `T`."""
