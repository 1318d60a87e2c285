"""An independent model of PTX's arithmetic: exact fractions and Python's integers, on the bits of registers."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

FORMATS = {"f16": (16, 10), "bf16": (16, 7), "f32": (32, 23), "f64": (64, 52)}
"""The width of a format and the bits of its fraction."""


def decoded(bits: int, kind: str) -> float:
    """The number that bits stand for; float64 holds all of these formats."""
    width, fraction = FORMATS[kind]
    field = width - 1 - fraction
    bias = (1 << (field - 1)) - 1
    sign = -1.0 if bits >> (width - 1) else 1.0
    exponent, rest = bits >> fraction & ((1 << field) - 1), bits & ((1 << fraction) - 1)
    if exponent == (1 << field) - 1:
        return math.nan if rest else sign * math.inf
    if exponent == 0:
        return sign * math.ldexp(rest, 1 - bias - fraction)
    return sign * math.ldexp(rest + (1 << fraction), exponent - bias - fraction)


def encoded(value: float | Fraction, kind: str, mode: str = "rn", sign: float = 1.0) -> int:
    """The bits of a number in a format, rounded. sign: of a zero."""
    width, fraction = FORMATS[kind]
    field = width - 1 - fraction
    bias = (1 << (field - 1)) - 1
    top = 1 << (width - 1)
    infinity = ((1 << field) - 1) << fraction
    if isinstance(value, float) and math.isnan(value):
        return infinity | (1 << fraction) - 1
    if isinstance(value, float) and math.isinf(value):
        return infinity | (top if value < 0 else 0)
    if value == 0:
        return top if math.copysign(1.0, sign) < 0 else 0
    exact = Fraction(value)
    size, negative = abs(exact), exact < 0
    lowest = 1 - bias - fraction
    exponent = lowest
    while size >= Fraction(2) ** (exponent + fraction + 1):
        exponent += 1
    units = size / Fraction(2) ** exponent
    whole, rest = units.numerator // units.denominator, units - units.numerator // units.denominator
    away = {"rm": negative, "rp": not negative, "rz": False}.get(mode)
    if away is None:
        away = rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1)
    if rest and away:
        whole += 1
    if whole >> (fraction + 1):
        whole, exponent = whole >> 1, exponent + 1
    if exponent + fraction > bias:
        largest = infinity - 1
        stays = mode == "rz" or (mode == "rm" and not negative) or (mode == "rp" and negative)
        return (largest if stays else infinity) | (top if negative else 0)
    word = whole if whole < 1 << fraction else whole - (1 << fraction) + ((exponent - lowest + 1) << fraction)
    return word | (top if negative else 0)


def same(a: int, b: int, kind: str) -> bool:
    """Return whether two results are equal: NaNs equal one another."""
    if kind not in FORMATS:
        return a == b
    return a == b or (math.isnan(decoded(a, kind)) and math.isnan(decoded(b, kind)))


def signed(value: int, width: int) -> int:
    return value - (1 << width) if value >> (width - 1) else value


def flushed(value: float, kind: str) -> float:
    _, fraction = FORMATS[kind]
    smallest = 2.0 ** (2 - (1 << (FORMATS[kind][0] - 2 - fraction)))
    return math.copysign(0.0, value) if abs(value) < smallest else value


def floating(
    function: Callable[..., float | Fraction], usual: Callable[..., float], kind: str, *, mode: str = "rn",
    ftz: bool = False, sat: bool = False, sums: bool = True,
) -> Callable[..., int]:  # fmt: skip
    """An operation on bits: `function` of exact fractions; `usual` of floats where one is not finite or a zero results.

    sums: whether a zero may be the sum of numbers of different signs.
    """

    def compute(*words: int) -> int:
        values = [decoded(word, kind) for word in words]
        if ftz:
            values = [flushed(value, kind) for value in values]
        exact: float | Fraction = math.nan
        if all(map(math.isfinite, values)):
            try:
                exact = function(*map(Fraction, values))
            except (ZeroDivisionError, ValueError):
                exact = usual(*values)
        else:
            exact = usual(*values)
        sign = 1.0
        if exact == 0:
            sign = usual(*values)
            if sums and mode == "rm" and sign == 0 and _cancels(values):
                sign = -0.0
        word = encoded(exact, kind, mode, sign)
        if ftz and exact != 0 and abs(exact) < 1 and flushed(_scaled(exact, kind, mode) / 2**20, kind) == 0:
            word = encoded(0.0, kind, sign=math.copysign(1.0, exact))
        elif ftz:
            number = flushed(decoded(word, kind), kind)
            word = encoded(number, kind, sign=number)
        if sat:
            number = decoded(word, kind)
            word = encoded(min(max(number, 0.0), 1.0) if number > 0 else 0.0, kind)
        return word

    return compute


def _scaled(value: float | Fraction, kind: str, mode: str) -> float:
    """A number times 2^20, rounded: a subnormal one is rounded to as many bits as a normal one."""
    return decoded(encoded(Fraction(value) * 2**20, kind, mode, math.copysign(1.0, value)), kind)


def _cancels(values: list[float]) -> bool:
    """Return whether a zero is the sum of numbers of different signs: it is negative where sums are rounded down."""
    if len(values) == 3:
        product = math.copysign(1.0, values[0]) * math.copysign(1.0, values[1])
        return product != math.copysign(1.0, values[2])
    return True
