"""The wgmma operations of a warpgroup: issued MMAs and committed groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np

from tirx_mini.hardware import WARPGROUP_WARPS, GpuSpec
from tirx_mini.ir import Span
from tirx_mini.isa import InstructionDescriptor, SmemDescriptor, WgmmaProduct
from tirx_mini.records import dataclass

from ..machine import Flight, Registers, Warp, numpy_dtype, unpacked
from .numbers import to_float


class Issued:
    """A wgmma as one warp issued it. index: of the first accumulator register. clocks: of the warp at the issue.

    source: the registers that hold matrix A, if it is not in shared memory. fragment: their contents at the issue, as
    uint32[4, 32]. metadata: of a sparse A, uint32[32].
    """

    __slots__ = (
        "clocks", "flight", "fragment", "index", "metadata", "product", "registers", "role", "source", "source_flight",
        "span", "time",
    )  # fmt: skip

    def __init__(
        self, w: Warp, registers: Registers, product: WgmmaProduct, source: Registers | None = None,
        span: Span | None = None,
    ) -> None:  # fmt: skip
        self.registers = registers
        self.source = source
        self.source_flight: Flight | None = None
        self.fragment: np.ndarray | None = None
        self.metadata: np.ndarray | None = None
        self.index = registers.index
        self.product = product
        self.time = w.time
        self.role = w.place
        self.span = span or w.span
        self.flight: Flight | None = None
        self.clocks: Any = _NO_CLOCKS

    @property
    def a(self) -> SmemDescriptor:
        assert self.product.a is not None
        return self.product.a

    @property
    def a_start(self) -> int:
        return self.product.a_start

    @property
    def b(self) -> SmemDescriptor:
        return self.product.b

    @property
    def b_start(self) -> int:
        return self.product.b_start

    @property
    def shape(self) -> InstructionDescriptor:
        return self.product.shape

    @property
    def accumulate(self) -> bool:
        return self.product.accumulate

    @property
    def extent(self) -> int:
        """The number of accumulator elements in the register array."""
        return self.product.registers * 4 // self.registers.array.itemsize

    def give_back(self) -> None:
        """Return the lent registers to the warp."""
        if self.flight is not None:
            self.registers.array.flights.remove(self.flight)
        if self.source_flight is not None and self.source is not None:
            self.source.array.flights.remove(self.source_flight)

    def continues(self, first: Issued) -> bool:
        """Return whether this MMA can be merged into one product with the MMAs from `first` on."""
        mine, other = self.product, first.product
        return (
            mine.accumulate
            and mine.shape.d != "float16"  # sums are rounded after each MMA
            and mine.shape.selector is None  # each has metadata of its own
            and self.index == first.index
            and self.registers.array is first.registers.array
            and mine.shape is other.shape
            and self.clocks is first.clocks
            and mine.a is other.a
            and mine.b is other.b
            and (self.source is None) == (first.source is None)
        )

    def overlaps(self, other: Issued) -> bool:
        """Return whether the accumulators of two MMAs overlap."""
        if self.registers.array is not other.registers.array:
            return False
        return self.index < other.index + other.extent and other.index < self.index + self.extent


_NO_CLOCKS = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Work:
    """The work of MMAs. nbytes: of operands. cycles: of arithmetic."""

    nbytes: float
    cycles: float
    flops: float


@dataclass(eq=False)
class Series:
    """A memoised sequence of MMAs, as each warp of any unchecked CTA issues it.

    places: of their accumulators, (index of the array, index of the first register in it). first, cycles: the issue
    times of the first MMA, and of all. span: of the last one. work: their cost, computed once. inside: whether their
    operands are known to lie in the shared memory of a CTA. batches: the positions of the MMAs of each chain, once
    executed.
    """

    mmas: tuple[Issued, ...]
    places: tuple[tuple[int, int], ...]
    first: float
    cycles: float
    span: Span | None
    work: Work | None = None
    inside: bool = False
    batches: list[list[int]] = field(default_factory=list[list[int]])

    @property
    def sourced(self) -> bool:
        """Return whether an MMA takes its matrix A, or the metadata of a sparse A, from registers."""
        return any(mma.source is not None or mma.shape.selector is not None for mma in self.mmas)


@dataclass(eq=False, slots=True)
class Group:
    """A committed group of a warpgroup. parts: the MMAs of each warp that has committed it. epoch: of its accesses.

    begun: the latest issue of a first MMA. series: the series that the group is, if any.
    """

    number: int
    parts: dict[int, tuple[Issued, ...]] = field(default_factory=dict[int, tuple[Issued, ...]])
    begun: float = 0.0
    series: Series | None = None
    epoch: int = 0
    done: bool = False
    done_at: float = 0.0


def work_of(mmas: Sequence[Issued], spec: GpuSpec) -> Work:
    """Return the total work of several MMAs."""
    shapes = [mma.shape for mma in mmas]
    flops = sum(shape.flops for shape in shapes)
    return Work(sum(map(_operand_bytes, mmas)), sum(_cycles(shape, spec) for shape in shapes), flops)


def _cycles(shape: InstructionDescriptor, spec: GpuSpec) -> float:
    """Return the cycles that an MMA occupies the SM's tensor cores."""
    return shape.flops * shape.a.itemsize / 2 / spec.tensor_flops_per_cycle


def _operand_bytes(mma: Issued) -> float:
    """Return the operand bytes that an MMA reads from shared memory."""
    shape = mma.shape
    rows = 0 if mma.product.a is None else shape.m
    return (rows * shape.held("a") + shape.n * shape.depth) * shape.a.itemsize


def matrix_a(fragments: Sequence[np.ndarray]) -> np.ndarray:
    """Return matrix A of an MMA from the registers of four warps: 32-bit words [64, 8]. fragments: uint32[4, 32] of
    each warp.

    Register 2 h + i of lane 4 r + q holds word q + 4 h of row r + 8 i of the warp's 16 rows (PTX ISA: "Register
    Fragments for wgmma.mma_async.m64nNk16", matrix A).
    """
    words = np.stack(fragments).reshape(len(fragments), 2, 2, 8, 4)
    return np.ascontiguousarray(words.transpose(0, 2, 3, 1, 4)).reshape(16 * len(fragments), 8)


def from_registers(group: Group, batch: Sequence[int]) -> np.ndarray:
    """Return matrix A of a chain of MMAs, concatenated along K, from the registers of the four warps."""
    fmt = group.parts[0][batch[0]].shape.a
    parts: list[np.ndarray] = []
    for position in batch:
        fragments = [group.parts[warp][position].fragment for warp in range(WARPGROUP_WARPS)]
        parts.append(matrix_a([fragment for fragment in fragments if fragment is not None]))
    return to_float(np.concatenate(parts, axis=1).view(numpy_dtype(fmt.dtype)), fmt.dtype)


def expanded(packed: np.ndarray, group: Group, position: int, selector: int) -> np.ndarray:
    """Return the sparse matrix A of an MMA, with zeros: float32[64, K]. packed: its elements, float32[64, K / 2]."""
    parts = [group.parts[warp][position] for warp in range(WARPGROUP_WARPS)]
    each = np.split(packed, WARPGROUP_WARPS)
    width = int(parts[0].shape.a.itemsize)
    words = [np.zeros(0) if part.metadata is None else part.metadata for part in parts]
    return np.concatenate([unpacked(*rows, selector, width) for rows in zip(each, words, strict=True)])
