"""Compile-time evaluation of operations on constants.

Loosely typed constants are Python's numbers, and Python combines them. A strictly typed one is rounded to its type, or
wraps around in it, and its operations are those of a tile: operands are converted first, the result afterwards.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np

from ..cuda_tile.meanings import DTYPES, ELEMENTWISE
from .arguments import common_dtype, own_dtype
from .dtypes import DType, bool_, float32, int32
from .errors import TileTypeError, TileValueError
from .values import Strict, describe, plain

_COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
_INTEGERS: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType({
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
    "floordiv": operator.floordiv, "mod": operator.mod, "pow": operator.pow, "bitwise_and": operator.and_,
    "bitwise_or": operator.or_, "bitwise_xor": operator.xor, "bitwise_lshift": operator.lshift,
    "bitwise_rshift": operator.rshift, "equal": operator.eq, "not_equal": operator.ne, "less": operator.lt,
    "less_equal": operator.le, "greater": operator.gt, "greater_equal": operator.ge, "maximum": max, "minimum": min,
    "cdiv": lambda x, y: -(-x // y), "atan2": math.atan2,
})  # fmt: skip
"""Binary operations of Python's numbers, and of integers of any type before they wrap around."""
_FLOATS: Mapping[str, Callable[[Any, Any], Any]] = MappingProxyType({
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide, "floordiv": np.floor_divide,
    "mod": np.mod, "pow": np.power, "equal": np.equal, "not_equal": np.not_equal, "less": np.less,
    "less_equal": np.less_equal, "greater": np.greater, "greater_equal": np.greater_equal,
    "cdiv": lambda x, y: -np.floor_divide(-x, y), "atan2": np.arctan2,
})  # fmt: skip
"""Those of floats of a type, computed in float64 and rounded to it."""
_UNARY: Mapping[str, Callable[[Any], Any]] = MappingProxyType({
    "exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2, "sqrt": np.sqrt,
    "rsqrt": lambda x: np.divide(1.0, np.sqrt(x)), "sin": np.sin, "cos": np.cos, "tan": np.tan, "sinh": np.sinh,
    "cosh": np.cosh, "tanh": np.tanh, "floor": np.floor, "ceil": np.ceil,
})  # fmt: skip
_EXTREMES = {"maximum": "maxf", "minimum": "minf"}


def converted(number: Any, dtype: DType) -> Strict:
    """Return a strictly typed constant such as ``ct.int16(5)``; integers wrap around, and floats are rounded.

    Raises `TileValueError` for a NaN or an infinity as an integer.
    """
    if dtype.is_bool:
        return Strict(bool(number), dtype)
    if dtype.is_integer:
        try:
            return Strict(_wrapped(int(number), dtype), dtype)
        except (ValueError, OverflowError):
            raise TileValueError(f"the constant {number} is no integer, so it cannot become {dtype}") from None
    return Strict(_rounded(number, dtype), dtype)


def _wrapped(number: int, dtype: DType) -> int:
    low, _ = dtype.limits
    return (number - low) % (1 << dtype.bitwidth) + low


def _rounded(number: Any, dtype: DType) -> float:
    """Round a number to a float type, to nearest with ties to even."""
    if dtype.element not in DTYPES:
        raise TileTypeError(f"a constant of {dtype} is not supported", hint="convert a tile: `x.astype(…)`")
    attrs = SimpleNamespace(rounding_mode="nearest_even")
    with np.errstate(all="ignore"):
        exact = np.float64(number)
        narrow = (dtype.bitwidth < 32 and dtype.element != "f16") or not dtype.arithmetic
        return float(ELEMENTWISE["ftof"](attrs, dtype.element, np.asarray(_to_odd(exact) if narrow else exact)))


def _to_odd(number: np.float64) -> np.float32:
    """Round a number to an odd float32, so that rounding that to a narrower type is correct.

    ml_dtypes converts through float32, and two roundings to the nearest are not one.
    """
    near = np.float32(number)
    if near == number or not np.isfinite(near) or near.view(np.uint32) & 1:
        return near
    return np.nextafter(near, np.float32(math.copysign(math.inf, number - near)))


