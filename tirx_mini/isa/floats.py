"""Bit-level floating-point formats: rounding to a format, encoding and decoding.

PTX ISA: "Alternate Floating-Point Data Formats"; the rounding modes are those of "Instruction Rounding Modifiers".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from tirx_mini.records import dataclass

Floats = np.ndarray | np.floating | float
"""A floating-point number, or an array of them."""
_Numbers = TypeVar("_Numbers", bound="np.ndarray | np.floating | float")
Calculation = (
    Callable[[Any], Any]
    | Callable[[Any, Any], Any]
    | Callable[[Any, Any, Any], Any]
    | Callable[[Any, Any, Any, Any], Any]
)
"""A function of one to four numbers of NumPy, or of arrays of them."""
where: Callable[[Any, Any, Any], np.ndarray] = np.where
"""`numpy.where` of values of any types, whose result has no type in NumPy's annotations."""


@dataclass(frozen=True)
class FloatFormat:
    """A signed format. mantissa: its mantissa bits. smallest: the exponent of the smallest normal number. largest: the
    largest finite number. nan: what NaN becomes, the largest number in a format without. infinite: whether it has
    infinities."""

    bits: int
    mantissa: int
    smallest: int
    largest: float
    nan: int
    infinite: bool

    def rounded(self, values: np.ndarray, rounding: str, satfinite: bool = False) -> np.ndarray:
        """Round float64 numbers to the format in a direction: "rn", "rna", "rz", "rm" or "rp".

        Too large numbers become an infinity, or the largest number: with `satfinite`, without infinities, and in
        directions that do not lead to the infinity.
        """
        with np.errstate(all="ignore"):
            _, exponent = np.frexp(values)
            finite = np.isfinite(values)
            step = np.ldexp(1.0, np.maximum(np.where(finite, exponent - 1, 0), self.smallest) - self.mantissa)
            near = np.where(finite, integral(np.where(finite, values, 0) / step, rounding) * step, values)
            near = np.copysign(near, values)
            outside = np.abs(near) > self.largest
            inward = (rounding == "rz") | ((rounding == "rm") & (values > 0)) | ((rounding == "rp") & (values < 0))
            kept = satfinite | (not self.infinite) | (inward & finite)
            edge = np.where(kept, self.largest, np.inf)
            return np.where(outside, np.copysign(edge, values), near)

    def encoded(self, values: np.ndarray) -> np.ndarray:
        """Return the bits, uint64, of numbers representable in the format."""
        missing = np.isnan(values)
        size = np.where(np.isfinite(values), np.abs(values), 0.0)
        _, exponent = np.frexp(size)
        exponent = np.maximum(np.where(size > 0, exponent - 1, self.smallest), self.smallest)
        fraction = np.ldexp(size, self.mantissa - exponent).astype(np.uint64)
        word = ((exponent - self.smallest).astype(np.uint64) << np.uint64(self.mantissa)) + fraction
        word = np.where(np.isinf(values), np.uint64(self._infinity), word)
        word |= np.signbit(values).astype(np.uint64) << np.uint64(self.bits - 1)
        return np.where(missing, np.uint64(self.nan), word)

    def decoded(self, words: np.ndarray) -> np.ndarray:
        """Return the numbers, float64, encoded by bits."""
        words = np.asarray(words).astype(np.uint64)
        size = words & np.uint64((1 << (self.bits - 1)) - 1)
        fraction = (size & np.uint64((1 << self.mantissa) - 1)).astype(np.float64)
        exponent = (size >> np.uint64(self.mantissa)).astype(np.int64)
        value = np.ldexp(
            fraction + np.where(exponent > 0, 2.0**self.mantissa, 0.0),
            np.maximum(exponent, 1) - 1 + self.smallest - self.mantissa,
        )
        value = np.where(value > self.largest, np.nan, value)
        if self.infinite:
            value = np.where(size == np.uint64(self._infinity), np.inf, value)
        negative = (words >> np.uint64(self.bits - 1)) & np.uint64(1)
        return np.where(negative == 1, -value, value)

    @property
    def _infinity(self) -> int:
        return ((1 << (self.bits - 1 - self.mantissa)) - 1) << self.mantissa


def integral(values: np.ndarray, rounding: str) -> np.ndarray:
    """Numbers as whole numbers: "rn" to the nearest with ties to even, "rna" with ties away from zero, "rz" towards
    zero, "rm" down, "rp" up."""
    if rounding == "rna":
        return np.copysign(np.floor(np.abs(values) + 0.5), values)
    functions: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
        "rn": np.rint, "rz": np.trunc, "rm": np.floor, "rp": np.ceil,
    }  # fmt: skip
    return functions[rounding](values)


