"""Scoped accesses: ld, st, atom and red with a memory order, and the fences that order them.

A strong write carries the release of its thread, or of an earlier fence. An acquire that reads the write, directly or
after atomic operations on the value, acquires the release; so does a fence after a relaxed read. Each scope must
include both threads (PTX ISA: "Release and Acquire Patterns", "Causality Order"). The order of fence.sc operations is
specific to one run, so it excuses no race.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from tirx_mini.isa import GENERIC_BITS, GENERIC_SHARED, Addresses, Loaded, MemoryAccess
from tirx_mini.records import replace

from ..facts import Fact, Fault
from ..machine import (
    LANES,
    OFFSET_MASK,
    WINDOW_BITS,
    ElementOutOfBounds,
    Gpu,
    LanesDisagree,
    Registers,
    RunningWarp,
    numpy_dtype,
    spend_fence,
    spend_global,
    spend_shared,
)
from ..ordering import Actor, Clocks, Epochs, Operation, Proxy, Release, Released, Strong, apart
from .lane_values import active, elements, in_registers, scalar, spread
from .older_values import OlderValues, Run, Written
from .reductions import combined, computed
from .scoped_facts import BadAddress, MisalignedAddress, ReadOnlyPath
from .scopes import Patterns, covers, place_of, reaches
from .trails import Trails

ACQUIRES, RELEASES = ("acquire", "acq_rel", "sc"), ("release", "acq_rel", "sc")


class ScopedAccesses:
    """The scoped accesses of all warps."""

    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu
        self._patterns: dict[RunningWarp, Patterns] = {}
        self._fenced = False
        self.older = OlderValues(gpu)
        self.trails = Trails()

    def warp_ended(self, w: RunningWarp) -> None:
        """Drop the state of a warp."""
        self._patterns.pop(w, None)

    # -- instructions --------------------------------------------------------------------------------------------

    def load(self, w: RunningWarp, access: MemoryAccess, address: Addresses) -> Loaded:
        """Return the value at an address: a number, or an array of 32 lanes."""
        dtype = numpy_dtype(access.dtype)
        varies = isinstance(address, np.ndarray) and address.ndim > 0
        found = np.zeros(w.mask.count if varies else 1, dtype)
        for run in self._runs(w, access, address, Operation.LOAD):
            w.cta.cluster.values.apply(self._load, w, access, run, found)
        return spread(w, found) if varies else scalar(found)

    def _load(self, w: RunningWarp, access: MemoryAccess, run: Run, found: np.ndarray) -> None:
        older = self._read(w, access, run)
        now = run.view(found.itemsize).view(found.dtype)[run.offsets // found.itemsize]
        found[run.lanes] = now if older is None else older.value

    def load_registers(self, w: RunningWarp, access: MemoryAccess, address: Addresses, registers: Registers) -> None:
        """Load adjacent words into registers."""
        words = np.zeros((access.words, LANES), np.uint32)
        values = w.cta.cluster.values
        for run in self._runs(w, access, np.broadcast_to(address, (LANES,)), Operation.LOAD):
            values.apply(self._load_words, w, access, run, words)
        values.apply(registers.write, words, None if w.mask.full else w.mask.bits)

    def _load_words(self, w: RunningWarp, access: MemoryAccess, run: Run, words: np.ndarray) -> None:
        self._read(w, access, run)
        for i in range(access.words):
            words[i, w.mask.lanes[run.lanes]] = run.view(4)[run.offsets // 4 + i]

    def store(self, w: RunningWarp, access: MemoryAccess, address: Addresses, values: Sequence[object]) -> None:
        """Store adjacent values."""
        varies = any(isinstance(v, np.ndarray) and v.ndim for v in (address, *values))
        if varies:
            address = np.broadcast_to(address, (LANES,))
        for run in self._runs(w, access, address, Operation.STORE):
            w.cta.cluster.values.apply(self._store, w, access, run, values, varies)

    def _store(self, w: RunningWarp, access: MemoryAccess, run: Run, values: Sequence[Any], varies: bool) -> None:
        dtype = numpy_dtype(access.dtype)
        begun, released = self.older.begin(w, access, run), self._write(w, access, run)
        items = run.view(dtype.itemsize).view(dtype)
        for i, value in enumerate(values):
            places, stored = run.offsets // dtype.itemsize + i, active(w, value, dtype, varies)[run.lanes]
            items[places] = stored
            if access.sem == "weak" and items[places].tobytes() != stored.tobytes():
                self.gpu.facts.record(LanesDisagree(w.origin, self._named(w, run)))
        self.older.wrote(w, access, run, begun, released, self.trails.at(run))

    def store_registers(self, w: RunningWarp, access: MemoryAccess, address: Addresses, registers: Registers) -> None:
        """Store adjacent words from registers."""
        values = w.cta.cluster.values
        words = values.of(registers.read, access.words)
        for run in self._runs(w, access, np.broadcast_to(address, (LANES,)), Operation.STORE):
            values.apply(self._store_words, w, access, run, words)

    def _store_words(self, w: RunningWarp, access: MemoryAccess, run: Run, words: np.ndarray) -> None:
        self._write(w, access, run)
        for i in range(access.words):
            run.view(4)[run.offsets // 4 + i] = words[i, w.mask.lanes[run.lanes]]

    def update(
        self, w: RunningWarp, access: MemoryAccess, address: Addresses, op: str, value: object, compare: object
    ) -> np.ndarray:
        """Execute an atomic operation for each active lane in turn, and return the old values of 32 lanes."""
        dtype = numpy_dtype(access.dtype)
        operand = active(w, value, dtype, True)
        expected = active(w, compare, dtype, True) if compare is not None else operand
        old = np.zeros(w.mask.count, dtype)
        for run in self._runs(w, access, np.broadcast_to(address, (LANES,)), Operation.ATOMIC):
            w.cta.cluster.values.apply(self._update, w, access, run, op, (operand, expected, old))
        return spread(w, old)

    def _update(
        self, w: RunningWarp, access: MemoryAccess, run: Run, op: str, operands: tuple[np.ndarray, ...]
    ) -> None:
        operand, expected, old = operands
        begun, released = self.older.begin(w, access, run), self._atomic(w, access, run)
        items, places = run.view(old.itemsize).view(old.dtype), run.offsets // old.itemsize
        apart = len(np.unique(places)) == len(places)
        steps = [slice(None)] if apart else [slice(i, i + 1) for i in range(len(places))]
        for step in steps:
            lanes, at = run.lanes[step], places[step]
            old[lanes] = items[at]
            items[at] = computed(op, old[lanes], operand[lanes], expected[lanes], flush=run.slot is not None)
        self.older.wrote(w, access, run, begun, released, self.trails.at(run))

    def update_registers(
        self, w: RunningWarp, access: MemoryAccess, address: Addresses, op: str,
        registers: tuple[Registers, Registers | None, Registers | None], count: int,
    ) -> None:  # fmt: skip
        """Update adjacent elements from registers, each lane in turn. registers: the operand, the value that "cas"
        compares with, and the destination of the old values; `count` of each, which hold one element or two."""
        values, (operand, compare, result) = w.cta.cluster.values, registers
        given = values.of(operand.read, count)
        expected = given if compare is None else values.of(compare.read, count)
        old = np.zeros((count, LANES), np.uint32)
        for run in self._runs(w, access, np.broadcast_to(address, (LANES,)), Operation.ATOMIC):
            values.apply(self._update_words, w, access, run, op, (given, expected, old))
        if result is not None:
            values.apply(result.write, old)

    def _update_words(
        self, w: RunningWarp, access: MemoryAccess, run: Run, op: str, operands: tuple[np.ndarray, ...]
    ) -> None:
        given, expected, old = operands
        begun, released = self.older.begin(w, access, run), self._atomic(w, access, run)
        dtype = numpy_dtype(access.dtype)
        items, places = run.view(dtype.itemsize).view(dtype), run.offsets // dtype.itemsize
        for place, lane in zip(places.tolist(), w.mask.lanes[run.lanes].tolist(), strict=True):
            at = slice(place, place + access.words)
            before = items[at].copy()
            old[:, lane] = in_registers(before, len(old))
            value, compare = (elements(each[:, lane], before) for each in (given, expected))
            items[at] = combined(op, before, value, compare, flush=run.slot is not None)
        self.older.wrote(w, access, run, begun, released, self.trails.at(run))

    def fence(self, w: RunningWarp, sem: str, scope: str) -> None:
        """Execute fence: acquire the releases that the lanes have read, and release to their later strong writes.

        At GPU scope, it also acts for threads that it synchronises with by a barrier. By the ISA, only the thread that
        accesses the flag has such a fence; on hardware, all earlier writes of any thread are in the L2 after its fence,
        and later reads do not hit stale lines of the L1.
        """
        if sem in RELEASES:
            spend_fence(w, scope)
        w.cta.cluster.order.record(self._fence, w, sem, scope)

    def _fence(self, w: RunningWarp, sem: str, scope: str) -> None:
        patterns = self._patterns.setdefault(w, Patterns())
        word, place = w.mask.word, place_of(w)
        if sem in ACQUIRES:
            for release, readers in list(patterns.observed.items()):
                some_left, others = readers & ~word, word & ~readers
                if some_left and others:
                    continue
                if reaches(release, scope, place):
                    w.agent.acquire_older(release.clocks)
                    del patterns.observed[release]
                    if some_left:
                        patterns.observed[release] = some_left
                elif release.each is not None:
                    for each in release.each():
                        if reaches(each, scope, place):
                            w.agent.acquire_older(each.clocks)
        if sem in ACQUIRES and covers(scope, "cluster"):
            for agent in w.lanes.within(word, w.agent):
                agent.receive()
        if covers(scope, "gpu"):
            self._fenced = True
            for agent in w.lanes.within(word, w.agent):
                agent.fence_gpu(sem in ACQUIRES, sem in RELEASES)
        if sem in RELEASES:
            if covers(scope, "cluster"):
                for barrier in w.cta.initialised:
                    barrier.init_by.fence_memory(w)
            kept = [(lanes, r) for lanes, r in patterns.fences if lanes & ~word or not covers(scope, r.scope)]
            patterns.fences = [*kept, (word, self._released(w, scope))]

    def fenced(self, w: RunningWarp, scope: str) -> list[Clocks]:
        """Return the clocks that a relaxed arrival of the active lanes releases after fences of at least `scope`."""
        patterns, word = self._patterns.get(w), w.mask.word
        if patterns is None:
            return []
        return [r.clocks for lanes, r in patterns.fences if not lanes & ~word and covers(r.scope, scope)]

    def published(self, w: RunningWarp) -> list[Clocks]:
        """The clocks of what active lanes have released at the scope of the cluster or a wider one, by fences."""
        fences = self._patterns[w].fences if w in self._patterns else []
        found = [r.clocks for lanes, r in fences if lanes & w.mask.word and covers(r.scope, "cluster")]
        return [*found, w.agent.fenced_clocks()] if self._fenced and w.agent.has_fenced else found

    # -- memories ------------------------------------------------------------------------------------------------

    def _runs(
        self, w: RunningWarp, access: MemoryAccess, address: Addresses, operation: Operation
    ) -> Iterator[Run]:
        """Yield the accesses of the active lanes by memory; a uniform address is a single access."""
        nbytes = numpy_dtype(access.dtype).itemsize * access.words
        if operation is not Operation.LOAD and access.sem in RELEASES:
            spend_fence(w, access.scope)
        given: Any = address
        if isinstance(address, np.ndarray) and address.ndim:
            addresses: np.ndarray = (given if w.mask.full else given[w.mask.lanes]).astype(np.int64, copy=False)
            low, high = int(addresses.min()), int(addresses.max())
        else:
            low = high = int(given)
            addresses = np.array([low], np.int64)
        wrong = addresses & (nbytes - 1)
        if wrong.any():
            raise Fault(MisalignedAddress(w.origin, int(addresses[wrong > 0][0]), nbytes))
        if not access.space and high >> GENERIC_BITS:
            addresses = np.where(addresses >> GENERIC_BITS == 1, addresses - GENERIC_SHARED, addresses)
            low, high = int(addresses.min()), int(addresses.max())
        home = self._home(w, low)
        if home == self._home(w, high):
            yield from self._at(w, access, home, np.arange(len(addresses)), addresses, nbytes, operation)
            return
        homes = np.array([self._home(w, each) for each in addresses.tolist()])
        for home in np.unique(homes).tolist():
            lanes = np.flatnonzero(homes == home)
            yield from self._at(w, access, home, lanes, addresses[lanes], nbytes, operation)

    def _home(self, w: RunningWarp, address: int) -> int:
        """Return the memory of an address: the rank of a CTA, or a negative number for each global buffer."""
        rank = address >> WINDOW_BITS
        return rank if rank < len(w.cta.cluster.ctas) else -1 - (address >> self.gpu.memory.SPACING)

    def _at(
        self, w: RunningWarp, access: MemoryAccess, home: int, lanes: np.ndarray, own: np.ndarray, n: int,
        operation: Operation,
    ) -> Iterator[Run]:
        """Yield the accesses to one memory, split at the boundaries of shadow segments."""
        if home < 0:
            yield self._global(w, access, lanes, own, n, operation)
            return
        run: Run = self._shared(w, access, home, lanes, own, n, operation is not Operation.LOAD)
        while run.segment is not None and int(run.offsets.max()) >= run.segment.stop:
            yield replace(run, lanes=run.lanes[inside := run.offsets < run.segment.stop], offsets=run.offsets[inside])
            lanes, offsets = run.lanes[~inside], run.offsets[~inside]
            shadow = w.cta.cluster.ctas[home].smem.shadow
            run = replace(run, lanes=lanes, offsets=offsets, segment=shadow.segment(int(offsets.min())))
        yield run

    def _shared(
        self, w: RunningWarp, access: MemoryAccess, rank: int, lanes: np.ndarray, own: np.ndarray, n: int, write: bool
    ) -> Run:
        cta = w.cta.cluster.ctas[rank]
        offsets = own & OFFSET_MASK
        wrong = access.space == "global" or (cta is not w.cta and access.space in ("shared", "shared::cta"))
        if wrong or offsets.max() + n > cta.smem.size or not cta.alive:
            raise Fault(BadAddress(w.origin, access.space, int(own.max()), n))
        order = cta.cluster.order
        if write:
            order.record(cta.written, w.origin, offsets, n, "store")
        if cta is not w.cta:
            order.record(cta.accessed, w, write)
        spend_shared(w, len(lanes), n, write)
        segment = order.of(cta.smem.shadow.segment, int(offsets.min()))
        return Run(lanes, offsets, cta.smem.view, segment)

    def _global(
        self, w: RunningWarp, access: MemoryAccess, lanes: np.ndarray, own: np.ndarray, n: int, operation: Operation
    ) -> Run:
        memory, write, atomic = self.gpu.memory, operation is not Operation.LOAD, operation is Operation.ATOMIC
        found = memory.locate(int(own.max()) + n - 1)
        if access.space.startswith("shared") or found is None:
            raise Fault(self._outside(w, access, own, n))
        buffer = found[0]
        if w.dependence is not None:
            w.dependence.check(w, Operation.STORE if write else Operation.LOAD, buffer.name, write)
        offsets = own - memory.base(buffer.slot)
        moved, missed = self.gpu.traffic.touch(buffer.slot, offsets // n, n, len(lanes))
        spend_global(w, len(lanes), n, moved, missed, write and not access.returns, atomic=atomic)
        segment = memory.segments.get(buffer.slot)
        return Run(lanes, offsets, lambda width: memory.view(buffer.slot, width), segment, buffer.slot, buffer.name)

    def _named(self, w: RunningWarp, run: Run) -> str:
        """Return the name of the accessed buffer."""
        if run.name:
            return run.name
        found = self.gpu.locator.find(int(run.offsets[0]))
        return "shared memory" if found is None else found.name

    def _outside(self, w: RunningWarp, access: MemoryAccess, own: np.ndarray, n: int) -> Fact:
        """Return the fact about an unmapped address: an element out of bounds if an argument is near."""
        memory = self.gpu.memory
        address = next(a for a in own.tolist() if memory.locate(a) is None or memory.locate(a + n - 1) is None)
        near = None if access.space.startswith("shared") else memory.near(address)
        if near is None:
            return BadAddress(w.origin, access.space, address, n)
        buffer, offset = near
        size = buffer.dtype.itemsize
        element = max(offset // size, buffer.size) if offset > 0 else offset // size
        return ElementOutOfBounds(w.origin, buffer.name, element, buffer.size, size == 1 < n)

    # -- order ---------------------------------------------------------------------------------------------------

    def _actor(self, w: RunningWarp, access: MemoryAccess, run: Run, operation: Operation) -> Actor:
        actor = Actor(w.agent, w.cta.cluster.domain, Proxy.GENERIC, operation, w.place, w.span, w.time)
        actor.word, actor.parted = w.mask.word, w.loads.parted
        if len(run.lanes) > 1:
            owners = w.mask.owners[run.lanes]
            actor.lanes = owners if _granules(run, access).ndim == 1 else owners[:, None]
            w.agent.scattered = True
        else:
            actor.lanes = w.mask.owner
        if access.sem != "weak":
            actor.decides = w.span not in self.gpu.image.idle
            actor.tested = w.span in self.gpu.image.tested
            actor.strong = Strong(access.scope, place_of(w), numpy_dtype(access.dtype).itemsize)
        return actor

    def _read(self, w: RunningWarp, access: MemoryAccess, run: Run) -> Written | None:
        """Check and record a load, and acquire the releases of the value. Returns the write if it is not the last."""
        if run.segment is None:
            return None
        actor, where = self._actor(w, access, run, Operation.LOAD), _granules(run, access)
        if access.nc and (written := run.segment.last_write(where)) is not None:
            self.gpu.facts.record(ReadOnlyPath(w.origin, run.name, written, access.allocates))
        if actor.strong is None:
            run.segment.read(where, actor)
            return None
        found, older = run.segment.strong_read(where, actor), None
        if w.span not in self.gpu.image.idle:
            older = self.older.read(w, access, run)
        self._observe(w, access, found if older is None else older.released)
        self._see(w, self.trails.at(run) if older is None else older.trails)
        return older

    def _write(self, w: RunningWarp, access: MemoryAccess, run: Run) -> Released:
        """Check and record a store. Returns its releases."""
        if run.segment is None:
            return ()
        where = _granules(run, access)
        if access.sem == "weak":
            run.segment.write(where, self._actor(w, access, run, Operation.STORE))
            return ()
        released = self._patterns_of(w, access)
        run.segment.strong_write(where, self._actor(w, access, run, Operation.STORE), released, update=False)
        self.trails.leave(w, access, run, update=False)
        return ((0, released),)

    def _atomic(self, w: RunningWarp, access: MemoryAccess, run: Run) -> Released:
        """Check and record an atomic read-modify-write. Returns the releases of its value."""
        if run.segment is None:
            return ()
        where = _granules(run, access)
        reader = self._actor(w, access, run, Operation.ATOMIC)
        found = run.segment.observed(where, reader)
        acquired = self._observe(w, access, found)
        self._see(w, self.trails.at(run))
        both = access.sem == "acq_rel"
        released = self._patterns_of(w, access)
        actor = self._actor(w, access, run, Operation.ATOMIC)
        run.segment.strong_write(where, actor, released, update=True, absorbed=acquired if both else ())
        self.trails.leave(w, access, run, update=True)
        return (*found, (0, released))

    def _see(self, w: RunningWarp, trails: Sequence[Epochs]) -> None:
        """Follow the trails of a value that a strong read finds, unless nothing depends on it."""
        if w.span not in self.gpu.image.idle:
            for trail in trails:
                w.agent.see(trail)

    def _observe(self, w: RunningWarp, access: MemoryAccess, found: Released) -> Collection[int]:
        """Acquire the releases that a strong read observes, or keep them for a fence.

        Returns the acquired ones. A read whose value is unused may observe other writes in another order, so it
        acquires nothing.
        """
        if not found or w.span in self.gpu.image.idle:
            return ()
        place, acquired = place_of(w), list[int]()
        for number, releases in found:
            open_ = False
            for release in apart(releases, access.scope):
                if access.sem in ACQUIRES and reaches(release, access.scope, place):
                    w.agent.acquire_older(release.clocks)
                else:
                    patterns = self._patterns.setdefault(w, Patterns())
                    patterns.observed[release] = patterns.observed.get(release, 0) | w.mask.word
                    if covers(release.scope, "gpu") and covers(access.scope, "gpu"):
                        w.agent.observe(release.clocks)
                    open_ = True
            if not open_:
                acquired.append(number)
        return acquired

    def _patterns_of(self, w: RunningWarp, access: MemoryAccess) -> tuple[Release, ...]:
        """Return the clocks that a strong write of the active lanes releases, directly or through earlier fences."""
        patterns = self._patterns.get(w)
        word = w.mask.word
        fences = tuple(r for lanes, r in patterns.fences if not word & ~lanes) if patterns else ()
        if self._fenced and covers(access.scope, "gpu") and w.agent.has_fenced:
            fences = (*fences, Release(w.agent.fenced_clocks(), "gpu", place_of(w)))
        return (*fences, self._released(w, access.scope)) if access.sem in RELEASES else fences

    def _released(self, w: RunningWarp, scope: str) -> Release:
        clock = w.cta.cluster.causality.transient_clock()
        w.release(clock)
        return Release(clock.clocks, scope, place_of(w))


def _granules(run: Run, access: MemoryAccess) -> np.ndarray:
    """Return the granules of each access: [n], or [n, granules] if an access is wider than a granule."""
    segment = run.segment
    assert segment is not None
    width = numpy_dtype(access.dtype).itemsize * access.words
    first = (run.offsets - segment.start) // segment.granule
    return first if width <= segment.granule else first[:, None] + np.arange(width // segment.granule)
