"""NumPy semantics of elementwise operations, one line per operation, named as in cuda_tile.

A meaning is called with the operation's attributes, the element type of its result, and its operands. Half-precision
operations compute in `float32` and round once, as the specification requires of emulated operations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from .elements import Array, dtype_of, exact, flushed, signed, to_float, unsigned, wide

Meaning = Callable[..., Array]
"""``meaning(attrs, element, *operands)``: attributes are Python attributes of `attrs`."""

_DIRECTED = ("zero", "negative_inf", "positive_inf")


def _rounded(compute: Callable[..., Array]) -> Meaning:
    """Return the semantics of a float operation with the attributes `rounding_mode` and `flush_to_zero`."""

    def meaning(a: object, to: str, *xs: Array) -> Array:
        flush = bool(getattr(a, "flush_to_zero", False))
        xs = tuple(flushed(x, flush) for x in xs)
        mode = getattr(a, "rounding_mode", "nearest_even")
        widen = exact if mode in _DIRECTED else wide
        return flushed(to_float(compute(*(widen(x) for x in xs)), to, mode), flush)

    return meaning


def _float(compute: Callable[..., Array]) -> Meaning:
    return lambda a, to, *xs: to_float(compute(*(wide(x) for x in xs)), to)


def _fma(x: Array, y: Array, z: Array) -> Array:
    """Compute a fused multiply-add with one rounding; the product of two `float32` is exact in `float64`."""
    return (exact(x) * exact(y) + exact(z)).astype(x.dtype)


def _extreme(numbers: Callable[..., Array], nans: Callable[..., Array], sign: int) -> Meaning:
    """Return the semantics of IEEE 754-2019 maximum or minimum, where +0 is greater than -0."""

    def compute(a: Any, to: str, x: Array, y: Array) -> Array:
        x, y = (flushed(v, a.flush_to_zero) for v in (x, y))
        found = (nans if a.propagate_nan else numbers)(wide(x), wide(y))
        zeros = sign * (sign * wide(x) + sign * wide(y))
        return to_float(np.where((x == 0) & (y == 0), zeros, found), to)

    return compute


def _read(a: object, *xs: Array, name: str = "signedness") -> tuple[Array, ...]:
    return xs if getattr(a, name) == "signed" else tuple(unsigned(x) for x in xs)


def _int(compute: Callable[..., Array]) -> Meaning:
    """Return the semantics of a wrapping integer operation with the attribute `signedness`."""
    return lambda a, to, *xs: compute(*_read(a, *xs)).astype(dtype_of(to))


def _wrapping(compute: Callable[..., Array]) -> Meaning:
    return lambda a, to, *xs: signed(np.asarray(compute(*(unsigned(x) for x in xs))), to)


def _divi(a: Any, to: str, x: Array, y: Array) -> Array:
    x, y = _read(a, x, y)
    floor = np.floor_divide(x, y)
    inexact = (floor * y != x).astype(floor.dtype)
    mode = a.rounding
    up = inexact if mode == "positive_inf" else 0 if mode == "negative_inf" else inexact * ((x < 0) != (y < 0))
    return (floor + up).astype(dtype_of(to))


def _mulhii(a: object, to: str, x: Array, y: Array) -> Array:
    bits = 8 * x.dtype.itemsize
    product = unsigned(x).astype(object) * unsigned(y).astype(object)
    return signed(np.asarray(np.asarray(product, dtype=object) >> bits, dtype=np.uint64), to)


_PREDICATES = MappingProxyType({
    "equal": np.equal, "not_equal": np.not_equal, "less_than": np.less, "less_than_or_equal": np.less_equal,
    "greater_than": np.greater, "greater_than_or_equal": np.greater_equal,
})  # fmt: skip


def _cmpf(a: Any, to: str, x: Array, y: Array) -> Array:
    found = _PREDICATES[a.comparison_predicate](wide(x), wide(y))
    nan = np.isnan(wide(x)) | np.isnan(wide(y))
    return found & ~nan if a.comparison_ordering == "ordered" else found | nan


def _cmpi(a: Any, to: str, x: Array, y: Array) -> Array:
    return _PREDICATES[a.comparison_predicate](*_read(a, x, y))


def _ftoi(a: Any, to: str, x: Array) -> Array:
    """Convert floats to integers, rounding towards zero and saturating; NaN becomes 0."""
    dtype = dtype_of(to) if a.signedness == "signed" else np.dtype(f"u{dtype_of(to).itemsize}")
    limits = np.iinfo(dtype)
    whole = np.trunc(np.nan_to_num(x.astype(np.longdouble), nan=0.0))
    whole = np.clip(whole, np.longdouble(limits.min), np.longdouble(limits.max))
    return signed(whole.astype(dtype), to)


def _itof(a: Any, to: str, x: Array) -> Array:
    (x,) = _read(a, x) if x.dtype != np.bool_ else (x.astype(np.int8) * (-1 if a.signedness == "signed" else 1),)
    direct = to in ("f32", "f64") and a.rounding_mode == "nearest_even"
    return (
        x.astype(dtype_of(to))
        if direct
        else to_float(x.astype(np.longdouble if x.itemsize > 4 else np.float64), to, a.rounding_mode)
    )


def _exti(a: Any, to: str, x: Array) -> Array:
    if x.dtype == np.bool_:
        return x.astype(dtype_of(to)) * (-1 if a.signedness == "signed" else 1)
    return _read(a, x)[0].astype(dtype_of(to))


def _bitcast(a: object, to: str, x: Array) -> Array:
    return np.ascontiguousarray(x).view(dtype_of(to)).reshape(x.shape)


ELEMENTWISE: Mapping[str, Meaning] = MappingProxyType({
    # Floating point (Tile IR: Operations, Floating Point)
    "absf": lambda a, to, x: np.abs(x),
    "negf": lambda a, to, x: -x,
    "addf": _rounded(np.add),
    "subf": _rounded(np.subtract),
    "mulf": _rounded(np.multiply),
    "divf": _rounded(np.divide),
    "remf": _float(np.fmod),
    "fma": _rounded(_fma),
    "maxf": _extreme(np.fmax, np.maximum, 1),
    "minf": _extreme(np.fmin, np.minimum, -1),
    "sqrt": _rounded(np.sqrt),
    "rsqrt": _rounded(lambda x: 1 / np.sqrt(x)),
    "exp": _rounded(np.exp),
    "exp2": _rounded(np.exp2),
    "log": _float(np.log),
    "log2": _float(np.log2),
    "pow": _float(np.power),
    "fpowi": lambda a, to, x, n: to_float(np.power(wide(x), n.astype(wide(x).dtype)), to),
    "sin": _float(np.sin),
    "cos": _float(np.cos),
    "tan": _float(np.tan),
    "sinh": _float(np.sinh),
    "cosh": _float(np.cosh),
    "tanh": _rounded(np.tanh),
    "atan2": _float(np.arctan2),
    "ceil": _float(np.ceil),
    "floor": _float(np.floor),
    "cmpf": _cmpf,
    # Integers (Tile IR: Operations, Integer and Bitwise)
    "absi": lambda a, to, x: np.abs(x),
    "negi": lambda a, to, x: signed(0 - unsigned(x), to),
    "addi": _wrapping(lambda x, y: x ^ y if x.dtype == np.bool_ else x + y),
    "subi": _wrapping(lambda x, y: x ^ y if x.dtype == np.bool_ else x - y),
    "muli": _wrapping(lambda x, y: x * y),
    "mulhii": _mulhii,
    "divi": _divi,
    "remi": _int(np.fmod),
    "maxi": _int(np.maximum),
    "mini": _int(np.minimum),
    "andi": lambda a, to, x, y: x & y,
    "ori": lambda a, to, x, y: x | y,
    "xori": lambda a, to, x, y: x ^ y,
    "shli": lambda a, to, x, y: signed(np.left_shift(unsigned(x), unsigned(y)), to),
    "shri": lambda a, to, x, y: np.right_shift(*_read(a, x, y)).astype(dtype_of(to)),
    "cmpi": _cmpi,
    # Conversions (Tile IR: Operations, Conversions)
    "ftof": lambda a, to, x: to_float(exact(x) if a.rounding_mode in _DIRECTED else x, to, a.rounding_mode),
    "ftoi": _ftoi,
    "itof": _itof,
    "exti": _exti,
    "trunci": lambda a, to, x: (x & 1).astype(np.bool_) if to == "i1" else x.astype(dtype_of(to)),
    "bitcast": _bitcast,
    "int_to_ptr": lambda a, to, x: x,
    "ptr_to_int": lambda a, to, x: x,
    "ptr_to_ptr": lambda a, to, x: x,
    # Core
    "select": lambda a, to, c, x, y: np.where(c, x, y),
    "assume": lambda a, to, x: x,
})  # fmt: skip
"""The meanings, by mnemonic."""
