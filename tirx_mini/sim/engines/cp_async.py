"""cp.async: small copies per thread, in groups that the thread waits for (PTX ISA: "cp.async").

Each copy of a warp has one agent: until the wait, it is an unordered read of global memory and an unordered write of
shared memory. Bytes move as late as this allows. Groups are those of each thread: where lanes commit or wait apart, a
copy is split into the part that is complete and the rest.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tirx_mini.records import dataclass, replace

from ..facts import Fact, Fault
from ..machine import LANES, OFFSET_MASK, WINDOW_BITS, BarrierUse, Mask, Mbarrier, Signal, Warp
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
    in units of `nbytes`. source: the segment that records these reads. mask: the lanes, one for each item. groups: the
    number of commits before, of each lane or of all. sizes: the number of copied bytes of each, with zeros after them;
    None for all.
    """

    actor: Actor
    done: float
    items: np.ndarray
    memory: np.ndarray
    sources: np.ndarray
    source: Segment | None
    nbytes: int
    mask: Mask
    groups: np.ndarray | int
    sizes: np.ndarray | None = None

    @property
    def agent(self) -> Agent:
        """The agent of these accesses."""
        assert isinstance(self.actor.agent, Agent)
        return self.actor.agent

    def of(self, chosen: np.ndarray, actor: Actor) -> Copy:
        """Return the part of some items, as accesses of `actor`."""
        mask = Mask.of(sum(1 << int(lane) for lane in self.mask.lanes[chosen]))
        groups = self.groups if isinstance(self.groups, int) else self.groups[chosen]
        sizes = None if self.sizes is None else self.sizes[chosen]
        items, sources = self.items[chosen], self.sources[chosen]
        return replace(
            self, actor=actor, items=items, sources=sources, mask=mask, groups=groups, sizes=sizes
        )  # fmt: skip


def _of_lanes(value: object, lanes: np.ndarray) -> np.ndarray:
    """Return an operand's values in the given lanes of a warp."""
    if isinstance(value, np.ndarray) and value.ndim:
        return value[lanes].astype(np.int64)
    return np.full(len(lanes), value, np.int64)


class CpAsyncGroups:
    """The cp.async operations of one warp.

    While all commits are those of the same lanes, which include the lanes of all copies, their number is one; else each
    lane has its own.
    """

    def __init__(self) -> None:
        self._copies: list[Copy] = []
        self._committing: Mask | None = None
        self._count = 0
        self._counts: np.ndarray | None = None

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
        items, read, groups = offsets // nbytes, places // nbytes, self._groups(w.mask)
        self._copies.append(Copy(actor, done, items, memory, read, segment, nbytes, w.mask, groups, sizes))

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
        items, groups = offsets // nbytes, self._groups(w.mask)
        self._copies.append(Copy(actor, w.time, items, zeros, places, None, nbytes, w.mask, groups))

    def _groups(self, mask: Mask) -> np.ndarray | int:
        """Return the number of commits before a copy, of each lane or of all."""
        if self._counts is None and self._committing is not None and mask.word & ~self._committing.word:
            self._diverge()
        return self._count if self._counts is None else self._counts[mask.lanes]

    def _diverge(self) -> None:
        """Count the commits of each lane from here on."""
        lanes = self._committing.bits if self._committing is not None else np.zeros(LANES, bool)
        self._counts = np.where(lanes, self._count, 0)

    def commit(self, w: Warp) -> None:
        """Execute cp.async.commit_group."""
        if self._committing is None:
            self._committing = w.mask
            if any(copy.mask.word & ~w.mask.word for copy in self._copies):
                self._diverge()
        elif self._counts is None and w.mask.word != self._committing.word:
            self._diverge()
        if self._counts is None:
            self._count += 1
        else:
            self._counts[w.mask.lanes] += 1

    def wait(self, w: Warp, count: int) -> None:
        """Execute cp.async.wait_group: complete all groups of each thread but its `count` most recent."""
        for copy in self._taken(w, self._due(w, count)):
            self._land(w, copy)
            w.agent.acquire_epoch(copy.agent.index, copy.agent.epoch)
            self._hand_over(w, copy)
            w.time = max(w.time, copy.done)

    def _due(self, w: Warp, count: int) -> list[np.ndarray | bool]:
        """Return which items of the copies are in groups that the active lanes wait for."""
        counts, committing = self._counts, self._committing
        if committing is None:
            return [False] * len(self._copies)
        if counts is None and not committing.word & ~w.mask.word:
            return [copy.groups < self._count - count for copy in self._copies]
        if counts is None:
            return [w.mask.bits[copy.mask.lanes] & (copy.groups < self._count - count) for copy in self._copies]
        lanes = [copy.mask.lanes for copy in self._copies]
        return [
            w.mask.bits[its] & (copy.groups < counts[its] - count)
            for its, copy in zip(lanes, self._copies, strict=True)
        ]  # fmt: skip

    def _taken(self, w: Warp, due: Sequence[np.ndarray | bool]) -> list[Copy]:
        """Remove what is due from the copies, and return it."""
        taken: list[Copy] = []
        left: list[Copy] = []
        for copy, items in zip(self._copies, due, strict=True):
            if np.all(items):
                taken.append(copy)
            elif not np.any(items):
                left.append(copy)
            else:
                chosen = np.asarray(items)
                taken.append(copy.of(chosen, copy.actor))
                left.append(self._rest(w, copy, ~chosen))
        self._copies = left
        return taken

    @staticmethod
    def _rest(w: Warp, copy: Copy, chosen: np.ndarray) -> Copy:
        """Return the items of a copy that other lanes still wait for, as accesses of an agent of their own."""
        cluster, of = w.cta.cluster, copy.actor
        agent = cluster.causality.fork(copy.agent, "cp.async")
        rest = copy.of(chosen, Actor(agent, of.cluster, of.proxy, of.operation, of.role, of.span, of.time))
        if copy.source is not None:
            cluster.values.apply(_read, copy.source, rest.sources * copy.nbytes, copy.nbytes, rest.actor)
        w.cta.smem.shadow.write_items(rest.items * copy.nbytes, copy.nbytes, rest.actor)
        return rest

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
        actor.span, actor.time, actor.lanes = copy.actor.span, w.time, copy.mask.owners[:, None]
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
        copies = self._taken(w, [w.mask.bits[copy.mask.lanes] for copy in self._copies])
        causality = w.cta.cluster.causality
        agent = causality.fork(w.agent, "cp.async arrival")  # separate from the thread's accesses
        released = causality.transient_clock()
        released.release_epoch(agent.index, agent.epoch)
        done = w.time
        for copy in copies:
            self._land(w, copy)
            released.release_epoch(copy.agent.index, copy.agent.epoch)
            done = max(done, copy.done)
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
