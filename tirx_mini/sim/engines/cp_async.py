"""cp.async: small copies per thread, in groups that the thread waits for (PTX ISA: "cp.async").

The copies of one warp between two commits form one agent: until the wait, they are an unordered read of global memory
and an unordered write of shared memory. Bytes move as late as this allows.
"""

from __future__ import annotations

import numpy as np

from tirx_mini.ir import Span
from tirx_mini.records import dataclass

from ..facts import Fact, Fault
from ..machine import OFFSET_MASK, WINDOW_BITS, BarrierUse, Mbarrier, Signal, Warp
from ..ordering import Actor, Agent, Operation, Proxy, Segment


@dataclass(frozen=True)
class MisalignedCopy(Fact):
    """A cp.async with an address that is not a multiple of its `nbytes`."""

    nbytes: int


@dataclass(frozen=True)
class CopyOutOfBounds(Fact):
    """A cp.async out of bounds. writes: whether of the CTA's shared memory; otherwise of the global buffer that it
    reads."""

    writes: bool


@dataclass(frozen=True)
class CopyTooLarge(Fact):
    """A cp.async that copies more bytes, `size`, than its destination holds, `nbytes`."""

    size: int
    nbytes: int


@dataclass(frozen=True)
class Copy:
    """The cp.async of a warp that were issued together.

    done: the completion time, in cycles. items: the destinations, and sources: the items of `memory` read until then,
    in units of `nbytes`. owners: the lane of each (`Actor.lanes`). sizes: the number of copied bytes of each, with
    zeros after them; None for all.
    """

    agent: Agent
    done: float
    items: np.ndarray
    memory: np.ndarray
    sources: np.ndarray
    nbytes: int
    owners: np.ndarray
    span: Span | None
    sizes: np.ndarray | None = None


def _of_lanes(value: object, lanes: np.ndarray) -> np.ndarray:
    """Return an operand's values in the given lanes of a warp."""
    if isinstance(value, np.ndarray) and value.ndim:
        return value[lanes].astype(np.int64)
    return np.full(len(lanes), value, np.int64)


