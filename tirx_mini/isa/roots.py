"""Quotients, reciprocals and square roots with a rounding mode (PTX ISA: "div", "rcp", "sqrt").

Results are computed exactly, as fractions, and rounded once. An irrational root lies between two fractions that
round to the same number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from .core import instruction
from .facts import Scope, SharedFacts
from .floats import flushed
from .machine import Machine, Thread
from .operands import f32, f64
from .packed import Rounding

_FACTS: SharedFacts = {"issued_by": Scope.THREAD, "cost": "alu", "pure": True, "lanewise": True, "min_sm": 70}
_SHAPES: dict[Any, tuple[int, int, int]] = {np.float32: (24, -149, 128), np.float64: (53, -1074, 1024)}
"""The significand bits, smallest exponent and infinity exponent of a format."""
_SMALLEST, _SCALE = Fraction(1, 1 << 126), 1 << 64
"""The smallest normal number of float32, and a factor by which subnormal numbers become normal ones."""
_DIGITS = 2 * 1100
"""The fractional bits of a root, more than any format has."""


def _rounded(exact: Fraction, kind: object, rounding: str) -> float:
    """Round a nonzero number to a format."""
    digits, smallest, top = _SHAPES[kind]
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    step = Fraction(2) ** max(exponent - digits + 1, smallest)
    whole, rest = divmod(size, step)
    up = {
        "rn": 2 * rest > step or (2 * rest == step and whole % 2 == 1), "rz": False, "rm": exact < 0, "rp": exact > 0,
    }[rounding] and rest > 0  # fmt: skip
    value = (whole + up) * step
    if value >= Fraction(2) ** top:
        inward = rounding == "rz" or (rounding == "rm" and exact > 0) or (rounding == "rp" and exact < 0)
        largest = (Fraction(2) ** digits - 1) * Fraction(2) ** (top - digits)
        return (1 if exact > 0 else -1) * (float(largest) if inward else math.inf)
    return (1 if exact > 0 else -1) * float(value)


def _root(value: Fraction) -> Fraction:
    """Return the square root, or a fraction between it and its neighbours."""
    scaled = value.numerator * value.denominator << 2 * _DIGITS
    whole = math.isqrt(scaled)
    return Fraction(2 * whole + (whole * whole != scaled), value.denominator << (_DIGITS + 1))


def _compute(
    exact: Callable[..., Fraction], usual: Callable[..., Any], kind: Any, rounding: str, *values: Any, ftz: bool = False
) -> Any:
    """Apply `exact` to operands with an exact result, and NumPy's `usual` to zeros, infinities and NaN.

    ftz: whether a float32 result that is subnormal becomes a zero of the same sign. It is so where rounding to 24 bits
    with any exponent leaves it below the normal numbers, as on a chip.
    """
    columns = np.broadcast_arrays(*(np.atleast_1d(np.asarray(value, kind)) for value in values))
    out = np.empty(columns[0].shape, kind)
    for place, numbers in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        plain = all(math.isfinite(number) and number for number in numbers)
        if plain and (exact is not _root or numbers[0] > 0):
            value = exact(*map(Fraction, numbers))
            small = ftz and abs(value) < _SMALLEST
            small = small and abs(_rounded(value * _SCALE, kind, rounding)) < _SMALLEST * _SCALE
            out[place] = math.copysign(0.0, value) if small else _rounded(value, kind, rounding)
            continue
        with np.errstate(all="ignore"):
            out[place] = usual(*map(kind, numbers))
    varies = any(isinstance(value, np.ndarray) and value.ndim for value in values)
    return out if varies else out[0]


def _single(
    exact: Callable[..., Fraction], usual: Callable[..., object], rounding: str, ftz: bool, *values: object
) -> Any:
    """Apply `exact` or `usual` in float32, optionally flushing subnormal numbers to zero."""
    given = [flushed(np.asarray(value, np.float32)) for value in values] if ftz else values
    return _compute(exact, usual, np.float32, rounding, *given, ftz=ftz)


def _reciprocal(a: Any) -> Any:
    return type(a)(1) / a


def _quotient(a: Any, b: Any) -> Any:
    return a / b


@instruction("div{.rounding}{.ftz}.f32 {result}, {a}, {b};", name="div.rounded.f32", isa="div", **_FACTS)
def div_f32(gpu: Machine, thread: Thread, a: f32, b: f32, *, rounding: Rounding, ftz: bool = False) -> f32:
    """Return a / b, rounded once; with `ftz`, subnormal numbers are zero."""
    return _single(_quotient, np.divide, rounding, ftz, a, b)


@instruction("rcp{.rounding}{.ftz}.f32 {result}, {a};", name="rcp.rounded.f32", isa="rcp", **_FACTS)
def rcp_f32(gpu: Machine, thread: Thread, a: f32, *, rounding: Rounding, ftz: bool = False) -> f32:
    """Return 1 / a, rounded once; with `ftz`, subnormal numbers are zero."""
    return _single(_reciprocal, _reciprocal, rounding, ftz, a)


@instruction("sqrt{.rounding}{.ftz}.f32 {result}, {a};", name="sqrt.rounded.f32", isa="sqrt", **_FACTS)
def sqrt_f32(gpu: Machine, thread: Thread, a: f32, *, rounding: Rounding, ftz: bool = False) -> f32:
    """Return the square root, rounded once; with `ftz`, subnormal numbers are zero."""
    return _single(_root, np.sqrt, rounding, ftz, a)


@instruction("div{.rounding}.f64 {result}, {a}, {b};", name="div.rounded.f64", isa="div", **_FACTS)
def div_f64(gpu: Machine, thread: Thread, a: f64, b: f64, *, rounding: Rounding) -> f64:
    """Return a / b, rounded once."""
    return _compute(_quotient, np.divide, np.float64, rounding, a, b)


@instruction("rcp{.rounding}.f64 {result}, {a};", name="rcp.rounded.f64", isa="rcp", **_FACTS)
def rcp_f64(gpu: Machine, thread: Thread, a: f64, *, rounding: Rounding) -> f64:
    """Return 1 / a, rounded once."""
    return _compute(_reciprocal, _reciprocal, np.float64, rounding, a)


@instruction("sqrt{.rounding}.f64 {result}, {a};", name="sqrt.rounded.f64", isa="sqrt", **_FACTS)
def sqrt_f64(gpu: Machine, thread: Thread, a: f64, *, rounding: Rounding) -> f64:
    """Return the square root, rounded once."""
    return _compute(_root, np.sqrt, np.float64, rounding, a)
