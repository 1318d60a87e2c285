"""Products of MMAs that accumulate in one place, computed when somebody needs the sum.

MMAs that continue a sum over K are one product of long matrices, which BLAS computes faster than many short ones, and
the accumulator is written once. The order of additions follows from the order of the MMAs alone, so all runs of a
kernel have the same results, with checks and without.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
    """Products that are to be added up. adds: whether to what is there, or in place of it."""

    __slots__ = ("_depth", "_held", "_parts", "adds")

    def __init__(self, adds: bool) -> None:
        self.adds = adds
        self._parts: list[tuple[list[Submatrix], list[Submatrix]]] = []
        self._depth = DEPTH
        self._held = 0

    def add(self, left: Submatrix, right: Submatrix) -> None:
        """Add left @ right.T."""
        if self._depth >= DEPTH:
            self._parts.append(([], []))
            self._depth = 0
        lefts, rights = self._parts[-1]
        lefts.append(left)
        rights.append(right)
        self._depth += left.columns
        if not (left.lasts and right.lasts):
            self._held += left.columns

    @property
    def full(self) -> bool:
        """Whether the sum is to be computed before more is added, since it holds much memory."""
        return self._held >= DEPTH

    def products(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Matrices left and right, at most `DEPTH` long as a rule, of which the products left @ right.T are the sum."""
        for lefts, rights in self._parts:
            yield beside(lefts).values, beside(rights).values


class TmemSum(Sum):
    """A sum for all lanes of some columns of tensor memory, from `column` on."""

    __slots__ = ("_column", "_tmem")

    def __init__(self, adds: bool, tmem: TensorMemory, column: int) -> None:
        super().__init__(adds)
        self._tmem, self._column = tmem, column

    def pay(self) -> None:
        """Add it to the columns, or store it there."""
        adds = self.adds
        for left, right in self.products():
            product = multiply(right, left)  # columns × lanes, as they lie in tensor memory
            columns = self._tmem.words(self._column, len(product)).view(np.float32).T
            if adds:
                columns += product
            else:
                columns[...] = product
            adds = True


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


class RegisterSum:
    """A sum for the accumulators of a warpgroup: 64 rows, of which each warp's registers hold 16.

    sums: of each cluster that is executed, one as a rule.
    """

    __slots__ = ("_values", "adds", "sums")

    def __init__(self, adds: bool, width: int) -> None:
        self.adds = adds
        self.sums = [Sum(adds) for _ in range(width)]
        self._values: list[np.ndarray] | None = None

    @property
    def taken(self) -> bool:
        """Whether a warp has its part: nothing more can be added."""
        return self._values is not None

    def parts(self, warp: int) -> list[np.ndarray]:
        """What the registers of a warp get, one after the other: float32[n / 2, 32 lanes of each cluster]."""
        if self._values is None:
            of_clusters = ([fragments(product) for product in self._products(each)] for each in self.sums)
            self._values = [_side_by_side(parts) for parts in zip(*of_clusters, strict=True)]
        return [each[warp] for each in self._values]

    def _products(self, each: Sum) -> list[np.ndarray]:
        """Those to be added to what is there; added up, where nothing is."""
        products = (multiply(left, right) for left, right in each.products())
        if self.adds:
            return list(products)
        total = next(products)
        for product in products:
            total += product
        return [total]

    def add(self, lefts: Sequence[Submatrix], rights: Sequence[Submatrix]) -> None:
        """Add left @ right.T for each cluster."""
        for each, left, right in zip(self.sums, lefts, rights, strict=True):
            each.add(left, right)

    @property
    def full(self) -> bool:
        """As `Sum.full`."""
        return self.sums[0].full


class RegisterPart:
    """The part of a sum that the registers of one warp are owed. warp: its number in the warpgroup."""

    __slots__ = ("_registers", "_warp", "adds", "whole")

    def __init__(self, whole: RegisterSum, warp: int, registers: Registers) -> None:
        self.whole, self.adds = whole, whole.adds
        self._warp, self._registers = warp, registers

    def pay(self) -> None:
        """Add it to the registers, or store it there."""
        for number, values in enumerate(self.whole.parts(self._warp)):
            self._registers.accumulate(values, self.adds or number > 0)


def _side_by_side(parts: Sequence[np.ndarray]) -> np.ndarray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-1)


def accumulate_registers(
    parts: Sequence[Registers], lefts: Sequence[Submatrix], rights: Sequence[Submatrix], adds: bool
) -> None:
    """Add left @ right.T to the accumulators of the warps of a warpgroup, or store it there.

    lefts, rights: of each cluster that is executed, one as a rule.
    """
    count = rights[0].rows // 2
    pending = _pending(parts, count) if adds else None
    if pending is None:
        pending = RegisterSum(adds, len(lefts))
        for warp, registers in enumerate(parts):
            registers.owe(count, RegisterPart(pending, warp, registers))
    pending.add(lefts, rights)
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
