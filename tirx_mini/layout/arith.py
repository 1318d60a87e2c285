"""Address arithmetic for integers, NumPy arrays and symbolic expressions.

A coordinate is any object with the operators `+ * // % ^ >> &`. These helpers omit operations without effect, such as
adding 0, so the compiler emits the expression that a person would write. They inspect a value only if it is a Python
`int`; they never compare a symbolic value or test its truth.
"""

from __future__ import annotations

from typing import Any

Coord = Any
"""An `int`, a NumPy integer or array, or a symbolic integer expression. Never negative."""


def is_zero(x: Coord) -> bool:
    return isinstance(x, int) and x == 0


def add(x: Coord, y: Coord) -> Coord:
    if is_zero(x):
        return y
    return x if is_zero(y) else x + y


def mul(x: Coord, factor: int) -> Coord:
    if factor == 0 or is_zero(x):
        return 0
    return x if factor == 1 else x * factor


def div(x: Coord, divisor: int) -> Coord:
    return x if divisor == 1 else x // divisor


def mod(x: Coord, modulus: int) -> Coord:
    return 0 if modulus == 1 else x % modulus


def xor(x: Coord, y: Coord) -> Coord:
    if is_zero(x):
        return y
    return x if is_zero(y) else x ^ y


def to_bytes(elements: Coord, bits: int) -> Coord:
    """Convert a number of `bits`-wide elements to bytes."""
    return mul(elements, bits // 8) if bits >= 8 else div(elements, 8 // bits)
