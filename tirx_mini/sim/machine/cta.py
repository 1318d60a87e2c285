"""Streaming multiprocessors, and their resident CTAs and clusters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tirx_mini.hardware import QUARTERS, REGISTERS_PER_SM, GpuSpec
from tirx_mini.ir import Span

from ..facts import Origin
from ..ordering import (
    ORDER,
    PAST,
    AccessLog,
    Causality,
    Complain,
    GridBefore,
    GridDependence,
    UncheckedCausality,
    causality,
)
from ..timing import Clock, FairShare, SmTraffic
from .barriers import AccessBeforeStart, RemoteAccess, RemoteAccessAtExit
from .batched import BatchedSharedMemory, BatchedTensorMemory
from .collaborators import TIME
from .counting import ClusterBarrier, NamedBarriers
from .interfaces import Gpu, Warp
from .mbarrier import Mbarrier
from .memory import POISON, SharedMemory, TensorMemory
from .register_pool import RegisterPool
from .warp import RunningWarp


class Multiprocessor:
    """A streaming multiprocessor: the resources that its resident CTAs share.

    smem_room: free bytes of shared memory; threads_free, registers_free, ctas_free: likewise.
    multipliers: for each sub-partition, its warps that have executed an mma.
    tensor: its tensor cores. tensor_free, stores_free: the times at which they and its TMA stores are idle again.
    """

    def __init__(self, index: int, spec: GpuSpec, clock: Clock) -> None:
        self.index = index
        self.smem_room = spec.architecture.smem_per_sm
        self.threads_free = spec.architecture.threads_per_sm
        self.registers_free = REGISTERS_PER_SM
        self.ctas_free = spec.architecture.ctas_per_sm
        # CTAs are placed on the GPCs in turn, and a cluster within one: neighbouring pairs are on different sides.
        self.traffic = SmTraffic(spec, index // 2 % spec.l2_partitions)
        self.tensor = FairShare(clock, rate=1.0, most=1.0)
        self.multipliers: tuple[set[Any], ...] = tuple(set() for _ in range(QUARTERS))
        self.tensor_free = 0.0
        self.stores_free = 0.0


def cta_name(block_idx: Sequence[int], grid: Sequence[int]) -> str:
    """Return the name of a CTA: its blockIdx, in as many dimensions as the grid has."""
    used = max((axis + 1 for axis in range(3) if grid[axis] > 1), default=1)
    return f"CTA {block_idx[0]}" if used == 1 else f"CTA ({', '.join(map(str, block_idx[:used]))})"


class ResidentCta:
    """A resident CTA. rank: its %cluster_ctarank. name: its blockIdx, as in "CTA (3, 0, 0)". number: the same, linear.

    mbarriers: by their offset in shared memory. exited: the number of ended warps. remote: accesses of threads of other
    CTAs to its shared memory, by agent and whether they write.
    """

    def __init__(
        self,
        gpu: Gpu,
        cluster: ResidentCluster,
        sm: Multiprocessor,
        block_idx: tuple[int, int, int],
        cluster_ctaid: tuple[int, int, int],
        rank: int,
    ) -> None:
        self.gpu = gpu
        self.cluster = cluster
        self.sm = sm
        self.block_idx = block_idx
        self.cluster_ctaid = cluster_ctaid
        self.rank = rank
        grid = gpu.image.launch.grid
        self.number = block_idx[0] + grid[0] * (block_idx[1] + grid[1] * block_idx[2])
        self.name = cta_name(block_idx, grid)
        shared: Complain | None = cluster.order.of(gpu.watch_shared, self)
        tensor: Complain | None = cluster.order.of(gpu.watch_tensor, self)
        nbytes, buffers = gpu.image.launch.smem_bytes, gpu.image.shared
        self.smem: SharedMemory
        self.tmem: TensorMemory
        if cluster.width:
            self.smem = BatchedSharedMemory(nbytes, cluster.width, buffers)
            self.tmem = BatchedTensorMemory(cluster.width)
        else:
            fill = cluster.values.of(int, POISON) or 0
            self.smem = SharedMemory(nbytes, buffers, cluster.log, shared, fill)
            self.tmem = TensorMemory(cluster.tmem_log, tensor)
        self.mbarriers: dict[int, Mbarrier] = {}
        self.barriers_end = 0
        self.remote: dict[tuple[int, bool], RemoteAccess] = {}
        self.named = NamedBarriers(self)
        self.registers = RegisterPool(self)
        self.warps: list[RunningWarp] = []
        self.exited = 0
        self.alive = True

    @property
    def dependence(self) -> GridDependence | None:
        """The launch-order state of a new warp; None unless the launch begins before the previous grid has ended."""
        return None if self.cluster.before is None else GridDependence(self.cluster.before)

    @property
    def initialised(self) -> Sequence[Mbarrier]:
        """The mbarriers that have been initialised."""
        return [barrier for barrier in self.mbarriers.values() if barrier.expected]

    def origin(self, span: Span | None) -> Origin:
        """Return the CTA itself as the origin of an event without a warp."""
        return Origin("", "", self.name, span)

    def start(self, time: float) -> None:
        """Create the warps and start them at `time`."""
        causality = self.cluster.causality
        for warp_id in range(self.gpu.image.launch.warps):
            self.warps.append(self.gpu.warp_type(self, warp_id, causality.agent(f"{self.name} warp {warp_id}"), time))
        for warp in self.warps:
            self.gpu.clock.at(time, warp, warp.resume)

    def mbarrier(self, offset: int) -> Mbarrier:
        """Return the mbarrier at a byte offset of shared memory, initialised or not."""
        barrier = self.mbarriers.get(offset)
        if barrier is None:
            made = self.cluster.order.of(self.gpu.checked_mbarrier) or self.gpu.unchecked_mbarrier
            self.barriers_end = max(self.barriers_end, offset + 8)
            barrier = self.mbarriers[offset] = made(self, offset, self.gpu.locator.element(offset))
            segment = self.smem.shadow.segment(offset)
            if segment is not None:
                segment.barriers = True
        return barrier

    def written(self, origin: Origin, first: np.ndarray | int, width: int, what: str) -> None:
        """Record writes of `width` bytes at the offsets `first` that overlap an mbarrier."""
        for offset, barrier in self.mbarriers.items():
            if barrier.expected and np.any((first < offset + 8) & (first + width > offset)):
                barrier.overwrite(origin, what)

    def warp_ended(self, warp: RunningWarp) -> None:
        """Handle the end of a warp's program."""
        self.gpu.warp_ended(warp)
        self.sm.multipliers[warp.warp_id % QUARTERS].discard(warp)
        self.registers.exited(warp)
        self.gpu.clock.at(warp.time, self, self._warp_exited, warp)

    def _warp_exited(self, warp: RunningWarp) -> None:
        """Handle the exit of a warp; the last exit ends the CTA."""
        self.exited += 1
        self.gpu.lasts(warp.time)
        self.named.warp_exited()
        self.cluster.warp_exited()
        if self.exited == len(self.warps):
            self.alive = False
            self._end()
            self.cluster.cta_exited(warp.time)

    def _end(self) -> None:
        """Check by happens-before the operations that must be complete at the CTA's end, whatever the engines'
        speed."""
        first, *others = (warp.agent for warp in self.warps)
        ordered, past = first.joined(others)
        self.gpu.cta_ended(self, ordered)
        for barrier in self.mbarriers.values():
            barrier.check_signals(ordered, past)
            barrier.check_phase()
        for (agent, writes), used in self.remote.items():
            relaxed = past.item(agent) >= used.epoch
            if ordered.item(agent) < used.epoch and (writes or not relaxed):
                by = Origin(used.role, used.role, self.name, used.span)
                self.gpu.facts.record(RemoteAccessAtExit(by, used, relaxed))

    def known_to(self, w: Warp) -> bool:
        """Return whether the next operation of a warp is ordered after some operation of this CTA."""
        clocks, own = w.agent.clocks, [warp.lanes.whole.index for warp in self.warps]
        return any(clocks.item(row, agent) for row in (ORDER, PAST) for agent in own)

    def accessed(self, w: RunningWarp, writes: bool) -> None:
        """Record an access by a thread of another CTA to this CTA's shared memory.

        An earlier load by a thread of another CTA is complete at its arrival; a store may still be in flight (PTX ISA:
        "barrier.cluster": a relaxed arrival orders no memory).
        """
        agent = w.agent
        self.remote[agent.index, writes] = RemoteAccess(agent.epoch, writes, w.place, w.span)
        if not self.known_to(w):
            self.gpu.facts.record(AccessBeforeStart(w.origin, self.name, writes))

    # -- as the owner of events ------------------------------------------------------------------------------------

    @property
    def cluster_index(self) -> int:
        return self.cluster.index

    @property
    def event(self) -> str:
        return f"the end of a warp of {self.name}"

    def delay(self, now: float) -> None:
        """Do nothing: the warps have ended at their own times."""


