"""The tensor memory accelerator: copies of boxes between global and shared memory, on their own time.

A load gathers its box when it completes, and a store reads shared memory at the last moment before `wait_group.read`
would let the source be reused: a missing wait shows as wrong data. Each copy is an agent of its own, that knows what
its issuer knew (PTX ISA: "cp.async.bulk.tensor", "Async proxy").
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tirx_mini.ir import Span, TensorMap

from .barriers import Mbarrier, Wait
from .causality import Agent
from .shadow import ASYNC, Actor
from .tensor_map import BoxCopier, check_tensor_map

if TYPE_CHECKING:
    from .machine import Cta, Gpu
    from .warp import Warp


@dataclass
class BulkCopy:
    """A copy in flight. targets: for a load, the CTAs that receive it, each with the barrier it signals there."""

    cta: Cta
    agent: Agent
    copier: BoxCopier
    coords: tuple[int, ...]
    offset: int
    role: str
    span: Span | None
    issued: float
    targets: tuple[tuple[Cta, Mbarrier], ...] = ()
    groups: BulkGroups | None = None
    read_done: bool = False
    write_done: bool = False
    read_time: float = 0.0
    write_time: float = 0.0
    read_epoch: int = 0
    reduce: str | None = None


@dataclass
class BulkGroups:
    """The bulk groups of one thread: `open` gathers copies until the next commit (PTX ISA: "bulk async-group")."""

    open: list[BulkCopy] = field(default_factory=list)
    committed: list[list[BulkCopy]] = field(default_factory=list)
    finished: dict[int, int] = field(default_factory=dict)
    """Agents and epochs of copies that are done, of which the thread has not waited for the writes."""
    waiter: Wait | None = None
    needs: tuple[int, bool] = (0, False)


@dataclass(frozen=True)
class Incoming:
    """A TMA load into a CTA's shared memory: the epoch of its agent, what it loads, who issued it and where."""

    epoch: int
    buffer: str
    role: str
    span: Span | None


GRANULE = 16
"""Bytes that the start of a box in global memory is a multiple of."""


