"""Matrix products, and what atomic operations store."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from .elements import dtype_of, to_float, wide
from .elementwise import ELEMENTWISE


def matrix_product(lhs: np.ndarray, rhs: np.ndarray, acc: np.ndarray, element: str) -> np.ndarray:
    """acc + lhs rhs: exact products, sums in float32 (float64 for itself), one rounding at the end."""
    if element.startswith("i"):
        return (acc + np.matmul(lhs.astype(np.int64), rhs.astype(np.int64))).astype(dtype_of(element))
    return to_float(np.matmul(wide(lhs), wide(rhs)) + wide(acc), element)


def scaled(factor: np.ndarray, scale: np.ndarray, axis: int) -> np.ndarray:
    """A factor times its scales, each of which is for a block of neighbours along `axis`."""
    return wide(factor) * np.repeat(wide(scale), factor.shape[axis] // scale.shape[axis], axis)


def signed_or_not(x: np.ndarray, signed: bool) -> np.ndarray:
    """Integers of 8 bits for a product."""
    return x if signed else x.view(np.uint8)


def change_of(mode: str, element: str) -> Callable[..., Any]:
    """The value that an atomic operation stores, from the present value and its operand."""
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
    """Compare and swap: bits are compared."""
    return value if old.tobytes() == compare.tobytes() else old
