"""Constant folding of min and max with the semantics of PTX's instructions without .NaN."""

from __future__ import annotations

Number = int | float | bool


def least(a: Number, b: Number) -> Number:
    """Return the smaller of two constants, preferring a number over NaN, and -0 over 0."""
    return -greatest(-a, -b) if isinstance(a, float) or isinstance(b, float) else min(a, b)


def greatest(a: Number, b: Number) -> Number:
    """Return the greater of two constants, preferring a number over NaN, and 0 over -0."""
    if a == b == 0:
        return a + b
    return b if a != a else a if b != b else max(a, b)
