"""Products of MMAs that accumulate in one place, computed when somebody needs the sum.

MMAs that continue a sum over K are one product of long matrices, which BLAS computes faster than many short ones, and
the accumulator is written once. The order of additions follows from the order of the MMAs alone, so all runs of a
kernel have the same results, with checks and without.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..machine import LANES, Registers, TensorMemory
from .submatrix import Submatrix, beside
from .wgmma_group import WARPS

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
    """A sum for all lanes of some columns of tensor memory, from `column` on."""

    __slots__ = ("_column", "_tmem")

    def __init__(self, adds: bool, tmem: TensorMemory, column: int) -> None:
        super().__init__(adds)
        self._tmem, self._column = tmem, column

    def pay(self) -> None:
        """Add it to the columns, or store it there."""
        product = self.product()
        columns = self._tmem.words(self._column, product.shape[1]).view(np.float32)
        if self.adds:
            columns += product
        else:
            columns[...] = product


def accumulate_tmem(tmem: TensorMemory, column: int, left: Submatrix, right: Submatrix, adds: bool) -> None:
    """Add left @ right.T to the columns from `column` on, or store it there."""
    end = column + right.rows
    pending = tmem.owed.get((column, end)) if adds else None
    if not isinstance(pending, TmemSum):
        pending = TmemSum(adds, tmem, column)
        tmem.owed.owe(column, end, pending)
    pending.add(left, right)
    if pending.full:
        tmem.owed.collect(column, end)


class RegisterSum(Sum):
    """A sum for the accumulators of a warpgroup: 64 rows, of which each warp's registers hold 16."""

    __slots__ = ("_values",)

    def __init__(self, adds: bool) -> None:
        super().__init__(adds)
        self._values: np.ndarray | None = None

    @property
    def taken(self) -> bool:
        """Whether a warp has its part: nothing more can be added."""
        return self._values is not None

    def part(self, warp: int) -> np.ndarray:
        """What the registers of a warp get: float32[n / 2, 32]."""
        if self._values is None:
            self._values = fragments(self.product())
        return self._values[warp]


class RegisterPart:
    """The part of a sum that the registers of one warp are owed. warp: its number in the warpgroup."""

    __slots__ = ("_registers", "_warp", "adds", "whole")

    def __init__(self, whole: RegisterSum, warp: int, registers: Registers) -> None:
        self.whole, self.adds = whole, whole.adds
        self._warp, self._registers = warp, registers

    def pay(self) -> None:
        """Add it to the registers, or store it there."""
        self._registers.accumulate(self.whole.part(self._warp), self.adds)


def accumulate_registers(parts: Sequence[Registers], left: Submatrix, right: Submatrix, adds: bool) -> None:
    """Add left @ right.T to the accumulators of the warps of a warpgroup, or store it there."""
    count = right.rows // 2
    pending = _pending(parts, count) if adds else None
    if pending is None:
        pending = RegisterSum(adds)
        for warp, registers in enumerate(parts):
            registers.owe(count, RegisterPart(pending, warp, registers))
    pending.add(left, right)
    if pending.full:
        for registers in parts:
            registers.collect(count)


def _pending(parts: Sequence[Registers], count: int) -> RegisterSum | None:
    """The sum that all warps of a warpgroup are owed, as long as none has its part."""
    owed = [each.owed(count) for each in parts]
    wholes = {each.whole for each in owed if isinstance(each, RegisterPart)}
    if None in owed or len(wholes) != 1:
        return None
    (whole,) = wholes
    return None if whole.taken else whole


def fragments(product: np.ndarray) -> np.ndarray:
    """A 64 × n product as the registers of four warps, [4, n / 2, 32] (PTX ISA: "wgmma", matrix D)."""
    n = product.shape[1]
    # (warp, upper or lower 8 rows, row) × (8 columns, quad, pair)
    parts = product.reshape(WARPS, 2, 8, n // 8, 4, 2)
    return np.ascontiguousarray(parts.transpose(0, 3, 1, 5, 2, 4)).reshape(WARPS, n // 2, LANES)
