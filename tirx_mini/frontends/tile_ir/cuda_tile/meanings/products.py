"""Semantics of matrix products and of atomic updates."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from .elements import dtype_of, to_float, wide
from .elementwise import ELEMENTWISE


def matrix_product(lhs: np.ndarray, rhs: np.ndarray, acc: np.ndarray, element: str) -> np.ndarray:
    """Return acc + lhs rhs with exact products, float32 sums (float64 for float64) and one final rounding."""
    if element.startswith("i"):
        return (acc + np.matmul(lhs.astype(np.int64), rhs.astype(np.int64))).astype(dtype_of(element))
    return to_float(np.matmul(wide(lhs), wide(rhs)) + wide(acc), element)


def scaled(factor: np.ndarray, scale: np.ndarray, axis: int) -> np.ndarray:
    """Multiply a factor by its scales, each of which applies to a block of neighbours along `axis`."""
    return wide(factor) * np.repeat(wide(scale), factor.shape[axis] // scale.shape[axis], axis)


def signed_or_not(x: np.ndarray, signed: bool) -> np.ndarray:
    """Return 8-bit integers with the signedness of a product's operand."""
    return x if signed else x.view(np.uint8)


def change_of(mode: str, element: str) -> Callable[..., Any]:
    """Return the function that computes the stored value of an atomic operation from the old value and the operand."""
    name, signedness = {
        "and": ("andi", ""),
        "or": ("ori", ""),
        "xor": ("xori", ""),
        "add": ("addi", ""),
        "addf": ("addf", ""),
        "max": ("maxi", "signed"),
        "min": ("mini", "signed"),
        "umax": ("maxi", "unsigned"),
        "umin": ("mini", "unsigned"),
        "xchg": ("", ""),
    }[mode]
    if not name:
        return lambda old, new: new
    attrs = SimpleNamespace(signedness=signedness, rounding_mode="nearest_even", flush_to_zero=False)
    return lambda old, value: ELEMENTWISE[name](attrs, element, old, value)


def swapped(old: np.ndarray, compare: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Return the result of a bitwise compare-and-swap."""
    return value if old.tobytes() == compare.tobytes() else old