def binary_of(name: str, x: Any, y: Any, propagate_nan: bool = False) -> Any:
    """Evaluate ``ct.name(x, y)`` on two constants; the result is strictly typed if either operand is."""
    if name not in _INTEGERS:
        raise TileTypeError(f"ct.{name} is not defined for constants")
    typed = own_dtype(x) is not None or own_dtype(y) is not None
    try:
        if typed:
            return _typed_binary(name, x, y, propagate_nan)
        if name in _EXTREMES and any(isinstance(v, float) for v in (x, y)):
            return _extreme(name, float(x), float(y), "f64", propagate_nan)
        return _INTEGERS[name](x, y)
    except (ArithmeticError, TypeError, ValueError) as error:
        raise TileValueError(f"`ct.{name}` of {describe(x)} and {describe(y)}: {error}") from None


def _typed_binary(name: str, x: object, y: object, propagate_nan: bool) -> object:
    a, b = plain(x), plain(y)
    if name in _COMPARISONS and not any(isinstance(v, float) for v in (a, b)):
        return bool(_INTEGERS[name](a, b))  # integers of any types compare by their values
    dtype = common_dtype(x, y)
    if not dtype.is_float and name in ("truediv", "atan2"):
        dtype = float32
    if not dtype.is_float:
        return converted(_integer(name, int(a), int(b), dtype), dtype)
    if name not in _FLOATS and name not in _EXTREMES:
        raise TypeError("it is defined for integers only")
    a, b = _rounded(a, dtype), _rounded(b, dtype)
    if name in _EXTREMES:
        return converted(_extreme(name, a, b, dtype.element, propagate_nan), dtype)
    with np.errstate(all="ignore"):
        found = _FLOATS[name](np.float64(a), np.float64(b))
    return bool(found) if name in _COMPARISONS else converted(float(found), dtype)


def _integer(name: str, a: int, b: int, dtype: DType) -> int:
    """Evaluate an integer operation before wrapping, bounding the size of shifts and powers."""
    if name == "pow" and b >= 0:
        return pow(a, b, 1 << dtype.bitwidth)
    if name in ("bitwise_lshift", "bitwise_rshift"):
        b = min(b, 2 * dtype.bitwidth)
    return int(_INTEGERS[name](a, b))


def _extreme(name: str, a: float, b: float, element: str, propagate_nan: bool) -> float:
    attrs = SimpleNamespace(flush_to_zero=False, propagate_nan=propagate_nan)
    with np.errstate(all="ignore"):
        return float(ELEMENTWISE[_EXTREMES[name]](attrs, element, np.float64(a), np.float64(b)))


def unary_of(name: str, x: Any) -> Any:
    """Evaluate ``ct.name(x)``, a float function, on a constant; the result is strictly typed if `x` is."""
    if isinstance(x, Strict):
        dtype = x.dtype if x.dtype.is_float else float32
        with np.errstate(all="ignore"):
            return converted(float(_UNARY[name](np.float64(_rounded(x.value, dtype)))), dtype)
    with np.errstate(all="raise", under="ignore"):
        try:
            return float(_UNARY[name](np.float64(x)))
        except ArithmeticError as error:
            raise TileValueError(f"ct.{name} of {describe(x)}: {error}") from None


def negative_of(x: Any) -> Any:
    """Evaluate ``-x``; the negation of a boolean is an integer."""
    if isinstance(x, Strict):
        return converted(-x.value, int32 if x.dtype.is_bool else x.dtype)
    return -x


def absolute_of(x: Any) -> Any:
    """Evaluate the absolute value of a constant."""
    return converted(abs(x.value), x.dtype) if isinstance(x, Strict) else abs(x)


def complement_of(x: Any) -> Any:
    """Evaluate ``~x``; the complement of a boolean is its logical negation."""
    if isinstance(x, bool):
        return not x
    if not isinstance(x, Strict):
        if isinstance(x, float):
            raise TileTypeError(f"`~` needs integers or booleans, not {describe(x)}")
        return ~x
    if x.dtype.is_float:
        raise TileTypeError(f"`~` needs integers or booleans, not {describe(x)}")
    return Strict(not x.value, bool_) if x.dtype.is_bool else converted(~int(x.value), x.dtype)
