"""The tensor memory accelerator (TMA): asynchronous copies of boxes between global and shared memory.

A load reads its box when it completes, and a store reads shared memory at the last moment before `wait_group.read`
would allow reuse of the source, so that a missing wait shows as wrong data. Each copy is its own agent, ordered after
everything that happens before its issue (PTX ISA: "cp.async.bulk.tensor", "Async proxy").
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tirx_mini.hardware import TMA_GLOBAL_ALIGN
from tirx_mini.ir import TensorMap

from ..facts import Fault, Origin
from ..machine import Blocking, Cta, Gpu, Mbarrier, Signal, Warp
from ..ordering import Epochs, Operation, Unequal
from .batched import store_each
from .bulk_copies import BulkCopy, BulkGroups, BulkWait, Incoming, actor_of, move_load, move_store, take_store
from .maps_in_memory import TensormapProxy, map_in_memory
from .tensor_map import BoxCopier, LinearCopier, RowsCopier, Strips, broken_rule
from .tma_rules import (
    BadBulkSize,
    BadTensorMap,
    BoxOutOfSharedMemory,
    GroupOfOtherThread,
    LoadAtExit,
    MisalignedBox,
    MisalignedBoxStart,
    StoreAtExit,
    StoreBeforeTensor,
)


class TmaEngine:
    """The TMA units of the GPU. strips: cached numbers of tensors, by tensor map, for all runs of a launch."""

    def __init__(self, gpu: Gpu, strips: dict[str, Strips] | None = None) -> None:
        self.gpu = gpu
        self.maps = TensormapProxy(gpu)
        self._strips: dict[str, Strips] = {} if strips is None else strips
        self._copiers: dict[str, BoxCopier] = {}
        self._groups: dict[Warp, dict[int, BulkGroups]] = {}
        self._incoming: dict[Cta, dict[int, Incoming]] = {}

    def groups(self, w: Warp, lane: int) -> BulkGroups:
        """Return the bulk groups of one thread."""
        lanes = self._groups.setdefault(w, {})
        groups = lanes.get(lane)
        if groups is None:
            groups = lanes[lane] = BulkGroups()
        return groups

    def close(self) -> None:
        """Drop the loaded boxes, which refer to their copiers."""
        for copier in self._copiers.values():
            copier.close()

    def copier(self, w: Warp, given: TensorMap | int, rows: bool = False) -> BoxCopier:
        """Return the decoded tensor map, checked once. rows: for gather4 and scatter4.

        given: an argument of the kernel, or the address of a tensor map in global memory.
        """
        tensor_map = given if isinstance(given, TensorMap) else map_in_memory(w, given, self.maps)
        name = f"{tensor_map.var.name} rows" if rows else tensor_map.var.name
        copier = self._copiers.get(name)
        if copier is None:
            broken = broken_rule(tensor_map, rows)
            if broken is not None:
                raise Fault(BadTensorMap(w.origin, tensor_map, broken))
            slot = next(s for s, b in self.gpu.memory.buffers.items() if b.name == tensor_map.buffer.name)
            kind = RowsCopier if rows else BoxCopier
            copier = kind(tensor_map, self.gpu.memory, slot, self._strips.setdefault(name, {}))
            self._copiers[name] = copier
        return copier

    # -- loads ---------------------------------------------------------------------------------------------------

    def load(
        self,
        w: Warp,
        tensor_map: TensorMap | int,
        offset: int,
        coords: Sequence[int],
        bars: Sequence[tuple[Cta, Mbarrier]],
        rows: bool,
    ) -> None:
        """Load the box at `coords` to byte `offset` in each CTA of `bars`, and complete its bytes on the barrier.

        rows: whether `coords` are a column and four rows.
        """
        self._load(w, self.copier(w, tensor_map, rows), offset, coords, bars)

    def load_bytes(
        self, w: Warp, slot: int, first: int, nbytes: int, offset: int, bars: Sequence[tuple[Cta, Mbarrier]]
    ) -> None:
        """Load bytes of an argument, from `first` on."""
        self._load(w, self._linear(w, slot, first, nbytes, offset, "uint8"), offset, (first,), bars)

    def _linear(self, w: Warp, slot: int, first: int, nbytes: int, offset: int, dtype: str) -> BoxCopier:
        """Return the copier of a byte range. Raises a fault if the size or an address is not a multiple of 16."""
        for what, number in (("size", nbytes), ("global address", first), ("shared address", offset)):
            if number % TMA_GLOBAL_ALIGN or number < 0:
                raise Fault(BadBulkSize(w.origin, what, number))
        name = f"{slot} {nbytes} {dtype}"
        if name not in self._copiers:
            self._copiers[name] = LinearCopier(self.gpu.memory, slot, nbytes, dtype)
        return self._copiers[name]

    def _load(
        self, w: Warp, copier: BoxCopier, offset: int, coords: Sequence[int], bars: Sequence[tuple[Cta, Mbarrier]]
    ) -> None:
        self._check_place(w, copier, offset, source=False)
        self._check_start(w, copier, coords[0])
        if w.dependence is not None:
            w.dependence.check(w, Operation.TMA_LOAD, copier.name, writes=False)
        cluster = w.cta.cluster
        parts = [cluster.causality.fork(w.agent, "TMA load") for _ in bars]
        copy = BulkCopy(w.cta, w.warp_id, parts[0], copier, tuple(coords), offset, w.place, w.span, w.time, bars)
        copy.parts = parts
        cluster.order.record(self._expect, copy)
        cluster.time.begin(self.gpu.clock, w.time, copy, self._start_load, self._land_load, copy)

    def _expect(self, copy: BulkCopy) -> None:
        """Track a load, which must complete before the receiving CTAs end."""
        for (cta, _), agent in zip(copy.targets, copy.parts, strict=True):
            incoming = Incoming(agent.epoch, copy.copier.name, copy.role, copy.span)
            self._incoming.setdefault(cta, {})[agent.index] = incoming

    def _start_load(self, copy: BulkCopy) -> None:
        gpu = self.gpu
        nbytes = copy.copier.box_bytes
        gpu.count("tma_load_bytes", nbytes)
        key = (copy.copier.slot, copy.coords)
        sm = copy.cta.sm.traffic
        gpu.traffic.load_tile(sm, key, nbytes, lambda first, last: self._fill(copy, first, last))

    def _fill(self, copy: BulkCopy, first: float, last: float) -> None:
        """Transfer the bytes to the SM from `first` to `last`, and into shared memory of each receiving CTA."""
        gpu, spec = self.gpu, self.gpu.spec
        nbytes = copy.copier.box_bytes
        there = last
        for cta, _ in copy.targets:
            written = gpu.traffic.write_shared(cta.sm.traffic, first, nbytes)
            if written > there:
                there = written
        done = there + spec.tma_latency - spec.l2_latency
        copy.moved = first, last
        gpu.clock.at(done, copy, self._land_load, copy)

    def _land_load(self, copy: BulkCopy) -> None:
        copier, now, recorder = copy.copier, self.gpu.clock.now, self.gpu.recorder
        if recorder is not None:
            recorder.loaded(copy)
        copy.cta.cluster.values.apply(move_load, copy)
        for (_, barrier), agent in zip(copy.targets, copy.parts, strict=True):
            if barrier.cta.alive and barrier.expected:
                barrier.complete_tx(copy.cta, agent, copier.box_bytes, now, Signal.TMA_LOAD, copy.role, copy.span)
        for agent in copy.parts:
            copy.cta.cluster.causality.finish(agent)

    # -- stores --------------------------------------------------------------------------------------------------

    def store(
        self, w: Warp, tensor_map: TensorMap | int, offset: int, coords: Sequence[int], reduce: str | None, rows: bool
    ) -> None:
        """Store from byte `offset` of the CTA's shared memory to the box at `coords`, in the thread's open bulk
        group."""
        self._store(w, self.copier(w, tensor_map, rows), offset, coords, reduce)

    def store_bytes(
        self, w: Warp, slot: int, first: int, nbytes: int, offset: int, reduce: str | None, dtype: str
    ) -> None:
        """Store to bytes of an argument, from `first` on. dtype: of the elements of a reduction."""
        copier = self._linear(w, slot, first, nbytes, offset, dtype)
        self._store(w, copier, offset, (first // copier.dtype.itemsize,), reduce)

    def _store(self, w: Warp, copier: BoxCopier, offset: int, coords: Sequence[int], reduce: str | None) -> None:
        self._check_place(w, copier, offset, source=True)
        self._check_start(w, copier, coords[0])
        if any(coord < 0 for coord in coords):
            raise Fault(StoreBeforeTensor(w.origin, copier.name, tuple(coords[::-1])))
        if w.dependence is not None:
            w.dependence.check(w, Operation.TMA_STORE, copier.name, writes=True)
        agent = w.cta.cluster.causality.fork(w.agent, "TMA store")
        copy = BulkCopy(w.cta, w.warp_id, agent, copier, tuple(coords), offset, w.place, w.span, w.time, reduce=reduce)
        copy.groups = self.groups(w, w.lane)
        copy.groups.open.append(copy)
        copy.groups.elected = w.mask.elected
        w.cta.cluster.time.begin(self.gpu.clock, w.time, copy, self._start_store, self._read_store, copy)

    def _start_store(self, copy: BulkCopy) -> None:
        gpu, sm = self.gpu, copy.cta.sm
        spec = gpu.spec
        begin = max(gpu.clock.now, sm.stores_free)
        nbytes = copy.copier.box_bytes
        moved = gpu.traffic.read_shared(sm.traffic, begin, nbytes)
        sm.stores_free = max(begin + nbytes / spec.tma_store_bytes_per_cycle, moved)
        copy.read_time = sm.stores_free + gpu.traffic.jitter(spec.tma_store_read_latency)
        passed = gpu.traffic.store_tile(sm.traffic, begin, (copy.copier.slot, copy.coords), nbytes)
        latency = spec.tma_store_latency - spec.l2_latency + spec.l2_far_latency  # of the last lines' acknowledgement
        copy.write_time = max(copy.read_time, passed) + latency
        gpu.lasts(copy.write_time)
        gpu.count("tma_store_bytes", nbytes)
        copy.moved = begin, copy.read_time
        gpu.clock.at(copy.read_time, copy, self._read_store, copy)

    def _read_store(self, copy: BulkCopy) -> None:
        data: np.ndarray | None = None
        if copy.cta.cluster.width:
            if copy.reduce is not None:
                raise Unequal
            store_each(copy.copier, copy.coords, copy.cta, copy.offset, lambda number: actor_of(copy, number))
        else:
            data = copy.cta.cluster.values.of(take_store, copy)
        copy.read_epoch = copy.agent.epoch
        copy.agent.advance()
        copy.read_done = True
        self._progress(copy)
        self.gpu.clock.at(copy.write_time, copy, self._write_store, copy, data)

    def _write_store(self, copy: BulkCopy, data: np.ndarray | None) -> None:
        if data is not None:
            move_store(copy, data)
        copy.write_done = True
        if self.gpu.recorder is not None:
            self.gpu.recorder.stored(copy)
        self._progress(copy)
        copy.cta.cluster.causality.finish(copy.agent)

    def _progress(self, copy: BulkCopy) -> None:
        groups = copy.groups
        if groups is None or groups.waiter is None:
            return
        warp = groups.waiter.warp
        if self._pending(groups, *groups.needs) is None:
            groups.waiter.over = True
            groups.waiter = None
            self.gpu.wake(warp, self.gpu.clock.now)

    # -- bulk groups ---------------------------------------------------------------------------------------------

    def commit(self, w: Warp, lane: int) -> None:
        """Execute cp.async.bulk.commit_group for one thread."""
        groups = self.groups(w, lane)
        self._check_thread(w, groups, groups.open, waits=False)
        groups.committed.append(groups.open)
        groups.open = []

    def _check_thread(self, w: Warp, groups: BulkGroups, copies: Sequence[BulkCopy], waits: bool) -> None:
        """Record a thread that issued the copies only if elect.sync chose the lowest lane."""
        if copies and groups.elected != w.mask.elected and w.all_lanes.count > 1:
            self.gpu.facts.record(GroupOfOtherThread(w.origin, waits, copies[-1].span))

    def issued(self, w: Warp, lane: int) -> bool:
        """Return whether the thread has bulk groups or open copies."""
        return lane in self._groups.get(w, {})

    @staticmethod
    def _pending(groups: BulkGroups, count: int, read: bool) -> BulkCopy | None:
        """Return an incomplete copy of a group older than the `count` most recent ones, or None."""
        for group in groups.committed[: len(groups.committed) - count]:
            for copy in group:
                if not (copy.read_done if read else copy.write_done):
                    return copy
        return None

    def wait(self, w: Warp, lane: int, count: int, read: bool) -> Blocking:
        """Execute cp.async.bulk.wait_group{.read}: block until at most `count` groups of the thread are pending."""
        groups = self.groups(w, lane)
        for group in groups.committed[-1:]:
            self._check_thread(w, groups, group, waits=True)
        while self._pending(groups, count, read) is not None:
            groups.needs = (count, read)
            groups.waiter = BulkWait(w, w.time, w.span, read)
            yield groups.waiter
        for group in groups.committed[: len(groups.committed) - count]:
            for copy in group:
                w.agent.acquire_epoch(copy.agent.index, copy.read_epoch if read else copy.read_epoch + 1)
                w.time = max(w.time, copy.read_time if read else copy.write_time)
        self._forget(w, groups, count, read)

    @staticmethod
    def _forget(w: Warp, groups: BulkGroups, count: int, read: bool) -> None:
        """Drop groups whose copies are complete."""
        while len(groups.committed) > count and all(copy.write_done for copy in groups.committed[0]):
            for copy in groups.committed.pop(0):
                groups.finished[copy.agent.index] = copy.read_epoch + 1
        if not read:
            for agent, epoch in groups.finished.items():
                w.agent.acquire_epoch(agent, epoch)
            groups.finished.clear()

    # -- ends ----------------------------------------------------------------------------------------------------

    def cta_ended(self, cta: Cta, ordered: Epochs) -> None:
        """Record copies that may still use the shared memory of an ending CTA."""
        facts = self.gpu.facts
        for agent, load in self._incoming.pop(cta, {}).items():
            if ordered.item(agent) < load.epoch:
                facts.record(LoadAtExit(Origin(load.role, load.role, cta.name, load.span), load.buffer))
        for warp in cta.warps:
            for groups in self._groups.pop(warp, {}).values():
                for copy in (copy for group in (*groups.committed, groups.open) for copy in group):
                    if not copy.read_done or not warp.agent.happens_after(copy.agent.index, copy.read_epoch):
                        facts.record(StoreAtExit(Origin(copy.role, copy.role, cta.name, copy.span)))

    # -- checks --------------------------------------------------------------------------------------------------

    def _check_place(self, w: Warp, copier: BoxCopier, offset: int, source: bool) -> None:
        if offset % copier.smem_alignment:
            element = self.gpu.locator.element(offset)
            raise Fault(MisalignedBox(w.origin, source, element, offset, copier.smem_alignment))
        if not 0 <= offset <= w.cta.smem.size - copier.box_bytes:
            raise Fault(BoxOutOfSharedMemory(w.origin, copier.box_bytes, offset, w.cta.smem.size))

    @staticmethod
    def _check_start(w: Warp, copier: BoxCopier, column: int) -> None:
        """Check that a box begins at a multiple of 16 bytes in its row of the tensor; Hopper aborts the kernel
        otherwise.

        This also holds outside the tensor; the abort is an illegal instruction.
        """
        size = copier.dtype.itemsize
        if column * size % TMA_GLOBAL_ALIGN:
            raise Fault(MisalignedBoxStart(w.origin, copier.name, column, size, TMA_GLOBAL_ALIGN))