class ResidentCluster:
    """CTAs that are launched together and can access one another's shared memory. live_warps: the number of running
    warps.

    domain: the index of its clocks: its own, or a common one if clusters synchronise with one another. values, order,
    time: the collaborators of its parts; without accesses to record, engines may take no time. numbers: the clusters
    that it represents, if it is a batch (`batched`). width: their number, or 0. late: the effects of a batch on global
    memory, applied at its end.
    """

    def __init__(self, gpu: Gpu, index: int, numbers: Sequence[int] = ()) -> None:
        self.gpu = gpu
        self.index = index
        self.numbers = numbers
        self.width = len(numbers)
        self.late: list[Callable[[], None]] = []
        self.values = gpu.values_of(index)
        self.order = gpu.order_of(index)
        self.time = self.order.shortcut(gpu.engine_time) or TIME
        self.image = gpu.image_of(index)
        warps = gpu.image.launch.cluster_size * gpu.image.launch.warps
        self.causality: Causality = gpu.causality or self.order.of(causality, warps) or UncheckedCausality()
        self.domain = index if gpu.causality is None else 0
        early = self.order.of(self._grid_before) if gpu.image.launch.programmatic else None
        self.before: GridBefore | None = early
        self.log = AccessLog()
        self.tmem_log = AccessLog()
        self.ctas: list[ResidentCta] = []
        self.barrier = ClusterBarrier(self, self.causality)
        self.live_warps = 0
        self.live_ctas = 0

    def _grid_before(self) -> GridBefore:
        return GridBefore(self.causality.agent("the grid before"), self.image.early_accesses)

    @property
    def decisions(self) -> tuple[tuple[object, ...], ...]:
        """The decisions of all warps."""
        return tuple(tuple(warp.decisions) for cta in self.ctas for warp in cta.warps)

    def mbarriers(self) -> Iterator[Mbarrier]:
        """Yield all mbarriers of the cluster's CTAs."""
        for cta in self.ctas:
            yield from cta.mbarriers.values()

    def warp_exited(self) -> None:
        """Handle the exit of a warp of this cluster."""
        self.live_warps -= 1
        self.barrier.check()

    def cta_exited(self, time: float) -> None:
        """Handle the exit of a CTA of this cluster."""
        self.live_ctas -= 1
        if self.live_ctas == 0:
            self.gpu.retire(self, time)

    def close(self) -> None:
        """Break the reference cycles between the cluster, its CTAs and its warps."""
        for cta in self.ctas:
            for warp in cta.warps:
                warp.close()
            cta.tmem.close()
            vars(cta).clear()
        vars(self).clear()
