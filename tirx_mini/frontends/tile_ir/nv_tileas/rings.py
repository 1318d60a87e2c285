"""Contents of pipelines: groups of asynchronous loads, and sums in tensor memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from tirx_mini.hardware import TMEM_LANES
from tirx_mini.records import dataclass

from ..layouts import TmemLayout
from ..nv_tileaa import Tensor
from ..ssa import Op, Region, Value
from . import pipeline_ops as pipe
from .passes import element_bits
from .pipeline_types import CP_ASYNC, MMA, THREADS, TMA
from .products import Room

LOADS = (pipe.tiled_tma_load, pipe.async_load)
WAITS = (pipe.wait_tma, pipe.wait_load)
"""Asynchronous loads, and what waits for them."""


@dataclass(eq=False)
class Group:
    """Loads that share a pipeline. waits: the operations that stand for their tensors. block: the region's owner.

    readers: the operations of the block that read them. depth: how many loops repeat them. halves: for those of which
    each CTA of a pair has a half, the dimension that is halved.
    """

    waits: list[Op]
    block: Region
    readers: list[Op]
    depth: int
    consumer: str
    pipeline: Value | None = None
    shared: Group | None = None
    halves: dict[Op, int] = field(default_factory=dict)

    @property
    def ring(self) -> Group:
        """The group whose pipeline is used, which may belong to an earlier loop."""
        return self.shared or self

    @property
    def producer(self) -> str:
        """The producer of its stages: cp.async if any load is a gather, else TMA."""
        return CP_ASYNC if any(op.kind is pipe.wait_load for op in self.waits) else TMA

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        halves = self.halves
        return tuple(half(op.result.type, halves[op]) if op in halves else op.result.type for op in self.waits)

    @property
    def label(self) -> str:
        return "_".join(op.result.hint for op in self.waits if op.result.hint)

    @property
    def bytes(self) -> int:
        """The size of a stage in bytes."""
        return sum(t.size * element_bits(t) // 8 for t in self.tensors)


@dataclass(eq=False)
class Sum:
    """A loop that accumulates products in tensor memory. dot: its only dot. index: the carried position of the sums.

    block: the region that the loop is in. looped: whether another loop repeats it.
    """

    loop: Op
    dot: Op
    index: int
    block: Region
    looped: bool
    pipeline: Value | None = None
    producer, consumer = MMA, THREADS

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return (self.dot.acc.type.with_layout(TmemLayout()),)

    @property
    def label(self) -> str:
        return self.dot.acc.hint or "sums"

    @property
    def columns(self) -> int:
        """The number of tensor-memory columns per stage."""
        rows, cols = self.dot.acc.type.shape
        return cols * max(1, rows // TMEM_LANES)


PAIR = 2
"""CTAs of a pair, whose tensor cores work together."""


def half(tensor: Tensor, axis: int) -> Tensor:
    """Return the half of a tensor along one dimension that one CTA of a pair holds."""
    shape = [extent // PAIR if place == axis else extent for place, extent in enumerate(tensor.shape)]
    return Tensor(tuple(shape), tensor.element, tensor.layout)


Ring = Group | Sum | Room
"""What a pipeline is made of."""


def share(groups: Sequence[Group]) -> list[Group]:
    """Share pipelines between groups of consecutive loops, and return the groups that own one.

    Loads of the second loop then begin while the first one still computes.
    """
    found: list[Group] = []
    for group in groups:
        taken = {other.ring for other in groups if other.block is group.block and other.shared is not None}
        group.shared = next((other for other in found if other not in taken and _may_share(other, group)), None)
        if group.shared is None:
            found.append(group)
    return found


def _may_share(one: Group, other: Group) -> bool:
    """Return whether two groups have equal stages and are used in loops that do not nest."""
    kinds = [(g.tensors, g.producer, g.consumer, g.depth) for g in (one, other)]
    apart = one.block is not other.block and not (_inside(one.block, other.block) or _inside(other.block, one.block))
    return one.depth > 0 and kinds[0] == kinds[1] and apart


def _inside(region: Region, outer: Region) -> bool:
    return any(inner is region for op in outer.walk() for inner in op.regions)
