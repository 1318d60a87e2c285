"""float64 arithmetic with a rounding mode (PTX ISA: "Floating Point Instructions", add, sub, mul, fma of f64)."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from .core import instruction
from .facts import Scope, SharedFacts
from .machine import Machine, Thread
from .operands import f64
from .packed import Rounding

_FACTS: SharedFacts = {
    "issued_by": Scope.THREAD, "cost": "alu", "pure": True, "lanewise": True, "min_sm": 70, "implied": ("rn",),
}  # fmt: skip


def _rounded(exact: Fraction, rounding: str) -> float:
    """Round a nonzero fraction to float64."""
    try:
        near = float(exact)
    except OverflowError:
        near = math.inf if exact > 0 else -math.inf
    if rounding == "rn" or (math.isfinite(near) and Fraction(near) == exact):
        return near
    above = near == math.inf or (near != -math.inf and Fraction(near) > exact)
    down = rounding == "rm" or (rounding == "rz" and exact > 0)
    if above == down:
        return math.nextafter(near, -math.inf if down else math.inf)
    return near


def _compute(function: Callable[..., Any], rounding: str, *values: Any) -> Any:
    """Apply `function` to float64 numbers, as exact fractions, and round the result once."""
    columns = np.broadcast_arrays(*(np.atleast_1d(np.asarray(value, np.float64)) for value in values))
    out = np.empty(columns[0].shape)
    for place, numbers in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        exact = function(*map(Fraction, numbers)) if all(map(math.isfinite, numbers)) else Fraction(0)
        if exact:
            out[place] = _rounded(exact, rounding)
            continue
        with np.errstate(all="ignore"):  # special values, and zeros, whose sign is that of IEEE 754
            out[place] = function(*map(np.float64, _without_overflow(numbers)))
        if rounding == "rm" and out[place] == 0 and _opposite(function, numbers):
            out[place] = -0.0
    varies = any(isinstance(value, np.ndarray) and value.ndim for value in values)
    return out if varies else np.float64(out[0])


def _without_overflow(numbers: tuple[float, ...]) -> tuple[float, ...]:
    """Return the operands of a fused product with smaller finite factors, if the third one is not finite."""
    finite = tuple(map(math.isfinite, numbers))
    if finite == (True, True, False):
        return math.copysign(1, numbers[0]), math.copysign(1, numbers[1]), numbers[2]
    return numbers


def _opposite(function: Callable[..., object], numbers: tuple[float, ...]) -> bool:
    """Return whether numbers with different signs add up to zero, which is negative when rounding down."""
    if function is _product:
        return False
    first, last = (numbers[0] * numbers[1], numbers[2]) if len(numbers) == 3 else numbers
    return math.copysign(1, first) != math.copysign(1, -last if function is _difference else last)


def _sum(a: Any, b: Any) -> Any:
    return a + b


def _difference(a: Any, b: Any) -> Any:
    return a - b


def _product(a: Any, b: Any) -> Any:
    return a * b


def _fused(a: Any, b: Any, c: Any) -> Any:
    return a * b + c


@instruction("add{.rounding}.f64 {result}, {a}, {b};", name="add.f64", isa="add", **_FACTS)
def add_f64(gpu: Machine, thread: Thread, a: f64, b: f64, *, rounding: Rounding = "rn") -> f64:
    """Return the sum of two numbers."""
    return _compute(_sum, rounding, a, b)


@instruction("sub{.rounding}.f64 {result}, {a}, {b};", name="sub.f64", isa="sub", **_FACTS)
def sub_f64(gpu: Machine, thread: Thread, a: f64, b: f64, *, rounding: Rounding = "rn") -> f64:
    """Return the difference of two numbers."""
    return _compute(_difference, rounding, a, b)


@instruction("mul{.rounding}.f64 {result}, {a}, {b};", name="mul.f64", isa="mul", **_FACTS)
def mul_f64(gpu: Machine, thread: Thread, a: f64, b: f64, *, rounding: Rounding = "rn") -> f64:
    """Return the product of two numbers."""
    return _compute(_product, rounding, a, b)


@instruction("fma{.rounding}.f64 {result}, {a}, {b}, {c};", name="fma.f64", isa="fma", **_FACTS)
def fma_f64(gpu: Machine, thread: Thread, a: f64, b: f64, c: f64, *, rounding: Rounding = "rn") -> f64:
    """Return a * b + c, rounded once."""
    return _compute(_fused, rounding, a, b, c)