class CpAsyncGroups:
    """The cp.async operations of one warp: the open group and the committed ones."""

    def __init__(self) -> None:
        self._open: list[Copy] = []
        self._groups: list[list[Copy]] = []

    def copy(self, w: Warp, dst: object, src: object, nbytes: int, size: object = None) -> None:
        """Issue a copy of `nbytes` bytes for each active thread; bytes from `size` on, if given, are zero-filled.

        The shared memory changes when the thread waits for the copy.
        """
        lanes = w.mask.lanes
        targets, sources = _of_lanes(dst, lanes), _of_lanes(src, lanes)
        sizes = None if size is None else _of_lanes(size, lanes)
        if sizes is not None:
            least, most = int(sizes.min()), int(sizes.max())
            if most > nbytes:
                raise Fault(CopyTooLarge(w.origin, most, nbytes))
            if not most:
                self._fill(w, targets, nbytes)
                return
            if least == nbytes:
                sizes = None
            elif not least:  # unread bytes may lie anywhere
                sources = np.where(sizes > 0, sources, sources[np.argmax(sizes > 0)])
        if ((targets | sources) & (nbytes - 1)).any():  # 4, 8 or 16
            raise Fault(MisalignedCopy(w.origin, nbytes))
        cta, offsets = w.cta, targets & OFFSET_MASK
        if (targets >> WINDOW_BITS != cta.rank).any() or offsets.max() + nbytes > cta.smem.size:
            raise Fault(CopyOutOfBounds(w.origin, writes=True))
        found = w.gpu.memory.locate(int(sources[0]))
        last = w.gpu.memory.locate(int(sources.max()) + nbytes - 1)
        if found is None or last is None or last[0] is not found[0]:
            raise Fault(CopyOutOfBounds(w.origin, writes=False))
        buffer = found[0]
        if w.dependence is not None:
            w.dependence.check(w, Operation.CP_ASYNC, buffer.name, writes=False)
        places = sources - w.gpu.memory.base(buffer.slot)
        traffic, sm = w.gpu.traffic, cta.sm.traffic
        done = traffic.generic(sm, w.time, buffer.slot, places // nbytes, nbytes, len(lanes), False)
        done = max(done, traffic.copy(sm, w.time, nbytes * len(lanes), nbytes))
        agent = cta.cluster.causality.fork(w.agent, "cp.async")
        actor = Actor(agent, cta.cluster.domain, Proxy.GENERIC, Operation.CP_ASYNC, w.place, w.span, w.time)
        segment = w.gpu.memory.segments.get(buffer.slot)
        if segment is not None:
            cta.cluster.values.apply(_read, segment, places, nbytes, actor)
        cta.written(w.origin, offsets, nbytes, "cp.async")
        cta.smem.shadow.write_items(offsets, nbytes, actor)
        memory = cta.cluster.values.of(w.gpu.memory.view, buffer.slot, nbytes)
        if memory is None:
            memory = w.gpu.memory.bytes[buffer.slot]
        self._open.append(
            Copy(agent, done, offsets // nbytes, memory, places // nbytes, nbytes, w.mask.owners, w.span, sizes)
        )

    def _fill(self, w: Warp, targets: np.ndarray, nbytes: int) -> None:
        """Issue a zero-filling copy, which reads nothing."""
        cta, offsets = w.cta, targets & OFFSET_MASK
        if (targets % nbytes).any():
            raise Fault(MisalignedCopy(w.origin, nbytes))
        if (targets >> WINDOW_BITS != cta.rank).any() or offsets.max() + nbytes > cta.smem.size:
            raise Fault(CopyOutOfBounds(w.origin, writes=True))
        agent = cta.cluster.causality.fork(w.agent, "cp.async")
        actor = Actor(agent, cta.cluster.domain, Proxy.GENERIC, Operation.CP_ASYNC, w.place, w.span, w.time)
        cta.written(w.origin, offsets, nbytes, "cp.async")
        cta.smem.shadow.write_items(offsets, nbytes, actor)
        zeros = np.zeros_like(cta.smem.view(nbytes)[:1])
        places = np.zeros(len(offsets), np.int64)
        self._open.append(Copy(agent, w.time, offsets // nbytes, zeros, places, nbytes, w.mask.owners, w.span))

    def commit(self) -> None:
        """Execute cp.async.commit_group."""
        self._groups.append(self._open)
        self._open = []

    def wait(self, w: Warp, count: int) -> None:
        """Execute cp.async.wait_group: complete all groups but the `count` most recent."""
        while len(self._groups) > count:
            for copy in self._groups.pop(0):
                self._land(w, copy)
                w.agent.acquire_epoch(copy.agent.index, copy.agent.epoch)
                self._hand_over(w, copy)
                w.time = max(w.time, copy.done)

    @staticmethod
    def _hand_over(w: Warp, copy: Copy) -> None:
        """Attribute the writes of a completed copy to its lanes; other lanes see them after a synchronisation."""
        segment = w.cta.smem.shadow.segment(int(copy.items[0]) * copy.nbytes)
        if segment is None or copy.nbytes % segment.granule:
            return
        first = copy.items * copy.nbytes
        if first.min() < segment.start or first.max() >= segment.stop:
            return
        actor = w.stores
        actor.span, actor.time, actor.lanes = copy.span, w.time, copy.owners[:, None]
        actor.operation = Operation.CP_ASYNC
        w.agent.scattered = True
        granules = (first - segment.start) // segment.granule
        segment.write(granules[:, None] + np.arange(copy.nbytes // segment.granule), actor)
        actor.operation = Operation.STORE

    @staticmethod
    def _land(w: Warp, copy: Copy) -> None:
        w.cta.cluster.values.apply(_move, w, copy)
        w.cta.cluster.causality.finish(copy.agent)

    def arrive(self, w: Warp, barrier: Mbarrier, more: bool) -> None:
        """Execute cp.async.mbarrier.arrive: the arrival of each thread follows all of its copies so far. more: whether
        it increments the pending count (no .noinc)."""
        if not barrier.usable(w, BarrierUse.ARRIVE):
            return
        if more:
            barrier.pending += w.mask.count
        copies = [copy for group in [*self._groups, self._open] for copy in group]
        causality = w.cta.cluster.causality
        agent = causality.fork(w.agent, "cp.async arrival")  # separate from the thread's accesses
        released = causality.transient_clock()
        released.release_epoch(agent.index, agent.epoch)
        done = w.time
        for copy in copies:
            self._land(w, copy)
            released.release_epoch(copy.agent.index, copy.agent.epoch)
            done = max(done, copy.done)
        self._groups = [[] for _ in self._groups]
        self._open = []
        released.release_past(w.agent)
        for _ in range(w.mask.count):
            by = (Signal.CP_ASYNC, w.place, w.span)
            w.gpu.clock.at(done, barrier, barrier.arrive_async, w.cta, agent.index, released, done, *by)
        causality.finish(agent)


class CpAsync:
    """The cp.async of all warps."""

    def __init__(self) -> None:
        self._warps: dict[Warp, CpAsyncGroups] = {}

    def of(self, w: Warp) -> CpAsyncGroups:
        """Return the cp.async state of a warp."""
        found = self._warps.get(w)
        if found is None:
            found = self._warps[w] = CpAsyncGroups()
        return found

    def warp_ended(self, w: Warp) -> None:
        """Drop the state of a warp."""
        self._warps.pop(w, None)


def _read(segment: Segment, places: np.ndarray, nbytes: int, actor: Actor) -> None:
    """Record the reads of an argument that the kernel writes."""
    first = (places - segment.start) // segment.granule
    segment.read(first[:, None] + np.arange(max(1, nbytes // segment.granule)), actor)


def _move(w: Warp, copy: Copy) -> None:
    """Write the bytes of a copy, with zeros after its size."""
    values = copy.memory[copy.sources]
    if copy.sizes is not None:
        cells = np.ascontiguousarray(values).view(np.uint8).reshape(len(values), -1)
        cells[np.arange(copy.nbytes) >= copy.sizes[:, None]] = 0
        values = cells.view(values.dtype).reshape(values.shape)
    w.cta.smem.view(copy.nbytes)[copy.items] = values
