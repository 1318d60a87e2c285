"""One case of the conformance table: a kernel, and arguments whose bytes it leaves the same on chip and model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tirx_mini.ir import PrimFunc

Array = npt.NDArray[Any]
Built = tuple[PrimFunc, tuple[Any, ...]]
"""A kernel and its arguments: arrays and numbers."""


@dataclass(frozen=True)
class Case:
    """family: the heading it stands under. what: the form that it tries. build: makes it, with fresh arguments.

    faults: whether the kernel breaks a rule of the hardware, which has to end it, on the chip and in the simulator.
    """

    family: str
    what: str
    build: Callable[[], Built]
    faults: bool = False

    @property
    def name(self) -> str:
        return f"{self.family}: {self.what}"


def element_type(dtype: str) -> np.dtype[Any]:
    """NumPy's type of this name; bfloat16 and the float8 types are those of ml_dtypes."""
    return np.dtype(getattr(ml_dtypes, dtype, dtype))


def blank(shape: int | tuple[int, ...], dtype: str = "int32") -> Array:
    """An output: bytes that no kernel writes by chance."""
    array = np.empty(shape, element_type(dtype))
    array.reshape(-1).view(np.uint8)[...] = 0xA5
    return array


def small_integers(shape: tuple[int, ...], dtype: str, seed: int = 0, limit: int = 4) -> Array:
    """Integers of -limit … limit, of any dtype: sums of their products are exact in float32."""
    return np.random.default_rng(seed).integers(-limit, limit + 1, shape).astype(element_type(dtype))


def random_bytes(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Array:
    """Elements of any bits at all, for what only moves them."""
    kind = element_type(dtype)
    size = int(np.prod(shape)) * kind.itemsize
    return np.random.default_rng(seed).integers(0, 256, size, np.uint8).view(kind).reshape(shape)