class TmaEngine:
    """The TMA units of the GPU."""

    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu
        self._copiers: dict[str, BoxCopier] = {}

    def copier(self, w: Warp, tensor_map: TensorMap) -> BoxCopier:
        """The decoded tensor map, checked once."""
        name = tensor_map.var.name
        copier = self._copiers.get(name)
        if copier is None:
            problem = check_tensor_map(tensor_map)
            if problem:
                raise w.fault(
                    "bad-tensor-map",
                    f"the tensor map of {tensor_map.buffer.name} {problem}",
                    buffer=tensor_map.buffer.name,
                    rule="CUDA driver API: cuTensorMapEncodeTiled",
                )
            slot = next(s for s, b in self.gpu.memory.buffers.items() if b.name == tensor_map.buffer.name)
            copier = self._copiers[name] = BoxCopier(tensor_map, self.gpu.memory, slot)
        return copier

    # -- loads ---------------------------------------------------------------------------------------------------

    def load(
        self,
        w: Warp,
        tensor_map: TensorMap,
        offset: int,
        coords: Sequence[int],
        bars: Sequence[tuple[Cta, Mbarrier]],
    ) -> None:
        """Copy the box at `coords` to byte `offset` in each CTA of `bars`, and complete its bytes on the barrier."""
        copier = self.copier(w, tensor_map)
        self._check_place(w, copier, offset, "destination")
        self._check_start(w, copier, coords[0])
        if w.dependence is not None:
            w.dependence.check(w, "TMA load", copier.name, writes=False)
        agent = w.cta.cluster.causality.fork(w.agent, "TMA load")
        copy = BulkCopy(w.cta, agent, copier, tuple(coords), offset, w.place, w.span, w.time, targets=tuple(bars))
        for cta, _ in bars:
            cta.incoming[agent.index] = Incoming(agent.epoch, copier.name, w.place, w.span)
        self.gpu.clock.at(w.time, self._start_load, copy)

    def _start_load(self, copy: BulkCopy) -> None:
        gpu = self.gpu
        begin, nbytes = gpu.clock.now, copy.copier.box_bytes
        gpu.count("tma_load_bytes", nbytes)
        key = (copy.copier.slot, copy.coords)
        gpu.traffic.load_tile(copy.cta.sm, key, nbytes, lambda first, last: self._fill(copy, begin, first, last))

    def _fill(self, copy: BulkCopy, begin: float, first: float, last: float) -> None:
        """The bytes come to the SM from `first` to `last`, and into shared memory, in each CTA that receives them."""
        gpu, spec = self.gpu, self.gpu.spec
        nbytes = copy.copier.box_bytes
        written = max(gpu.traffic.shared(cta.sm, first, nbytes) for cta, _ in copy.targets)
        done = max(last, written) + spec.tma_latency - spec.l2_latency
        if gpu.trace is not None:
            gpu.trace.append((f"{copy.cta.name} TMA", f"load {copy.copier.name}", begin, done, copy.span))
        gpu.clock.at(done, self._land_load, copy)

    def _land_load(self, copy: BulkCopy) -> None:
        copier = copy.copier
        actor = Actor(copy.agent, copy.cta.cluster.index, ASYNC, "TMA load", copy.role, copy.span, copy.issued)
        copier.read_shadow(copy.coords, actor)
        data = copier.read(copy.coords)
        now = self.gpu.clock.now
        for cta, _ in copy.targets:
            if not cta.alive:
                continue
            actor.same = lambda cta=cta: copier.holds(cta.smem, copy.offset, data)
            cta.smem.shadow.write(copy.offset, copy.offset + copier.box_bytes, actor)
            copier.write_smem(cta.smem, copy.offset, data)
        for _, barrier in copy.targets:
            if barrier.cta.alive and barrier.expected:
                barrier.complete_tx(copy.cta, copy.agent, copier.box_bytes, now, copy.role, copy.span)
        copy.cta.cluster.causality.finish(copy.agent)

    # -- stores --------------------------------------------------------------------------------------------------

    def store(
        self, w: Warp, tensor_map: TensorMap, offset: int, coords: Sequence[int], reduce: str | None = None
    ) -> None:
        """Copy byte `offset` of the CTA's shared memory to the box at `coords`, in the thread's open bulk group."""
        copier = self.copier(w, tensor_map)
        self._check_place(w, copier, offset, "source")
        self._check_start(w, copier, coords[0])
        if min(coords) < 0:
            raise w.fault(
                "illegal-instruction",
                f"a TMA store to {copier.name} begins before the tensor, at {tuple(coords[::-1])}",
                rule="seen on an H100, for every kind of box: an illegal instruction",
                hint="a store may stick out past the end of the tensor only; a load also before its start",
            )
        if w.dependence is not None:
            w.dependence.check(w, "TMA store", copier.name, writes=True)
        agent = w.cta.cluster.causality.fork(w.agent, "TMA store")
        copy = BulkCopy(w.cta, agent, copier, tuple(coords), offset, w.place, w.span, w.time, reduce=reduce)
        copy.groups = w.bulk_groups(w.lane)
        copy.groups.open.append(copy)
        self.gpu.clock.at(w.time, self._start_store, copy)

    def _start_store(self, copy: BulkCopy) -> None:
        gpu, sm = self.gpu, copy.cta.sm
        spec = gpu.spec
        begin = max(gpu.clock.now, sm.stores_free)
        nbytes = copy.copier.box_bytes
        sm.stores_free = max(begin + nbytes / spec.tma_store_bytes_per_cycle, gpu.traffic.shared(sm, begin, nbytes))
        copy.read_time = sm.stores_free + gpu.traffic.jitter(spec.tma_store_read_latency)
        passed = gpu.traffic.store_tile(sm, begin, (copy.copier.slot, copy.coords), nbytes)
        copy.write_time = max(copy.read_time, passed) + spec.tma_store_latency - spec.l2_latency
        gpu.lasts(copy.write_time)
        gpu.count("tma_store_bytes", nbytes)
        if gpu.trace is not None:
            gpu.trace.append((f"{copy.cta.name} TMA", f"store {copy.copier.name}", begin, copy.write_time, copy.span))
        gpu.clock.at(copy.read_time, self._read_store, copy)

    def _read_store(self, copy: BulkCopy) -> None:
        actor = Actor(copy.agent, copy.cta.cluster.index, ASYNC, "TMA store", copy.role, copy.span, copy.issued)
        smem = copy.cta.smem
        smem.shadow.read(copy.offset, copy.offset + copy.copier.box_bytes, actor)
        data = copy.copier.read_smem(smem, copy.offset)
        copy.read_epoch = copy.agent.epoch
        copy.agent.advance()
        copy.read_done = True
        self._progress(copy)
        self.gpu.clock.at(copy.write_time, self._write_store, copy, data)

    def _write_store(self, copy: BulkCopy, data: np.ndarray) -> None:
        actor = Actor(copy.agent, copy.cta.cluster.index, ASYNC, "TMA store", copy.role, copy.span, copy.issued)
        if copy.reduce is None:
            actor.same = lambda: copy.copier.matches(copy.coords, data)
            copy.copier.write_shadow(copy.coords, actor)
            copy.copier.write(copy.coords, data)
        else:
            copy.copier.add(copy.coords, data)
        copy.write_done = True
        self._progress(copy)
        copy.cta.cluster.causality.finish(copy.agent)

    def _progress(self, copy: BulkCopy) -> None:
        groups = copy.groups
        if groups is None or groups.waiter is None:
            return
        warp = groups.waiter.warp
        if self._pending(groups, *groups.needs) is None:
            groups.waiter = None
            self.gpu.wake(warp, self.gpu.clock.now)

    # -- bulk groups ---------------------------------------------------------------------------------------------

    def commit(self, w: Warp, lane: int) -> None:
        """cp.async.bulk.commit_group by one thread."""
        groups = w.bulk_groups(lane)
        groups.committed.append(groups.open)
        groups.open = []

    @staticmethod
    def _pending(groups: BulkGroups, count: int, read: bool) -> BulkCopy | None:
        """A copy that is not done in a group older than the `count` most recent ones."""
        for group in groups.committed[: len(groups.committed) - count]:
            for copy in group:
                if not (copy.read_done if read else copy.write_done):
                    return copy
        return None

    def wait(self, w: Warp, lane: int, count: int, read: bool) -> Generator[Wait, None, None]:
        """cp.async.bulk.wait_group{.read}: block until at most `count` groups of the thread are unfinished."""
        groups = w.bulk_groups(lane)
        while self._pending(groups, count, read) is not None:
            groups.needs = (count, read)
            suffix = " to have read their source" if read else " to complete"
            groups.waiter = Wait("bulk-group", w, f"its TMA stores{suffix}", None, None, w.time, w.span)
            yield groups.waiter
        for group in groups.committed[: len(groups.committed) - count]:
            for copy in group:
                w.agent.learn_epoch(copy.agent.index, copy.read_epoch if read else copy.read_epoch + 1)
                w.time = max(w.time, copy.read_time if read else copy.write_time)
        self._forget(w, groups, count, read)

    @staticmethod
    def _forget(w: Warp, groups: BulkGroups, count: int, read: bool) -> None:
        """Drop groups whose copies are done."""
        while len(groups.committed) > count and all(copy.write_done for copy in groups.committed[0]):
            for copy in groups.committed.pop(0):
                groups.finished[copy.agent.index] = copy.read_epoch + 1
        if not read:
            for agent, epoch in groups.finished.items():
                w.agent.learn_epoch(agent, epoch)
            groups.finished.clear()

    # -- checks --------------------------------------------------------------------------------------------------

    def _check_place(self, w: Warp, copier: BoxCopier, offset: int, what: str) -> None:
        if offset % 128:
            raise w.fault(
                "misaligned-access",
                f"the shared-memory {what} of a TMA copy, {self.gpu.locator.name(offset)}, is at byte "
                f"{offset}; it must be at a multiple of 128",
                rule="PTX ISA: cp.async.bulk.tensor",
                hint="allocate it with the layout of tma_shared_layout, or with align=1024",
            )
        if not 0 <= offset <= w.cta.smem.size - copier.box_bytes:
            raise w.fault(
                "out-of-bounds",
                f"a TMA copy of {copier.box_bytes} bytes at byte {offset} leaves the shared memory of the "
                f"CTA, {w.cta.smem.size} bytes",
                rule="PTX ISA: cp.async.bulk.tensor",
            )

    @staticmethod
    def _check_start(w: Warp, copier: BoxCopier, column: int) -> None:
        """A box begins at a multiple of 16 bytes in its row of the tensor, also outside of it: Hopper ends the kernel
        with an illegal instruction where it does not.
        """
        size = copier.dtype.itemsize
        if column * size % GRANULE:
            raise w.fault(
                "misaligned-access",
                f"a TMA copy of {copier.name} begins at element {column} of its rows, byte {column * size}; it must be "
                f"at a multiple of {GRANULE} bytes",
                rule="PTX ISA: tensor, bounding box",
                hint=f"let the last coordinate be a multiple of {GRANULE // size} elements",
            )
