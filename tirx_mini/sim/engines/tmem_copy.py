"""Asynchronous copies from shared to tensor memory by the tensor core (PTX ISA: "tcgen05.cp")."""

from __future__ import annotations

import numpy as np

from tirx_mini.hardware import SWIZZLE_PERIOD, TMEM_LANES
from tirx_mini.isa import CP_SHAPES, cp_lanes, operand_chunks
from tirx_mini.records import dataclass, replace

from ..facts import Fact, Fault, Origin
from ..machine import GROUP_LANES, LANES, Cta, Gpu
from ..ordering import Operation
from .issued import TmemCopy, actor_of, pair
from .tile_reads import TileReads


@dataclass(frozen=True)
class CopyAtExit(Fact):
    """The end of a CTA or its peer while a tcgen05.cp is in flight."""


@dataclass(frozen=True)
class CopyOutOfShared(Fact):
    """A descriptor of a tcgen05.cp that leads out of shared memory. low, high, size: in bytes."""

    low: int
    high: int
    size: int


@dataclass(frozen=True)
class CopyOutOfLanes(Fact):
    """A tcgen05.cp whose rows exceed the lanes of tensor memory. lane: its first lane. last: the last one."""

    lane: int
    last: int


class Copies:
    """Executes tcgen05.cp."""

    def __init__(self, gpu: Gpu, tiles: TileReads) -> None:
        self._gpu = gpu
        self._tiles = tiles

    def execute(self, copy: TmemCopy) -> None:
        """Execute a copy in each participating CTA."""
        cta = copy.pipe.cta
        ctas = pair(cta) if copy.cta_group == 2 else [cta]
        if not all(c.alive for c in ctas):
            self._gpu.facts.record(CopyAtExit(Origin(copy.role, copy.role, cta.name, copy.span)))
            return
        for each in ctas:
            self._copy(copy, each)

    def _copy(self, copy: TmemCopy, cta: Cta) -> None:
        rows, columns = CP_SHAPES[copy.shape, copy.multicast]
        lanes = cp_lanes(copy.shape, copy.multicast) + copy.lane
        origin = Origin(copy.role, copy.role, cta.name, copy.span)
        if int(lanes.max()) >= TMEM_LANES:
            raise Fault(CopyOutOfLanes(origin, copy.lane, int(lanes.max())))
        base = copy.start // SWIZZLE_PERIOD * SWIZZLE_PERIOD  # a swizzle acts on the bits of addresses
        layout = replace(copy.layout, start=copy.start - base)
        items = (operand_chunks(layout, rows, columns * 4, 1, False) + base) // 16
        low, high = int(items.min()) * 16, int(items.max()) * 16 + 16
        if low < 0 or high > cta.smem.size:
            raise Fault(CopyOutOfShared(origin, low, high, cta.smem.size))
        cta.cluster.values.apply(self._move, copy, cta, items, lanes)

    def _move(self, copy: TmemCopy, cta: Cta, items: np.ndarray, lanes: np.ndarray) -> None:
        """Copy rows of shared memory into tensor memory."""
        rows, columns = CP_SHAPES[copy.shape, copy.multicast]
        actor = actor_of(copy, Operation.TCGEN05_CP)
        actor.form = cta.cluster.order.of(self._tiles.of_copy, copy, cta, items)
        cta.smem.shadow.read_items(items.reshape(-1) * 16, 16, actor)
        where = slice(copy.column, copy.column + columns)
        for first in sorted({int(lane) // LANES * LANES // GROUP_LANES for lane in lanes.reshape(-1)}):
            cta.tmem.shadow.write((slice(first, first + LANES // GROUP_LANES), where), actor)
        words = np.ascontiguousarray(cta.smem.view(16)[items]).view(np.uint32).reshape(rows, columns)
        target = cta.tmem.words(copy.column, columns)
        for each in range(lanes.shape[1]):
            target[lanes[:, each]] = words
