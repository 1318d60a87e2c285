"""Elementary functions: ``T.exp2(x)``, ``T.sin(x)``, ``T.popcount(x)``.

A result has the type of its operands. Numbers of 16 bits are computed in float32 and rounded, as CUDA's functions of
`half` do; integers become float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from inspect import Parameter, Signature
from typing import Any

from tirx_mini.ir import (
    BOOL,
    FLOAT32,
    UINT32,
    Call,
    DataType,
    Expr,
    ExprLike,
    TirxError,
    as_expr,
    binary,
    cast,
    const,
    magnitude,
    promote,
    reinterpret,
    unary,
)
from tirx_mini.isa import TABLE

LOG2_E = math.log2(math.e)
_HALVES = ("float16", "bfloat16")


def _type(values: Sequence[ExprLike]) -> DataType:
    """Return the common type of values; literals take the others' type."""
    given = [as_expr(value).dtype for value in values if not isinstance(value, (bool, int, float))]
    return reduce(promote, given) if given else FLOAT32


def _call(name: str, *values: ExprLike, **modifiers: object) -> Call:
    entry = TABLE[name]
    operands, attrs = entry.bind(values, modifiers)
    assert entry.result is not None and entry.result.dtype is not None
    return Call(entry.result.dtype, name, operands, attrs)


def _single(function: Callable[..., Expr], double: str, *values: ExprLike) -> Expr:
    """Apply a float32 `function`, or for float64 the instruction `double`."""
    kind = _type(values)
    if kind == "float64":
        return _call(double, *values)
    result = function(*(cast(FLOAT32, value) for value in values))
    return cast(kind, result) if kind in _HALVES else result


def exp2(x: ExprLike) -> Expr:
    """Return 2 to the power of `x` (``ex2.approx``)."""
    return _single(lambda value: _call("ex2.approx", value, ftz=False), "exp2.f64", x)


def exp(x: ExprLike) -> Expr:
    """Return e to the power of `x`, computed as 2 to the power of x · log2(e) like CUDA's ``__expf``."""
    return _single(lambda value: exp2(binary("*", value, LOG2_E)), "exp.f64", x)


def log2(x: ExprLike) -> Expr:
    """Return the base-2 logarithm of `x` (``lg2.approx``)."""
    return _single(lambda value: _call("lg2.approx", value, ftz=False), "log2.f64", x)


def log(x: ExprLike) -> Expr:
    """Return the natural logarithm of `x`, computed as log2(x) · ln(2) like CUDA's ``__logf``."""
    return _single(lambda value: binary("*", log2(value), 1 / LOG2_E), "log.f64", x)


def sqrt(x: ExprLike) -> Expr:
    """Return the square root of `x`, rounded to nearest."""
    return _single(lambda value: _call("sqrt.rn", value), "sqrt.f64", x)


def rsqrt(x: ExprLike) -> Expr:
    """Return the reciprocal square root of `x` (``rsqrt.approx``)."""
    return _single(lambda value: _call("rsqrt.approx", value, ftz=False), "rsqrt.f64", x)


def fma(x: ExprLike, y: ExprLike, z: ExprLike) -> Expr:
    """Return x * y + z with a single rounding."""
    return _single(lambda *values: _call("fma.rn", *values), "fma.f64", x, y, z)


def sigmoid(x: ExprLike) -> Expr:
    """Return the logistic function, 1 / (1 + e to the power of -`x`)."""
    value = as_expr(x)
    return binary("/", 1.0, binary("+", 1.0, exp(unary("-", value))))


def _from_library(name: str, double: str, parameters: str) -> Callable[..., Expr]:
    """Return a function of CUDA's math library, whose float32 entry is `name`."""

    def function(*values: ExprLike) -> Expr:
        if len(values) != len(names):
            raise TirxError(
                f"T.{shown}({parameters}) takes {len(names)} operand{'s' * (len(names) > 1)}, "
                f"but {len(values)} are given"
            )
        return _single(lambda *each: _call(name, *each), double, *values)

    names, shown = parameters.split(", "), name.removesuffix("f")
    return _described(function, shown, TABLE[name].doc, parameters)


def _to_whole_number(name: str) -> Callable[..., Expr]:
    """Return a function that rounds floats and leaves integers unchanged."""

    def function(x: ExprLike) -> Expr:
        value = as_expr(x)
        return value if value.dtype.is_integer else rounded(value)

    rounded = _from_library(f"{name}f", f"{name}.f64", "x")
    return _described(function, name, TABLE[f"{name}f"].doc, "x")


