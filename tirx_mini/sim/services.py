"""The GPU services that instructions call (`isa.machine`): address translation and engine work.

Long because one class answers `isa.machine.Machine`, verb by verb.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable, Sequence
from typing import Any, TypeVar

import numpy as np

from tirx_mini.hardware import THREADS_OF, TMEM_LANES, GpuSpec
from tirx_mini.ir import TensorMap
from tirx_mini.isa import (
    CP_SHAPES,
    NONE_CANCELLED,
    PLAIN,
    Addresses,
    BarrierEffect,
    BlockScales,
    InstructionDescriptor,
    Kept,
    Loaded,
    MemoryAccess,
    SmemDescriptor,
    TmemOperand,
    WgmmaVerbs,
)
from tirx_mini.records import dataclass

from .engines import (
    BadAddress,
    ClusterCopies,
    CpAsync,
    LaunchControl,
    NoPair,
    ScopedAccesses,
    TensorCores,
    TmaEngine,
    TmemAccesses,
    TmemAllocators,
    WgmmaEngines,
    check_column,
)
from .facts import Fact, FactLog, Fault
from .machine import (
    LANES,
    WINDOW_BITS,
    BarrierOfEndedCta,
    BarrierUse,
    Blocking,
    Element,
    GlobalMemory,
    GridBarrier,
    Locator,
    Mask,
    Mbarrier,
    MisalignedBarrier,
    PerCluster,
    Registers,
    ResidentCta,
    RunningWarp,
    Signal,
    Wait,
    metadata_columns,
    offset_of,
)
from .ordering import Clocks, Operation


@dataclass(frozen=True)
class NoSharedMemory(Fact):
    """A shared::cluster address outside every CTA of the cluster."""

    address: int


@dataclass(frozen=True)
class BadCtaMask(Fact):
    """A CTA mask that is empty or includes CTAs beyond the cluster. ctas: the size of the cluster."""

    mask: int
    ctas: int


@dataclass(frozen=True)
class NoSuchRank(Fact):
    """mapa to a rank beyond the cluster. ctas: the size of the cluster."""

    rank: int
    ctas: int


@dataclass(frozen=True)
class ForeignLoadBarrier(Fact):
    """A TMA load into `into` that signals an unreachable barrier of another CTA, `owner`."""

    into: str
    barrier: Element
    owner: str


@dataclass(frozen=True)
class ForeignBarrier(Fact):
    """An mbarrier instruction with .shared::cta on a barrier of another CTA, `owner`. effect: of the instruction."""

    barrier: Element
    owner: str
    effect: BarrierEffect


@dataclass(frozen=True)
class ForeignStoreSource(Fact):
    """A TMA store or other bulk copy from another CTA's shared memory. what: its name, in words."""

    what: str = "a TMA store"


Value = TypeVar("Value")


@dataclass(frozen=True)
class ForeignCopyBarrier(Fact):
    """A bulk copy to CTA `into`, or st.async, with a barrier of another CTA, `owner`. what: which of the two."""

    what: str
    into: str
    barrier: Element
    owner: str