_SMALLEST, _SCALE = 2.0**-126, 2.0**64
"""The smallest normal number of float32, and a factor by which subnormal numbers become normal ones."""


def flushed(numbers: _Numbers) -> _Numbers:
    """Replace subnormal float32 numbers by zeros of the same sign."""
    found: Any = where(np.abs(numbers) < _SMALLEST, np.copysign(np.float32(0), numbers), numbers)[()]
    return found


def flushed_result(exact: Floats, near: Floats, rounded: Callable[[np.ndarray], Floats]) -> np.ndarray:
    """Replace a float32 result by a zero of its sign where .ftz flushes it.

    A chip flushes results that are subnormal after rounding to 24 bits with any exponent (seen on an H200). exact: in
    float64. near: the same after `rounded`, which rounds to float32.
    """
    tiny = np.abs(exact) <= _SMALLEST
    larger = rounded(np.where(tiny, exact, 0.0) * _SCALE)
    return where(tiny & (np.abs(larger) < _SMALLEST * _SCALE), np.copysign(np.float32(0), exact), near)


def sum_to_odd(a: Floats, b: Floats) -> np.ndarray:
    """Return the sum of two float64 numbers, rounded to odd, so that rounding it to float32 equals the exact rounding.

    A sum that float64 cannot hold becomes the one of its two neighbours whose last bit is set ("rounding to odd").
    """
    with np.errstate(all="ignore"):
        total = np.asarray(a + b, np.float64)
        part = total - a
        lost = (a - (total - part)) + (b - part)
        even = np.isfinite(total) & (total.view(np.int64) & 1 == 0)
        other = np.nextafter(total, np.where(lost > 0, np.inf, -np.inf))
        return np.where(even & (lost != 0), other, total)


FORMATS: Mapping[str, FloatFormat] = {
    "f64": FloatFormat(64, 52, -1022, float(np.finfo(np.float64).max), 0x7FF8 << 48, True),
    "f32": FloatFormat(32, 23, -126, float(np.finfo(np.float32).max), 0x7FFFFFFF, True),
    "tf32": FloatFormat(32, 10, -126, 2.0**128 - 2.0**117, 0x7FFFFFFF, True),
    "f16": FloatFormat(16, 10, -14, 65504.0, 0x7FFF, True),
    "bf16": FloatFormat(16, 7, -126, 2.0**128 - 2.0**120, 0x7FFF, True),
    "e5m2": FloatFormat(8, 2, -14, 57344.0, 0x7F, True),
    "e4m3": FloatFormat(8, 3, -6, 448.0, 0x7F, False),
    "e3m2": FloatFormat(6, 2, -2, 28.0, 0x1F, False),
    "e2m3": FloatFormat(6, 3, 0, 7.5, 0x1F, False),
    "e2m1": FloatFormat(4, 1, 0, 6.0, 0x7, False),
}
"""Formats by PTX type name; tf32 values are f32 values with 13 trailing zero bits."""


def powers_of_two(values: np.ndarray, up: bool, satfinite: bool) -> np.ndarray:
    """Return the bits of ue8m0 for numbers of float64: 2 ** (bits - 127) nearest in size, 0xFF for NaN and, without
    `satfinite`, for too large numbers.
    """
    with np.errstate(all="ignore"):
        fraction, exponent = np.frexp(np.abs(values))
    power = np.where((fraction > 0.5) & up, exponent, exponent - 1)
    power = np.where(np.isinf(values), 128, np.where(fraction == 0, -127, power))
    return np.where(np.isnan(values), 0xFF, np.clip(power, -127, 127 if satfinite else 128) + 127).astype(np.uint64)


def power_values(words: np.ndarray) -> np.ndarray:
    """Return the numbers, float64, encoded by ue8m0 bits."""
    words = np.asarray(words).astype(np.int64) & 0xFF
    return np.where(words == 0xFF, np.nan, np.ldexp(1.0, words - 127))


def least(a: Floats, b: Floats) -> Floats:
    """Return the smaller float; a number is preferred to NaN, and -0 is less than 0 (PTX ISA: "min")."""
    found = np.fmin(a, b)
    return found if np.all(found) else _with_zeros(found, a, b, -(np.negative(a) - b))


def greatest(a: Floats, b: Floats) -> Floats:
    """Return the greater float; a number is preferred to NaN, and 0 is greater than -0 (PTX ISA: "max")."""
    found = np.fmax(a, b)
    return found if np.all(found) else _with_zeros(found, a, b, np.add(a, b))


def _with_zeros(found: Floats, a: Floats, b: Floats, zeros: Floats) -> Floats:
    return where(np.equal(a, 0) & np.equal(b, 0), zeros, found)[()]
