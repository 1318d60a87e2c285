"""NumPy representation of element types, and rounding to them.

Integers are signed NumPy integers, even for unsigned operations (`unsigned` views the same bits), ``i1``
is `bool`, ``tf32`` is a `float32` whose last 13 bits are zero, and a pointer is the `int64` of its address.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import ml_dtypes
import numpy as np

Array = np.ndarray

DTYPES: Mapping[str, np.dtype] = MappingProxyType({name: np.dtype(dtype) for name, dtype in {
    "i1": np.bool_, "i4": ml_dtypes.int4, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "tf32": np.float32, "f64": np.float64,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2, "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
    "f4E2M1FN": ml_dtypes.float4_e2m1fn, "ptr": np.int64,
}.items()})  # fmt: skip
"""The NumPy type of each element type."""

_TF32_DROPPED_BITS = 13
_SATURATING = ("f8E4M3FN", "f8E5M2", "f4E2M1FN")
"""Types to which conversions saturate: numbers that are too large, and infinity (PTX ISA: "cvt", .satfinite)."""


def dtype_of(element: object) -> np.dtype:
    """Return the NumPy type of an element type or its name; pointers are represented as addresses."""
    name = str(element)
    return DTYPES["ptr" if name.startswith("ptr<") else name]


def unsigned(x: Array) -> Array:
    """Return the same bits as unsigned integers."""
    return x if x.dtype.kind in "bu" else x.view(np.dtype(f"u{x.dtype.itemsize}"))


def signed(x: Array, element: str) -> Array:
    """Return unsigned integers reinterpreted as the element type's representation."""
    return (
        x.astype(np.bool_)
        if element == "i1"
        else x.astype(unsigned(np.empty(0, DTYPES[element])).dtype).view(DTYPES[element])
    )


def wide(x: Array) -> Array:
    """Convert floats to their computation type: `float64` for itself, `float32` for all others."""
    return x if x.dtype.kind == "f" and x.dtype.itemsize >= 4 else x.astype(np.float32)


def exact(x: Array) -> Array:
    """Convert floats to a type for directed rounding, which holds their products and similar-sized sums exactly."""
    return x.astype(np.longdouble if x.dtype == np.float64 else np.float64)


def to_float(x: Array, element: str, mode: str = "nearest_even") -> Array:
    """Round `x` to an element type."""
    if mode in ("zero", "negative_inf", "positive_inf"):
        return _directed(x, element, mode)
    if element == "tf32":
        return _to_tf32(x.astype(np.float32), away=mode == "nearest_away")
    if element in _SATURATING:
        largest = float(ml_dtypes.finfo(DTYPES[element]).max)
        x = np.clip(x.astype(np.float64), -largest, largest)
    return np.asarray(x).astype(DTYPES[element])


def _to_tf32(x: Array, away: bool) -> Array:
    """Round to tf32 (10 explicit significand bits), to nearest with ties to even or away from zero."""
    bits = np.asarray(x).view(np.uint32)
    half = np.uint32(1 << (_TF32_DROPPED_BITS - 1))
    tie = np.uint32(0) if away else np.uint32(1) - ((bits >> np.uint32(_TF32_DROPPED_BITS)) & np.uint32(1))
    kept = (bits + (half - tie)) & np.uint32(0xFFFFFFFF << _TF32_DROPPED_BITS & 0xFFFFFFFF)
    return np.where(np.isfinite(x), kept.view(np.float32), x).astype(np.float32)


def _directed(x: Array, element: str, mode: str) -> Array:
    near = to_float(x, element)
    back = near.astype(x.dtype)
    towards = {
        "zero": np.zeros_like(x),
        "negative_inf": np.full_like(x, -np.inf),
        "positive_inf": np.full_like(x, np.inf),
    }[mode]
    wrong = (np.abs(back) > np.abs(x)) if mode == "zero" else (back > x) if mode == "negative_inf" else (back < x)
    return np.where(wrong & np.isfinite(x), _step(near, towards, element), near)


def _step(x: Array, towards: Array, element: str) -> Array:
    """Return the neighbour of `x` in the direction of `towards`."""
    if element == "tf32":
        bits = x.view(np.uint32).astype(np.int64)
        unit = 1 << _TF32_DROPPED_BITS
        grows = (np.abs(towards) > np.abs(x)) & (np.sign(towards) == np.sign(x))
        return (bits + np.where(grows, unit, -unit)).astype(np.uint32).view(np.float32)
    return np.nextafter(x, towards.astype(x.dtype))


def flushed(x: Array, flush: bool) -> Array:
    """Flush subnormal numbers to zeros of the same sign if `flush` is set."""
    if not flush:
        return x
    return np.where(np.abs(x) < np.finfo(x.dtype).tiny, np.copysign(np.zeros_like(x), x), x)