def _described(function: Callable[..., Expr], name: str, doc: str, parameters: str) -> Callable[..., Expr]:
    """Set the name, docstring and signature of a function for `help`."""
    kind = Parameter.POSITIONAL_OR_KEYWORD
    shown = [Parameter(each, kind, annotation="ExprLike") for each in parameters.split(", ")]
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    vars(function)["__signature__"] = Signature(shown, return_annotation="Expr")
    return function


def nextafter(x: ExprLike, y: ExprLike) -> Expr:
    """Return the neighbour of `x` towards `y` in its type. Raises `TirxError` for 16-bit floats."""
    if _type((x, y)) in _HALVES:
        raise TirxError("T.nextafter is for float32 and float64", hint="add 1 to the bits: T.reinterpret('uint16', x)")
    return _single(lambda *values: _call("nextafterf", *values), "nextafter.f64", x, y)


def ldexp(x: ExprLike, exponent: ExprLike) -> Expr:
    """Return `x` times 2 to the power of an integer."""
    power = cast("int32", exponent)
    if _type((x,)) == "float64":
        return _call("ldexp.f64", x, power)
    return _single(lambda value: _call("ldexpf", value, power), "", x)


def isinf(x: ExprLike) -> Expr:
    """Return whether `x` is infinite."""
    return _compared("==", x)


def isfinite(x: ExprLike) -> Expr:
    """Return whether `x` is finite, neither infinite nor NaN."""
    return _compared("<", x)


def _compared(op: str, x: ExprLike) -> Expr:
    value = as_expr(x)
    if not value.dtype.is_float:
        return const(op == "<", BOOL)
    return binary(op, magnitude(value), const(math.inf, value.dtype))


def popcount(x: ExprLike) -> Expr:
    """Return the number of set bits of `x`, in its type."""
    return cast(as_expr(x).dtype, _of_bits("popc", x))


def clz(x: ExprLike) -> Expr:
    """Return the number of leading zeros of `x`, or all bits of its type for 0."""
    return cast("int32", _of_bits("clz", x))


def _of_bits(name: str, x: ExprLike) -> Expr:
    value = as_expr(x)
    if not value.dtype.is_integer:
        raise TirxError(f"T.{'popcount' if name == 'popc' else name} needs an integer, but {value!r} is {value.dtype}")
    width = 64 if value.dtype.bits == 64 else 32
    narrow = cast(f"uint{value.dtype.bits}", value)
    counted = _call(f"{name}.b{width}", cast(f"uint{width}", narrow))
    missing = width - value.dtype.bits if name == "clz" else 0
    return binary("-", counted, missing) if missing else counted


def dp4a(vec1: ExprLike, vec2: ExprLike, acc: ExprLike = 0) -> Expr:
    """Return `acc` plus the dot product of the four bytes of `vec1` and `vec2`, signed unless their type is not."""
    words, types = [], []
    for vector in (as_expr(vec1), as_expr(vec2)):
        if vector.dtype.bits * vector.dtype.lanes != 32 or not vector.dtype.scalar.is_integer:
            raise TirxError(f"T.dp4a needs 32 bits, such as int8x4, but {vector!r} is {vector.dtype}", vector.span)
        words.append(reinterpret(UINT32, vector))
        types.append("u32" if vector.dtype.scalar.code == "uint" else "s32")
    return _call("dp4a", *words, acc, atype=types[0], btype=types[1])


_ROUNDED = {name: _to_whole_number(name) for name in ("floor", "ceil", "trunc", "nearbyint")}

MATH: Mapping[str, Callable[..., Any]] = {
    **{function.__name__: function for function in (exp2, exp, log2, log, sqrt, rsqrt, fma, sigmoid)},
    **{name: _from_library(f"{name}f", f"{name}.f64", "x") for name in (
        "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "exp10",
        "log10", "log1p",
    )},
    **{name: _from_library(f"{name}f", f"{name}.f64", "x, y") for name in ("pow", "fmod", "hypot", "copysign")},
    "atan2": _from_library("atan2f", "atan2.f64", "y, x"),
    **{function.__name__: function for function in (nextafter, ldexp, isfinite, isinf)},
    **_ROUNDED, "round": _ROUNDED["nearbyint"],
    **{function.__name__: function for function in (popcount, clz, dp4a)},
}  # fmt: skip
"""By name. Those that are also tile primitives take tiles: ``Tx.exp2(dst, src)``."""
