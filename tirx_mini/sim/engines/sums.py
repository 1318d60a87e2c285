"""Lazy sums: the products of MMAs with one accumulator, computed when the accumulator is read.

A chain of MMAs over K is one product of long matrices, which BLAS computes faster than many short ones, and the
accumulator is written once. The order of additions depends only on the order of the MMAs, so all runs of a kernel have
the same results, with checks and without.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np

from tirx_mini.hardware import WARPGROUP_WARPS

from ..machine import LANES, Registers, TensorMemory
from .submatrix import Submatrix, below, beside

Factor: TypeAlias = "Sequence[Submatrix]"
"""A matrix for each simulated cluster; usually there is only one."""

DEPTH = 512
"""The depth along K at which a pending sum is computed; longer products hold more memory without a gain in speed."""


def multiply_exactly(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return left @ right.T of integers, computed exactly in float64; int32 wraps around."""
    return (left.astype(np.float64) @ right.T.astype(np.float64)).astype(np.int64).astype(np.int32)


def multiply(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return left @ right.T."""
    return left @ right.T


class Sum:
    """A pending sum of products for each simulated cluster; usually there is only one.

    adds: whether it adds to the old contents or replaces them. taken: whether a part has been computed, so that nothing
    more can be added.
    """

    __slots__ = ("_depth", "_held", "_parts", "adds", "taken")

    def __init__(self, adds: bool) -> None:
        self.adds = adds
        self.taken = False
        self._parts: list[list[tuple[Factor, Sequence[Factor]]]] = []
        self._depth = DEPTH
        self._held = 0

    def add(self, left: Factor, right: Sequence[Factor]) -> None:
        """Add the product left @ right.T in each cluster. right: its parts, stacked vertically."""
        if self._depth >= DEPTH:
            self._parts.append([])
            self._depth = 0
        self._parts[-1].append((left, right))
        self._depth += left[0].columns
        if not (left[0].lasts and right[0][0].lasts):
            self._held += left[0].columns

    @property
    def full(self) -> bool:
        """Return whether the sum must be computed before more is added, because its operands hold much memory."""
        return self._held >= DEPTH

    def products(self, cluster: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield matrices left and right, usually at most `DEPTH` long, whose products left @ right.T make up the
        sum."""
        self.taken = True
        for steps in self._parts:
            left = beside([left[cluster] for left, _ in steps])
            parts = [beside([right[number][cluster] for _, right in steps]) for number in range(len(steps[0][1]))]
            yield left.values, below(parts).values


class TmemPart:
    """The part of a pending sum that belongs to the columns of a tensor memory from `column` on."""

    __slots__ = ("_cluster", "_column", "_tmem", "adds", "whole")

    def __init__(self, whole: Sum, cluster: int, tmem: TensorMemory, column: int) -> None:
        self.whole, self.adds = whole, whole.adds
        self._cluster, self._tmem, self._column = cluster, tmem, column

    def pay(self) -> None:
        """Compute the part, and add it to the columns or overwrite them."""
        adds = self.adds
        for left, right in self.whole.products(self._cluster):
            product = multiply(right, left)  # columns × lanes, as they lie in tensor memory
            columns = self._tmem.words(self._column, len(product)).view(np.float32).T
            if adds:
                columns += product
            else:
                columns[...] = product
            adds = True


def accumulate_tmem(
    memories: Sequence[TensorMemory], column: int, left: Factor, right: Sequence[Factor], adds: bool
) -> None:
    """Add left @ right.T lazily to the columns from `column` on, or overwrite them.

    memories, left: one for each simulated cluster. right: its parts, stacked vertically, each with one matrix per
    cluster.
    """
    end = column + sum(part[0].rows for part in right)
    pending = memories[0].lazy.get((column, end)) if adds else None
    if isinstance(pending, TmemPart) and not pending.whole.taken:
        whole = pending.whole
    else:
        whole = Sum(adds)
        for cluster, tmem in enumerate(memories):
            tmem.lazy.owe(column, end, TmemPart(whole, cluster, tmem, column))
    whole.add(left, right)
    if whole.full:
        for tmem in memories:
            tmem.lazy.collect(column, end)


class RegisterSum(Sum):
    """A pending sum for the accumulators of a warpgroup: 64 rows, of which each warp holds 16.

    width: the number of simulated clusters.
    """

    __slots__ = ("_values", "_width")

    def __init__(self, adds: bool, width: int) -> None:
        super().__init__(adds)
        self._width = width
        self._values: list[np.ndarray] | None = None

    def parts(self, warp: int) -> list[np.ndarray]:
        """Return the partial sums that a warp's registers receive in turn: float32[n / 2, 32 lanes of each cluster]."""
        if self._values is None:
            of_clusters = ([fragments(each) for each in self._totals(cluster)] for cluster in range(self._width))
            self._values = [_side_by_side(parts) for parts in zip(*of_clusters, strict=True)]
        return [each[warp] for each in self._values]

    def _totals(self, cluster: int) -> list[np.ndarray]:
        """Return the products of the sum, combined into one if the accumulator is overwritten."""
        products = (multiply(left, right) for left, right in self.products(cluster))
        if self.adds:
            return list(products)
        total = next(products)
        for product in products:
            total += product
        return [total]


class RegisterPart:
    """The part of a pending sum that belongs to the registers of one warp. warp: its number in the warpgroup."""

    __slots__ = ("_registers", "_warp", "adds", "whole")

    def __init__(self, whole: RegisterSum, warp: int, registers: Registers) -> None:
        self.whole, self.adds = whole, whole.adds
        self._warp, self._registers = warp, registers

    def pay(self) -> None:
        """Compute the part, and add it to the registers or overwrite them."""
        for number, values in enumerate(self.whole.parts(self._warp)):
            self._registers.accumulate(values, self.adds or number > 0)


def _side_by_side(parts: Sequence[np.ndarray]) -> np.ndarray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=-1)


def accumulate_registers(parts: Sequence[Registers], left: Factor, right: Factor, adds: bool) -> None:
    """Add left @ right.T lazily to the accumulators of a warpgroup's warps, or overwrite them.

    left, right: one matrix for each simulated cluster.
    """
    count = right[0].rows // 2
    pending = _pending(parts, count) if adds else None
    if pending is None:
        pending = RegisterSum(adds, len(left))
        for warp, registers in enumerate(parts):
            registers.owe(count, RegisterPart(pending, warp, registers))
    pending.add(left, (right,))
    if pending.full:
        for registers in parts:
            registers.collect(count)


def _pending(parts: Sequence[Registers], count: int) -> RegisterSum | None:
    """Return the pending sum common to all warps of a warpgroup, unless a warp has already taken its part."""
    lazy = [each.lazy(count) for each in parts]
    wholes = {each.whole for each in lazy if isinstance(each, RegisterPart)}
    if None in lazy or len(wholes) != 1:
        return None
    (whole,) = wholes
    return None if whole.taken else whole


def fragments(product: np.ndarray) -> np.ndarray:
    """Return a 64 × n product as the registers of four warps, [4, n / 2, 32] (PTX ISA: "wgmma", matrix D)."""
    n = product.shape[1]
    # (warp, upper or lower 8 rows, row) × (8 columns, quad, pair)
    parts = product.reshape(WARPGROUP_WARPS, 2, 8, n // 8, 4, 2)
    return np.ascontiguousarray(parts.transpose(0, 3, 1, 5, 2, 4)).reshape(WARPGROUP_WARPS, n // 2, LANES)