class Services:
    """The instruction interface of a `Gpu`."""

    spec: GpuSpec
    facts: FactLog
    locator: Locator
    memory: GlobalMemory
    tma: TmaEngine
    tensor: TensorCores
    wgmma: WgmmaEngines
    tmem: TmemAccesses
    allocators: TmemAllocators
    cp_async_groups: CpAsync
    scoped: ScopedAccesses
    grid_barrier: GridBarrier
    launches: LaunchControl
    cluster_copies: ClusterCopies

    # -- addresses -----------------------------------------------------------------------------------------------

    def cta_at(self, w: RunningWarp, address: int) -> tuple[ResidentCta, int]:
        """Return the (CTA, byte) of a shared::cluster address; raise a fault if no CTA of the cluster has it."""
        offset = address - w.window
        if 0 <= offset < w.cta.smem.size:
            return w.cta, offset
        rank, offset = address >> WINDOW_BITS, offset_of(address)
        ctas = w.cta.cluster.ctas
        if not 0 <= rank < len(ctas) or offset >= w.cta.smem.size:
            raise Fault(NoSharedMemory(w.origin, address))
        return ctas[rank], offset

    def mbarrier(self, w: RunningWarp, address: int) -> Mbarrier:
        """Return the mbarrier at a shared address."""
        own = w.cta.mbarriers.get(address - w.window)
        if own is not None:
            return own
        cta, offset = self.cta_at(w, address)
        if offset % 8:
            raise Fault(MisalignedBarrier(w.origin, offset))
        if not cta.alive:
            raise Fault(BarrierOfEndedCta(w.origin, cta.name))
        return cta.mbarriers.get(offset) or cta.mbarrier(offset)

    def own_mbarrier(self, w: RunningWarp, address: int, effect: BarrierEffect) -> Mbarrier:
        """Return the mbarrier at a shared address, and record a fact if it belongs to another CTA."""
        own = w.cta.mbarriers.get(address - w.window)
        if own is not None:
            return own
        barrier = self.mbarrier(w, address)
        if barrier.cta is not w.cta:
            self.facts.record(ForeignBarrier(w.origin, barrier.element, barrier.cta.name, effect))
        return barrier

    def peer_mbarriers(self, w: RunningWarp, address: int, cta_mask: int) -> list[Mbarrier]:
        """Return the mbarriers at one offset in each CTA of a mask."""
        offset = offset_of(address)
        size = len(w.cta.cluster.ctas)
        if cta_mask >> size or not cta_mask:
            raise Fault(BadCtaMask(w.origin, cta_mask, size))
        return [self.mbarrier(w, rank << WINDOW_BITS | offset) for rank in range(size) if cta_mask >> rank & 1]

    def map_shared_rank(self, w: RunningWarp, address: int, rank: int) -> int:
        """Execute mapa."""
        size = len(w.cta.cluster.ctas)
        if not 0 <= rank < size:
            raise Fault(NoSuchRank(w.origin, int(rank), size))
        return int(rank) << WINDOW_BITS | offset_of(address)

    def write_shared(self, w: RunningWarp, address: int, word: int) -> None:
        """Execute a 32-bit store by the warp."""
        cta, offset = self.cta_at(w, address)
        actor = w.stores
        actor.span = w.span
        actor.time = w.time
        actor.lanes = w.mask.owner
        cta.smem.shadow.write(offset, offset + 4, actor)
        cta.smem.near(4, offset, offset + 4)[offset // 4] = word

    # -- accesses with a memory order ----------------------------------------------------------------------------

    def load_memory(self, w: RunningWarp, access: MemoryAccess, address: Addresses) -> Loaded:
        return self.scoped.load(w, access, address)

    def load_registers(self, w: RunningWarp, access: MemoryAccess, address: Addresses, registers: Registers) -> None:
        self.scoped.load_registers(w, access, address, registers)

    def store_memory(self, w: RunningWarp, access: MemoryAccess, address: Addresses, values: Sequence[object]) -> None:
        self.scoped.store(w, access, address, values)

    def store_registers(self, w: RunningWarp, access: MemoryAccess, address: Addresses, registers: Registers) -> None:
        self.scoped.store_registers(w, access, address, registers)

    def update_memory(
        self, w: RunningWarp, access: MemoryAccess, address: Addresses, op: str, value: object, compare: object
    ) -> np.ndarray:
        return self.scoped.update(w, access, address, op, value, compare)

    def update_registers(
        self, w: RunningWarp, access: MemoryAccess, address: Addresses, op: str, value: Registers,
        compare: Registers | None, old: Registers | None, count: int,
    ) -> None:  # fmt: skip
        self.scoped.update_registers(w, access, address, op, (value, compare, old), count)

    def fence_memory(self, w: RunningWarp, sem: str, scope: str) -> None:
        """Execute fence.sem.scope for the active lanes."""
        self.scoped.fence(w, sem, scope)

    def fence_tensormap(self, w: RunningWarp, sem: str, scope: str, address: int | None) -> None:
        """Execute fence.proxy.tensormap.sem.scope. address: of the map that an acquire names."""
        self.scoped.fence(w, sem, scope)
        w.cta.cluster.order.record(self.tma.maps.fence, w, address)

    def published(self, w: RunningWarp) -> list[Clocks]:
        """The clocks of what the active lanes have released at the scope of the cluster or a wider one, by fences."""
        return self.scoped.published(w)

    def release_before(self, w: RunningWarp, scope: str) -> None:
        """A release at the scope of the cluster is a MEMBAR at that of the GPU: earlier writes come to the L2 first."""
        if scope == "cluster":
            self.scoped.fence(w, "release", scope)

    def acquire_after(self, w: RunningWarp, scope: str) -> None:
        """An acquire at the scope of the cluster empties the L1 of the SM."""
        if scope == "cluster":
            w.cta.cluster.order.record(w.agent.receive)

    # -- barriers ------------------------------------------------------------------------------------------------

    def warp_sync(self, w: RunningWarp) -> None:
        if w.converged("bar.warp.sync"):
            w.meet()

    def lanes_sync(self, w: RunningWarp, mask: int) -> None:
        w.named_lanes(mask, "bar.warp.sync")
        if w.mask is w.all_lanes:
            w.meet()
        else:
            w.lanes.meet_within(w.mask.word, w.agent)

    def bar_sync(self, w: RunningWarp, number: int, threads: int | None, *, aligned: bool = True) -> Blocking:
        number, threads = w.uniform(number, "the barrier"), w.uniform(threads, "the number of threads")
        return w.cta.named.sync(w, number, threads, aligned)

    def bar_arrive(self, w: RunningWarp, number: int, threads: int, *, aligned: bool = True) -> None:
        threads = w.uniform(threads, "the number of threads")
        w.cta.named.arrive(w, w.uniform(number, "the barrier"), threads, aligned)

    def bar_count(self, w: RunningWarp, number: int, holds: object) -> Generator[Wait, None, int]:
        """Execute bar.red: return the number of threads of the CTA for which the predicate holds."""
        lanes = np.broadcast_to(np.asarray(holds, bool), LANES)[w.mask.lanes]
        return w.cta.named.count(w, w.uniform(number, "the barrier"), int(lanes.sum()))

    def grid_sync(self, w: RunningWarp) -> Blocking:
        return self.grid_barrier.sync(w)

    def cluster_arrive(self, w: RunningWarp, *, releases: bool = True, aligned: bool = True) -> None:
        fenced = () if releases else w.cta.cluster.order.of(self._fenced, w) or ()
        w.cta.cluster.barrier.arrive(w, releases, aligned, fenced)

    def _fenced(self, w: RunningWarp) -> Sequence[Clocks]:
        """Return the clocks that a relaxed arrival at the cluster barrier releases through earlier fences."""
        cluster = w.cta.cluster
        clocks = self.scoped.fenced(w, "cluster")
        announced = [barrier for barrier in w.cta.initialised if barrier.init_by.announced_by(w)]
        if announced:
            alone, clock = cluster.causality.fork(w.agent, "mbarrier.init"), cluster.causality.transient_clock()
            clock.release_epoch(alone.index, alone.epoch)
            clocks.append(clock.clocks)
            for barrier in announced:
                barrier.init_by.announced = alone.index, alone.epoch
        return clocks

    def cluster_wait(self, w: RunningWarp, *, aligned: bool = True) -> Blocking:
        return w.cta.cluster.barrier.wait(w, aligned)

    def wgmma_of(self, warp: RunningWarp) -> WgmmaVerbs[Registers]:
        """Return the warp's interface to the tensor core of its warpgroup."""
        return self.wgmma.of(warp)

    # -- tensor memory and tensor core ---------------------------------------------------------------------------

    def tmem_alloc(self, w: RunningWarp, columns: int, cta_group: int) -> Generator[Wait, None, int]:
        return self.allocators.of(w.cta).alloc(w, columns, cta_group)

    def tmem_dealloc(self, w: RunningWarp, address: int, columns: int, cta_group: int) -> None:
        self.allocators.of(w.cta).dealloc(w, address, columns, cta_group)

    def tmem_relinquish(self, w: RunningWarp, cta_group: int) -> None:
        self.allocators.of(w.cta).use_group(w, cta_group)
        self.allocators.of(w.cta).relinquish(w)

    def tmem_load(
        self, w: RunningWarp, address: int, lanes: np.ndarray, columns: np.ndarray, registers: Registers
    ) -> None:
        self.tmem.of(w).load(w, address, lanes, columns, registers)

    def tmem_store(
        self, w: RunningWarp, address: int, lanes: np.ndarray, columns: np.ndarray, registers: Registers
    ) -> None:
        self.tmem.of(w).store(w, address, lanes, columns, registers)

    def tmem_wait(self, w: RunningWarp, loads: bool) -> None:
        self.tmem.of(w).wait(w, loads)

    def mma(
        self,
        w: RunningWarp,
        d: int,
        a: SmemDescriptor | TmemOperand,
        a_start: int,
        b: SmemDescriptor,
        b_start: int,
        shape: InstructionDescriptor,
        accumulate: bool,
        cta_group: int,
        scales: BlockScales | None = None,
        kept: Kept = PLAIN,
        metadata: int | None = None,
    ) -> None:
        """Execute tcgen05.mma: check the location of the accumulator, and issue the MMA."""
        self.allocators.of(w.cta).use_group(w, cta_group)
        ctas = self.pair_of(w) if cta_group == 2 else [w.cta]
        lanes = (0, 16) if shape.half else (0,)
        for cta in ctas:
            column = check_column(w, d, lanes)
            self.allocators.of(cta).check(w, column, shape.n // shape.parts(cta_group), Operation.TCGEN05_MMA)
            if isinstance(a, TmemOperand):
                column = check_column(w, a_start, (d >> 16,))
                self.allocators.of(cta).check(w, column, a.columns(shape), Operation.TCGEN05_MMA)
            if scales is not None:
                for address, rows in ((scales.a, TMEM_LANES), (scales.b, shape.n)):
                    self.allocators.of(cta).check(
                        w, check_column(w, address), -(-rows // THREADS_OF["warp"]), Operation.TCGEN05_MMA
                    )
            if metadata is not None:
                column, columns = check_column(w, metadata), metadata_columns(int(shape.a.itemsize))
                self.allocators.of(cta).check(w, column + (shape.selector or 0), columns, Operation.TCGEN05_MMA)
        self.tensor.mma(w, d, a, a_start, b, b_start, shape, bool(accumulate), cta_group, scales, kept, metadata)

    def series(self, w: RunningWarp, key: Hashable) -> list[float] | None:
        """Issue the memoised MMAs of a loop without the checks of `mma`, and return a list for their issue times.

        key: as in `TensorCores.series`. None if the loop must be executed, for example to report an error.
        """
        series = self.tensor.series(w, key)
        if series is None:
            return None
        first = series.first
        even = w.cta.rank & ~1
        ctas = w.cta.cluster.ctas[even : even + 2] if first.cta_group == 2 else (w.cta,)
        if len(ctas) < first.cta_group or self.allocators.of(w.cta).cta_group not in (0, None, first.cta_group):
            return None
        for cta in ctas:
            if not self.allocators.of(cta).holds(first.column, series.columns):
                return None
        self.allocators.of(w.cta).use_group(w, first.cta_group)
        return self.tensor.repeat(w, series)

    def tmem_copy(
        self,
        w: RunningWarp,
        address: int,
        layout: SmemDescriptor,
        start: int,
        shape: str,
        multicast: str,
        cta_group: int,
    ) -> None:
        """Execute tcgen05.cp: check the columns, and issue the copy."""
        self.allocators.of(w.cta).use_group(w, cta_group)
        column, (_, columns) = address & 0xFFFF, CP_SHAPES[shape, multicast]
        for cta in self.pair_of(w) if cta_group == 2 else [w.cta]:
            self.allocators.of(cta).check(w, column, columns, Operation.TCGEN05_CP)
        self.tensor.copy(w, column, address >> 16, layout, start, shape, multicast, cta_group)

    def pair_of(self, w: RunningWarp) -> Sequence[ResidentCta]:
        """Return the CTA pair of a warp."""
        ctas = w.cta.cluster.ctas[w.cta.rank & ~1 : (w.cta.rank & ~1) + 2]
        if len(ctas) < 2:
            raise Fault(NoPair(w.origin, ""))
        return ctas

    def commit(self, w: RunningWarp, barriers: Sequence[Mbarrier], cta_group: int) -> None:
        """Execute tcgen05.commit."""
        self.allocators.of(w.cta).use_group(w, cta_group)
        usable = [barrier for barrier in barriers if barrier.usable(w, BarrierUse.COMMIT)]
        self.tensor.commit(w, usable)

    # -- copies --------------------------------------------------------------------------------------------------

    def tma_load(
        self,
        w: RunningWarp,
        tensor_map: TensorMap | int,
        dst: int,
        bar: int,
        coords: Sequence[int],
        cta_mask: int,
        cta_group: int,
        rows: bool,
    ) -> None:
        """Execute cp.async.bulk.tensor to shared memory."""
        cta, offset = self.cta_at(w, dst)
        own = w.cta.mbarriers.get(bar - w.window) if cta is w.cta and not cta_mask else None
        if own is not None:
            if own.usable(w, BarrierUse.LOAD):
                self.tma.load(w, tensor_map, offset, _numbers(coords), ((cta, own),), rows)
            return
        barrier_cta, barrier_offset = self.cta_at(w, bar)
        if cta_mask:
            barriers = self.peer_mbarriers(w, bar, cta_mask)
            targets = [(b.cta, b) for b in barriers]
        else:
            if barrier_cta is not cta and not (cta_group == 2 and barrier_cta.rank ^ 1 == cta.rank):
                element = self.locator.element(barrier_offset)
                raise Fault(ForeignLoadBarrier(w.origin, cta.name, element, barrier_cta.name))
            known = barrier_cta.mbarriers.get(barrier_offset) if barrier_cta.alive else None
            targets = [(cta, known or self.mbarrier(w, bar))]
        usable = [barrier.usable(w, BarrierUse.LOAD) for _, barrier in targets]
        if all(usable):
            self.tma.load(w, tensor_map, offset, _numbers(coords), targets, rows)

    def tma_store(
        self, w: RunningWarp, tensor_map: TensorMap | int, src: int, coords: Sequence[int], reduce: str | None,
        rows: bool,
    ) -> None:
        """Execute cp.async.bulk.tensor to global memory."""
        cta, offset = self.cta_at(w, src)
        if cta is not w.cta:
            raise Fault(ForeignStoreSource(w.origin))
        self.tma.store(w, tensor_map, offset, _numbers(coords), reduce, rows)

    def cancel_cluster(self, w: RunningWarp, handle: int, bar: int, multicast: bool) -> None:
        """Execute clusterlaunchcontrol.try_cancel."""
        _, offset = self.cta_at(w, handle)
        every = (1 << len(w.cta.cluster.ctas)) - 1
        barriers = self.peer_mbarriers(w, bar, every) if multicast else [self.mbarrier(w, bar)]
        usable = [barrier.usable(w, BarrierUse.LOAD) for barrier in barriers]
        if all(usable):
            self.launches.ask(w, offset, barriers)

    def cancelled_cluster(self, w: RunningWarp, handle: int) -> int:
        """Execute clusterlaunchcontrol.query_cancel."""
        word = MemoryAccess("uint32", "weak", "cta", "shared", 1)
        words: list[Any] = [self.scoped.load(w, word, handle + 4 * i) for i in (0, 3)]
        first, found = words
        if not found:
            self.launches.failed(w)
        return first if found else NONE_CANCELLED

    def bulk_load(self, w: RunningWarp, dst: int, src: int, nbytes: int, bar: int, cta_mask: int) -> None:
        """Execute cp.async.bulk to shared memory."""
        cta, offset = self.cta_at(w, dst)
        slot, first = self._bytes_at(w, src, nbytes)
        targets = [(b.cta, b) for b in self.peer_mbarriers(w, bar, cta_mask)] if cta_mask else []
        if not cta_mask:
            barrier = self.mbarrier(w, bar)
            if barrier.cta is not cta:
                raise Fault(ForeignLoadBarrier(w.origin, cta.name, barrier.element, barrier.cta.name))
            targets = [(cta, barrier)]
        usable = [barrier.usable(w, BarrierUse.LOAD) for _, barrier in targets]
        if all(usable):
            self.tma.load_bytes(w, slot, first, nbytes, offset, targets)

    def bulk_copy(self, w: RunningWarp, dst: int, src: int, nbytes: int, bar: int) -> None:
        """Execute cp.async.bulk from shared to shared memory."""
        (cta, target), (own, source) = self.cta_at(w, dst), self.cta_at(w, src)
        if own is not w.cta:
            raise Fault(ForeignStoreSource(w.origin, "a bulk copy"))
        barrier = self.mbarrier(w, bar)
        if barrier.cta is not cta:
            raise Fault(ForeignCopyBarrier(w.origin, "a bulk copy", cta.name, barrier.element, barrier.cta.name))
        if barrier.usable(w, BarrierUse.LOAD):
            self.cluster_copies.copy(w, source, target, nbytes, barrier)

    def store_async(
        self, w: RunningWarp, access: MemoryAccess, address: Addresses, registers: Registers, bar: Addresses
    ) -> None:
        """Execute st.async, for one barrier at a time."""
        lanes, bars = w.mask.lanes, np.broadcast_to(bar, (LANES,))
        for each in np.unique(bars[lanes]).tolist():
            some, barrier = lanes[bars[lanes] == each], self.mbarrier(w, each)
            for into in {self.cta_at(w, int(a))[0] for a in np.broadcast_to(address, (LANES,))[some]}:
                if into is not barrier.cta:
                    what = ForeignCopyBarrier(w.origin, "st.async", into.name, barrier.element, barrier.cta.name)
                    raise Fault(what)
            if barrier.usable(w, BarrierUse.ARRIVE):
                self.cluster_copies.store(w, access, address, registers, some, barrier)

    def bulk_store(
        self, w: RunningWarp, dst: int, src: int, nbytes: int, reduce: str | None, dtype: str
    ) -> None:
        """Execute cp.async.bulk to global memory, or cp.reduce.async.bulk."""
        cta, offset = self.cta_at(w, src)
        if cta is not w.cta:
            raise Fault(ForeignStoreSource(w.origin))
        slot, first = self._bytes_at(w, dst, nbytes)
        self.tma.store_bytes(w, slot, first, nbytes, offset, reduce, dtype)

    def _bytes_at(self, w: RunningWarp, address: int, nbytes: int) -> tuple[int, int]:
        """Return the (slot, byte) of a global range; raise a fault unless one argument contains all of it."""
        found, last = self.memory.locate(address), self.memory.locate(address + max(nbytes, 1) - 1)
        if found is None or last is None or found[0] is not last[0]:
            raise Fault(BadAddress(w.origin, "global", address, nbytes))
        return found[0].slot, found[1]

    def bulk_commit(self, w: RunningWarp) -> None:
        for lane in w.mask.lanes.tolist():
            if self.tma.issued(w, lane):
                self.tma.commit(w, lane)

    def bulk_wait(self, w: RunningWarp, count: int, read: bool) -> Blocking:
        active = w.mask
        for lane in active.lanes.tolist():
            if self.tma.issued(w, lane):
                w.select(active if active.count == 1 else Mask.of(1 << lane))  # only that thread has awaited them
                yield from self.tma.wait(w, lane, count, read)
        w.select(active)

    def cp_async(self, w: RunningWarp, dst: object, src: object, nbytes: int, size: object = None) -> None:
        self.cp_async_groups.of(w).copy(w, dst, src, nbytes, size)

    def cp_async_commit(self, w: RunningWarp) -> None:
        self.cp_async_groups.of(w).commit(w)

    def cp_async_wait(self, w: RunningWarp, count: int) -> None:
        self.cp_async_groups.of(w).wait(w, count)

    def cp_async_arrive(self, w: RunningWarp, bar: int, more: bool) -> None:
        self.cp_async_groups.of(w).arrive(w, self.own_mbarrier(w, bar, BarrierEffect.ARRIVE), more)

    def complete_bytes(self, w: RunningWarp, bar: int, nbytes: int) -> None:
        """Execute mbarrier.complete_tx, which releases nothing."""
        barrier = self.mbarrier(w, bar)
        if barrier.usable(w, BarrierUse.EXPECT):
            agent = w.cta.cluster.causality.fork(w.agent, "complete_tx")
            time = w.time + (self.spec.remote_latency if barrier.cta is not w.cta else 0)
            barrier.complete_tx(w.cta, agent, nbytes, time, Signal.COMPLETE_TX, w.place, w.span)
            w.agent.acquire_epoch(agent.index, agent.epoch)  # it is not asynchronous
            w.cta.cluster.causality.finish(agent)

    def fence_tensor_core(self, w: RunningWarp) -> None:
        """Execute tcgen05.fence::before_thread_sync for the thread's tensor-core operations."""
        self.tensor.fence(w)

    # -- lanes ---------------------------------------------------------------------------------------------------

    def shuffle(self, w: RunningWarp, value: Value, source: np.ndarray, mask: object = None) -> Value:
        """Return each lane's value from the lane in `source`; the last axis is the lanes.

        mask: the executing lanes, None for the whole warp. The value of any other lane is unspecified.
        """
        if mask is None:
            w.converged("shfl.sync")
        else:
            w.named_lanes(mask, "shfl.sync")
        values: Any = value
        if not isinstance(value, np.ndarray) or not values.ndim:
            return values
        moved = values[..., source]
        if mask is not None and w.mask is not w.all_lanes:
            strangers = ~np.isin(source, w.mask.lanes)
            moved[..., strangers] = np.nan if moved.dtype.kind == "f" else 0
        return moved

    def nanoseconds(self, w: RunningWarp) -> int:
        """Return %globaltimer, counted from the launch."""
        return int(w.time / self.spec.clock_ghz)

    def cycles(self, w: RunningWarp) -> int:
        """Return %clock64, counted from the launch."""
        return int(w.time)

    def sleep(self, w: RunningWarp, nanoseconds: int) -> None:
        """Execute nanosleep."""
        w.time += float(np.max(nanoseconds)) * self.spec.clock_ghz

    def set_max_registers(self, w: RunningWarp, count: int, increase: bool) -> Blocking:
        """Execute setmaxnreg."""
        yield from w.cta.registers.set(w, count, increase)


def _numbers(coords: Sequence[Any]) -> list[Any]:
    """Convert coordinates to Python numbers; coordinates that differ between batched clusters remain arrays."""
    return [coord if type(coord) is int or isinstance(coord, PerCluster) else int(coord) for coord in coords]
