"""Shadow memories: the last accesses to each granule, and the check of the next access against them.

A shadow holds, for each granule of a memory, the number of the last write access and, for each agent that has read it
since, the number of that read; 0 means none. In global memory, which very many agents read, one number represents the
set of all reads since the last write, and another one the set of the reductions. Granules are as wide as the narrowest
access of the kernel, so two accesses overlap in a granule exactly if they overlap in memory. Two conflicting accesses
that are not ordered by happens-before are a race, in whichever order they were simulated.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from tirx_mini.records import dataclass

from .actors import Access, Actor, Release
from .conflicts import ConflictKind
from .crowds import Crowd
from .log import AccessLog
from .operations import THREADS_TMEM, Operation
from .pairs import both_strong, crossing, decides, in_one_queue, lacks_a_fence, loses_a_reduction, meets, unreceived
from .unchecked import UncheckedAgent
from .unequal import Unequal

Select = Any
"""A selection of granules of a segment: a slice or an integer array."""


@dataclass(frozen=True)
class Conflict:
    """A hazard at some granules of a segment.

    earlier: the access that was simulated first, None for an uninitialised read.
    actor: of the later access; writes: whether that is a write.
    ids[where] == number selects the granules; the number denotes the access, or a set that contains it.
    """

    kind: ConflictKind
    segment: Segment
    where: Select
    ids: np.ndarray
    number: int
    earlier: Access | None
    actor: Actor
    writes: bool

    def extent(self) -> tuple[int, int]:
        """Return the first affected unit of the memory, and the end of the last affected granule."""
        segment = self.segment
        places = np.arange(self.ids.size).reshape(self.ids.shape)[self.where]
        hit = places[self.ids[self.where] == self.number]
        low, high = int(hit.min()), int(hit.max()) + 1
        return segment.start + low * segment.granule, min(segment.stop, segment.start + high * segment.granule)

    def changes(self) -> bool:
        """Return whether a store changes the bytes that an earlier write left, as far as this run shows.

        Equal bytes of a single value prove little, for example in a launch whose arguments are all ones; several
        different values are equal for a reason.
        """
        if self.actor.stored is None:
            return True
        items, where, values = self.actor.stored
        before, after = np.broadcast_arrays(items[where], values)
        same, hit = before == after, self.ids[self.where] == self.number
        if (after == after.flat[0]).all():
            return True
        return not bool(same[hit].all() if same.shape == hit.shape else same.all())


Released = tuple[tuple[int, tuple[Release, ...]], ...]
"""The numbers of writes, or of sets of writes, with their releases."""

Complain = Callable[[Conflict], None]


ANY, REDUCTIONS, WRITES, CHAIN = -1, -2, -3, -4
"""Keys of `Segment.readers` and `lanes` that denote no agent: all reads, all reductions and strong writes, all writes,
and the release sequence of the value."""


class Segment:
    """The shadow of the units [start, stop) of a memory (usually bytes), with `granule` units per entry.

    shape: the arrangement of the entries; one row by default. initialised: whether they hold data from the beginning.
    barriers: whether it contains mbarriers.
    shared: whether to hold the readers of a granule as one set, not as an array for each agent (for memories of very
        many agents).
    readers: by agent, the numbers of their reads. lanes: by agent, and for `WRITES`, the lanes that made the accesses.
    """

    __slots__ = (
        "barriers", "complain", "granule", "lanes", "log", "readers", "shared", "start", "stop", "writes",
    )  # fmt: skip

    def __init__(
        self,
        start: int,
        stop: int,
        granule: int,
        log: AccessLog,
        complain: Complain,
        *,
        shape: tuple[int, ...] | None = None,
        initialised: bool = False,
        shared: bool = False,
    ) -> None:
        self.start, self.stop, self.granule = start, stop, granule
        self.log, self.complain = log, complain
        self.writes = np.full(shape or -(-(stop - start) // granule), -1 if initialised else 0, np.int32)
        self.readers: dict[int, np.ndarray] = {}
        self.shared = shared
        self.lanes: dict[int, np.ndarray] = {}
        self.barriers = False

    def view(self, start: int, stop: int) -> Segment:
        """Return a view of this shadow for a buffer that begins `-start` bytes into this segment."""
        view = Segment(start, start, self.granule, self.log, self.complain, shared=self.shared)
        view.stop, view.writes, view.readers, view.lanes = stop, self.writes, self.readers, self.lanes
        return view

    def span(self, start: int, stop: int) -> slice:
        """Return the granules of a byte range of the memory."""
        return slice((start - self.start) // self.granule, -(-(stop - self.start) // self.granule))

    def read(self, where: Select, actor: Actor) -> None:
        """Check and record a read of the granules `where` by `actor`."""
        if isinstance(actor.agent, UncheckedAgent):
            raise Unequal
        self._check_last(where, actor, False)
        if self.shared:
            if REDUCTIONS in self.readers:
                self._check_all(REDUCTIONS, where, actor, False)
            self._include(ANY, where, self.log.number(actor, False))
            if actor.lanes is not None:
                self._own(ANY, where, actor)
            return
        if REDUCTIONS in self.readers:
            self._check_all(REDUCTIONS, where, actor, False)
        key = actor.agent.index
        reads = self.readers.get(key)
        if reads is None:
            reads = self.readers[actor.agent.index] = np.zeros_like(self.writes)
        reads[where] = self.log.number(actor, False)
        if actor.lanes is not None:
            self._own(key, where, actor)

    def write(self, where: Select, actor: Actor) -> None:
        """Check and record a write of the granules `where` by `actor`."""
        if isinstance(actor.agent, UncheckedAgent):
            self._claim(where, actor)
            return
        self._check_last(where, actor, True)
        for key, reads in self.readers.items():
            if key == CHAIN or self._check_all(key, where, actor, True):  # REDUCTIONS has the writes of chains, too
                reads[where] = 0
        self.writes[where] = self.log.number(actor, True)
        if actor.lanes is not None:
            self._own(WRITES, where, actor)

    def _claim(self, where: Select, actor: Actor) -> None:
        """Record a write by an unchecked cluster to granules that no other cluster may access."""
        if (self.writes[where] != -1).any() or any(numbers[where].any() for numbers in self.readers.values()):
            raise Unequal
        self.writes[where] = self.log.number(actor, True)

    def _own(self, key: int, where: Select, actor: Actor, chosen: np.ndarray | None = None) -> None:
        """Record the lanes that made an access. chosen: which of the granules have it."""
        lanes = self.lanes.get(key)
        if lanes is None:
            lanes = self.lanes[key] = np.zeros(self.writes.shape, np.int8)
        made: Any = actor.lanes
        lanes[where] = made if chosen is None else np.where(chosen, made, lanes[where])

    def reduce(self, where: Select, actor: Actor) -> None:
        """Check and record a reduction to the granules `where`; reductions may be concurrent."""
        if isinstance(actor.agent, UncheckedAgent):
            raise Unequal
        self._check_last(where, actor, True)
        self._check_all(ANY, where, actor, True)
        self._include(REDUCTIONS, where, self.log.number(actor, True))

    def strong_read(self, where: Select, actor: Actor) -> Released:
        """Check and record a strong read of the granules `where` by `actor`. Returns the releases that the read
        observes."""
        self._check_last(where, actor, False)
        self._check_all(REDUCTIONS, where, actor, False)
        key = ANY if self.shared else actor.agent.index
        self._include(key, where, self.log.strong_number(actor, False))
        if actor.lanes is not None:
            self._own(key, where, actor)
        return self._released(where)

    def observed(self, where: Select, actor: Actor) -> Released:
        """Check the read of an atomic operation, whose write is recorded next, and return the releases it observes."""
        self._check_last(where, actor, False)
        return self._released(where)

    def strong_write(
        self, where: Select, actor: Actor, released: tuple[Release, ...], update: bool, absorbed: Collection[int] = ()
    ) -> None:
        """Check and record a strong write. update: whether it belongs to an atomic operation, which continues the
        release sequence of the earlier writes except `absorbed`.
        """
        self._check_last(where, actor, True)
        for key in list(self.readers):
            if key != CHAIN:
                self._check_all(key, where, actor, True)
        number = self.log.strong_number(actor, True, released)
        self._include(REDUCTIONS, where, number)
        last = self.writes[where]
        fresh = last == 0
        if actor.lanes is not None:
            self._own(REDUCTIONS, where, actor)
            self._own(WRITES, where, actor, fresh)
        self.writes[where] = np.where(fresh, np.int32(number), last)
        chain = self.readers.get(CHAIN)
        if chain is None:
            if not released:
                return
            chain = self.readers[CHAIN] = np.zeros_like(self.writes)
        before = chain[where]
        after = np.zeros_like(before) + np.int32(number if released else 0)
        for old in distinct(before) if update else ():
            if old:
                after = np.where(before == old, np.int32(self.log.linked(old, number, absorbed)), after)
        chain[where] = after

    def _released(self, where: Select) -> Released:
        """Return the releases of the writes that left the values in the granules `where`, with their numbers."""
        chain = self.readers.get(CHAIN)
        if chain is None:
            return ()
        return tuple(dict(each for number in distinct(chain[where]) for each in self.log.released(number)).items())

    def _check_last(self, where: Select, actor: Actor, writes: bool) -> None:
        """Check `actor` against the last writes; check a read for uninitialised granules as well."""
        for number in distinct(self.writes[where]):
            if number > 0 or (number == 0 and not writes):
                self._against(self.log.accesses[number], number, where, self.writes, WRITES, actor, writes)

    def _check_all(self, key: int, where: Select, actor: Actor, writes: bool) -> bool:
        """Check `actor` against accesses other than the last write; return whether there were any."""
        numbers = self.readers.get(key)
        if numbers is None:
            return False
        found = numbers[where]
        if not found.any():
            return False
        for number in distinct(found):
            members = self.log.members(number) if number < 0 else (number,) if number else ()
            if isinstance(members, Crowd):
                self._check_crowd(members, number, where, key, actor, writes)
                continue
            for member in members:
                if key != REDUCTIONS or actor.strong is not None or not self.log.observed(member, members, actor):
                    self._against(self.log.accesses[member], number, where, numbers, key, actor, writes)
        return True

    def _check_crowd(
        self, crowd: Crowd, number: int, where: Select, key: int, actor: Actor, writes: bool
    ) -> None:
        """Check `actor` against a crowd, up to the first conflict at each source location."""
        accesses, numbers = self.log.accesses, self.readers[key]
        if not crowd.harmless(actor):
            spans: set[int] = set()
            excused = self.log.excused(crowd, actor) if key == REDUCTIONS and actor.strong is None else None
            for member in crowd.unlike(spans, accesses):
                if excused is not None and excused(member):
                    continue
                if self._against(accesses[member], number, where, numbers, key, actor, writes):
                    spans.add(id(accesses[member].span))
        for member in crowd.of_warp(actor, accesses):
            self._against(accesses[member], number, where, numbers, key, actor, writes)

    def _include(self, key: int, where: Select, new: int) -> None:
        """Add an access to the sets of the granules `where`."""
        numbers = self.readers.get(key)
        if numbers is None:
            numbers = self.readers[key] = np.zeros_like(self.writes)
        before = numbers[where]
        after: Any = new
        for number in distinct(before):
            union = self.log.add(number, new)
            if union != new:
                after = np.where(before == number, np.int32(union), after)
        numbers[where] = after

    def inspect(self, where: Select, actor: Actor) -> None:
        """Check the read part of an update for uninitialised granules; the write is checked next."""
        for number in distinct(self.writes[where]):
            if number == 0:
                self._against(None, number, where, self.writes, WRITES, actor, False)

    def unread(self, where: Select, operation: Operation) -> Access | None:
        """Return a write by the given operation that no agent has read since, or None."""
        writes = self.writes[where]
        if self.readers:
            read = np.zeros(writes.shape, bool)
            for reads in self.readers.values():
                read |= reads[where] > 0
            writes = np.where(read, 0, writes)
        found = (self.log.accesses[number] for number in distinct(writes) if number > 0)
        return next((access for access in found if access.operation is operation), None)

    def last_write(self, where: Select) -> Access | None:
        """Return an access of this run that wrote the granules, or None."""
        added = self.readers.get(REDUCTIONS)
        for numbers in (self.writes, *(() if added is None else (added,))):
            for number in distinct(numbers[where]):
                if number > 0 or (number < -1 and numbers is added):
                    return self.log.accesses[next(iter(self.log.members(number)))]
        return None

    def untouched(self) -> np.ndarray:
        """Return which granules of an initialised memory were neither written nor reduced to."""
        added = self.readers.get(REDUCTIONS)
        return self.writes < 0 if added is None else (self.writes < 0) & (added == 0)

    def forget(self, where: Select) -> None:
        """Mark the granules as uninitialised."""
        self.writes[where] = 0
        for reads in self.readers.values():
            reads[where] = 0

    def _against(
        self, earlier: Access | None, number: int, where: Select, ids: np.ndarray, key: int, actor: Actor, writes: bool
    ) -> bool:
        """Check `actor` against one access. Returns whether they conflict."""
        if earlier is None:
            kind = ConflictKind.UNINITIALISED
        elif earlier.warp >= 0 and earlier.warp == actor.agent.warp and earlier.cluster == actor.cluster:
            kind = None
            if not meets(earlier, actor):
                kind = crossing(earlier, ids[where] == number, self.lanes.get(key), where, actor, writes)
        else:
            kind = self._conflict(earlier, actor) or unreceived(earlier, actor, writes, self.log.letter)
        if kind is ConflictKind.LANES and not decides(actor):
            allowed = False  # the lanes are unordered, even if strong accesses are no race
        else:
            allowed = both_strong(earlier, actor)
            if allowed and kind is ConflictKind.RACE and earlier is not None and loses_a_reduction(earlier, actor):
                kind, allowed = ConflictKind.LOST_REDUCTION, False
            elif allowed and kind is ConflictKind.RACE and earlier is not None and lacks_a_fence(earlier, actor):
                allowed = False
        if kind is None or allowed:
            return False
        self.complain(Conflict(kind, self, where, ids, number, earlier, actor, writes))
        return True

    def _conflict(self, earlier: Access, actor: Actor) -> ConflictKind | None:
        """Return the reason why `actor` may not access the location of `earlier`, or None."""
        if earlier.cluster != actor.cluster or not actor.agent.happens_after(earlier.agent, earlier.epoch):
            return ConflictKind.RACE
        if (
            actor.awaited is not None
            and earlier.agent == actor.agent.index
            and earlier.epoch > actor.awaited
            and earlier.pipeline not in actor.preceded
        ):
            if not in_one_queue(earlier, actor):
                return ConflictKind.RACE
            if earlier.epoch > actor.ordered:
                return ConflictKind.UNPAIRED
        if (
            actor.crosses(earlier)
            and (earlier.write or self.log.pedantic)
            and actor.agent.clocks.item(self.log.proxy, earlier.agent) < earlier.epoch
        ):
            return ConflictKind.PROXY if earlier.write else ConflictKind.PROXY_READ
        if actor.tcgen05:
            if not actor.sees(earlier):
                return ConflictKind.TCGEN05_AFTER
            released = earlier.operation in THREADS_TMEM or earlier.agent in actor.handed
            if released and not actor.follows(earlier.agent, earlier.epoch):
                return ConflictKind.TCGEN05_BEFORE
        return None


class Unwatched(Segment):
    """A segment whose accesses are not checked."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(0, 0, 1, AccessLog(), lambda conflict: None)

    def read(self, where: Select, actor: Actor) -> None:
        """Do nothing: every access is allowed."""

    def write(self, where: Select, actor: Actor) -> None:
        """Do nothing: every access is allowed."""

    def inspect(self, where: Select, actor: Actor) -> None:
        """Do nothing: every access is allowed."""

    def unread(self, where: Select, operation: Operation) -> Access | None:
        """Return None: an unchecked run records no accesses."""
        return None

    def forget(self, where: Select) -> None:
        """Do nothing: an unchecked run records no accesses."""


def distinct(ids: np.ndarray) -> list[int]:
    """Return the distinct numbers in an array; there are usually few."""
    flat = ids.reshape(-1)
    if not flat.size:
        return []
    raw = flat.tobytes()
    if raw == raw[: flat.itemsize] * flat.size:  # by far the quickest way to see that all are the same
        return [flat.item(0)]
    found: list[int] = []
    while flat.size:
        first = flat.item(0)
        found.append(first)
        flat = flat[flat != first]
        if len(found) == 8:
            return found + np.unique(flat).tolist()
    return found
