"""Products of MMAs that accumulate in one place, computed when somebody needs the sum.

MMAs that continue a sum over K are one product of long matrices, which BLAS computes faster than many short ones, and
the accumulator is written once. The order of additions follows from the order of the MMAs alone, so all runs of a
kernel have the same results, with checks and without.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..machine import Registers, TensorMemory
from .submatrix import Submatrix, beside

DEPTH = 512
"""Of a sum along K that is computed at once: what waits holds its operands in memory, and is fast at this size."""


def multiply(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """left @ right.T"""
    return left @ right.T


class Sum:
    """Products that are to be added up. adds: whether to what is there, or in place of it. depth: along K, so far."""

    __slots__ = ("_lefts", "_rights", "adds", "depth")

    def __init__(self, adds: bool) -> None:
        self.adds = adds
        self.depth = 0
        self._lefts: list[Submatrix] = []
        self._rights: list[Submatrix] = []

    def add(self, left: Submatrix, right: Submatrix) -> None:
        """Add left @ right.T."""
        self._lefts.append(left)
        self._rights.append(right)
        self.depth += left.columns

    @property
    def full(self) -> bool:
        """Whether the sum is to be computed before more is added."""
        return self.depth >= DEPTH

    def product(self) -> np.ndarray:
        """All of it: float32[rows of the left, rows of the right]."""
        return multiply(beside(self._lefts).values, beside(self._rights).values)


class TmemSum(Sum):
    """A sum for all lanes of some columns of tensor memory."""

    __slots__ = ()

    def pay(self, columns: np.ndarray) -> None:
        """Add it to the columns, float32[128, n], or store it there."""
        if self.adds:
            columns += self.product()
        else:
            columns[...] = self.product()


def accumulate_tmem(tmem: TensorMemory, column: int, left: Submatrix, right: Submatrix, adds: bool) -> None:
    """Add left @ right.T to the columns from `column` on, or store it there."""
    columns = right.rows
    pending = tmem.owed(column, columns) if adds else None
    if not isinstance(pending, TmemSum):
        pending = TmemSum(adds)
        tmem.owe(column, columns, pending)
    pending.add(left, right)
    if pending.full:
        tmem.collect(column, columns)


class RegisterSum(Sum):
    """A sum for the accumulators of a warpgroup: 64 rows, of which each warp's registers hold 16.

    parts: the registers of each warp, until they have their part.
    """

    __slots__ = ("_values", "parts")

    def __init__(self, adds: bool, parts: Sequence[Registers]) -> None:
        super().__init__(adds)
        self.parts: dict[int, Registers] = dict(enumerate(parts))
        self._values: np.ndarray | None = None

    @property
    def taken(self) -> bool:
        """Whether a warp has its part: nothing more can be added."""
        return self._values is not None

    def pay(self, warp: int) -> None:
        """Give a warp its part."""
        if self._values is None:
            self._values = fragments(self.product())
            self._lefts.clear()
            self._rights.clear()
        registers = self.parts.pop(warp)
        registers.accumulate(self._values[warp], self.adds)


def accumulate_registers(parts: Sequence[Registers], left: Submatrix, right: Submatrix, adds: bool) -> None:
    """Add left @ right.T to the accumulators of the warps of a warpgroup, or store it there."""
    count = right.rows // 2
    pending = parts[0].owed(count) if adds else None
    alike = isinstance(pending, RegisterSum) and all(each.owed(count) is pending for each in parts)
    if not isinstance(pending, RegisterSum) or pending.taken or not alike:
        pending = RegisterSum(adds, parts)
        for warp, registers in enumerate(parts):
            registers.owe(count, pending, warp)
    pending.add(left, right)
    if pending.full:
        for registers in parts:
            registers.collect(count)


def fragments(product: np.ndarray) -> np.ndarray:
    """A 64 × n product as the registers of four warps, [4, n / 2, 32] (PTX ISA: "wgmma", matrix D)."""
    n = product.shape[1]
    # (warp, upper or lower 8 rows, row) × (8 columns, quad, pair)
    parts = product.reshape(4, 2, 8, n // 8, 4, 2)
    return np.ascontiguousarray(parts.transpose(0, 3, 1, 5, 2, 4)).reshape(4, n // 2, 32)
