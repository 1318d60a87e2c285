"""Who touched each piece of memory last, and whether the next one may.

A shadow holds, for each granule of a memory, the number of the access that wrote it last and, for each agent that has
read it since, the number of that read; 0 means none. Granules are as wide as the narrowest access that the kernel makes
there, so two accesses meet in a granule exactly where they meet in memory. An access that conflicts with an earlier one
of which its agent does not know is a race, in whichever order the two were simulated.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tirx_mini.ir import Span

from .causality import BEFORE, PROXY, Agent, Snapshot

GENERIC, ASYNC = "generic", "async"
"""Proxies (PTX ISA: "Proxies"): ordinary loads and stores; TMA, and the shared-memory operands of tensor cores."""


class Access:
    """One operation's accesses to a memory.

    what: "store", "TMA load", …; role: who, in words; time: when it was issued.
    """

    __slots__ = ("agent", "cluster", "epoch", "proxy", "role", "span", "time", "what", "write")

    def __init__(self, actor: Actor, write: bool) -> None:
        self.agent = actor.agent.index
        self.epoch = actor.agent.epoch
        self.cluster = actor.cluster
        self.proxy = actor.proxy
        self.write = write
        self.what = actor.what
        self.role = actor.role
        self.span = actor.span
        self.time = actor.time


class Actor:
    """On whose behalf memory is accessed: an agent, with what findings say of it.

    time: when the operation was issued, in cycles.
    tcgen05: whether these are accesses of tcgen05 operations, which `fence::after_thread_sync` of the issuing thread
    orders after others; `fenced` is what that thread had fenced, and `own` the agents whose accesses need no such
    fence, because the same thread issued and awaited them. same: for a write, whether it writes what is there already.
    """

    __slots__ = ("agent", "cluster", "fenced", "own", "proxy", "role", "same", "span", "tcgen05", "time", "what")

    def __init__(
        self,
        agent: Agent | Snapshot,
        cluster: int,
        proxy: str,
        what: str,
        role: str,
        span: Span | None = None,
        time: float = 0.0,
    ) -> None:
        self.agent = agent
        self.cluster = cluster
        self.proxy = proxy
        self.what = what
        self.role = role
        self.span = span
        self.time = time
        self.tcgen05 = False
        self.fenced: np.ndarray | None = None
        self.own: tuple[int, ...] = ()
        self.same: Callable[[], bool] | None = None

    def sees(self, agent: int, epoch: int) -> bool:
        """Whether the issuing thread has fenced after an access of `agent` at `epoch`."""
        if agent in self.own or agent == self.agent.index:
            return True
        return self.fenced is not None and agent < len(self.fenced) and self.fenced.item(agent) >= epoch

    def follows(self, agent: int, epoch: int) -> bool:
        """Whether the thread of `agent` has fenced after that access, before it synchronised."""
        if agent in self.own or agent == self.agent.index:
            return True
        known = self.agent.known
        return agent < known.shape[1] and known.item(BEFORE, agent) >= epoch


THREADS_TMEM = ("tcgen05.ld", "tcgen05.st")
"""Operations of threads on tensor memory: no commit tells of their end."""

Select = Any
"""Which granules of a segment: a slice, or an integer array."""


@dataclass(frozen=True)
class Conflict:
    """A hazard at some granules of a segment.

    kind: "race", "proxy" (no fence.proxy.async between), "tcgen05" (no fence::after_thread_sync between),
    "tcgen05-before" (no fence::before_thread_sync) or "uninitialised". earlier: the access that was simulated first,
    None where there is none; actor: the later one, which writes or reads. ids[where] == number selects the granules.
    """

    kind: str
    segment: Segment
    where: Select
    ids: np.ndarray
    number: int
    earlier: Access | None
    actor: Actor
    writes: bool

    def extent(self) -> tuple[int, int]:
        """The first unit of the memory that is concerned, and the end of the last granule."""
        segment = self.segment
        places = np.arange(self.ids.size).reshape(self.ids.shape)[self.where]
        hit = places[self.ids[self.where] == self.number]
        low, high = int(hit.min()), int(hit.max()) + 1
        return segment.start + low * segment.granule, min(segment.stop, segment.start + high * segment.granule)


Complain = Callable[[Conflict], None]


class AccessLog:
    """The numbered accesses of one memory. Number 0 stands for none."""

    __slots__ = ("accesses",)

    def __init__(self) -> None:
        self.accesses: list[Any] = [None]

    def number(self, actor: Actor, write: bool) -> int:
        """The number of an access by `actor` now; the same one for the same place in the same epoch."""
        agent, last = actor.agent, self.accesses[-1]
        if (
            last is None
            or last.epoch != agent.epoch
            or last.agent != agent.index
            or last.span is not actor.span
            or last.write != write
            or last.what is not actor.what
            or last.cluster != actor.cluster
        ):
            self.accesses.append(Access(actor, write))
        return len(self.accesses) - 1


class Segment:
    """The shadow of the units [start, stop) of a memory (bytes, as a rule), `granule` of them to an entry.

    shape: how the entries are arranged; one row unless given. initialised: whether they hold data from the beginning.
    barriers: whether mbarriers lie in it.
    single_reader: remember one reader of each granule, not one of each agent (for memories of very many agents).
    """

    __slots__ = ("barriers", "complain", "granule", "log", "readers", "single_reader", "start", "stop", "writes")

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
        single_reader: bool = False,
    ) -> None:
        self.start, self.stop, self.granule = start, stop, granule
        self.log, self.complain = log, complain
        self.writes = np.full(shape or -(-(stop - start) // granule), -1 if initialised else 0, np.int32)
        self.readers: dict[int, np.ndarray] = {}
        self.single_reader = single_reader
        self.barriers = False

    def span(self, start: int, stop: int) -> slice:
        """The granules of a byte range of the memory."""
        return slice((start - self.start) // self.granule, -(-(stop - self.start) // self.granule))

    def read(self, where: Select, actor: Actor) -> None:
        """`actor` reads the granules `where`."""
        for number in distinct(self.writes[where]):
            self._check(number, where, self.writes, actor, False)
        key = 0 if self.single_reader else actor.agent.index
        reads = self.readers.get(key)
        if reads is None:
            reads = self.readers[key] = np.zeros_like(self.writes)
        reads[where] = self.log.number(actor, False)

    def write(self, where: Select, actor: Actor) -> None:
        """`actor` writes the granules `where`."""
        for number in distinct(self.writes[where]):
            if number > 0:
                self._check(number, where, self.writes, actor, True)
        for reads in self.readers.values():
            found = reads[where]
            if found.any():
                for number in distinct(found):
                    if number:
                        self._check(number, where, reads, actor, True)
                reads[where] = 0
        self.writes[where] = self.log.number(actor, True)

    def inspect(self, where: Select, actor: Actor) -> None:
        """Check a read whose write follows at once: uninitialised granules."""
        for number in distinct(self.writes[where]):
            if number == 0:
                self._check(number, where, self.writes, actor, False)

    def unread(self, where: Select, what: str) -> Access | None:
        """A write by a `what` among the granules that nobody has read since, or None."""
        writes = self.writes[where]
        if self.readers:
            read = np.zeros(writes.shape, bool)
            for reads in self.readers.values():
                read |= reads[where] > 0
            writes = np.where(read, 0, writes)
        for number in distinct(writes):
            if number > 0 and self.log.accesses[number].what == what:
                return self.log.accesses[number]
        return None

    def forget(self, where: Select) -> None:
        """The granules hold nothing any more: reading them is reading uninitialised memory."""
        self.writes[where] = 0
        for reads in self.readers.values():
            reads[where] = 0

    def _check(self, number: int, where: Select, ids: np.ndarray, actor: Actor, writes: bool) -> None:
        kind = earlier = None
        if number <= 0:
            if number == 0:
                kind = "uninitialised"
        else:
            earlier = self.log.accesses[number]
            if earlier.cluster != actor.cluster or not actor.agent.knows(earlier.agent, earlier.epoch):
                kind = "race"
            elif (
                earlier.proxy is GENERIC
                and actor.proxy is ASYNC
                and earlier.write
                and actor.agent.known.item(PROXY, earlier.agent) < earlier.epoch
            ):
                kind = "proxy"
            elif actor.tcgen05 and not actor.sees(earlier.agent, earlier.epoch):
                kind = "tcgen05"
            elif actor.tcgen05 and earlier.what in THREADS_TMEM and not actor.follows(earlier.agent, earlier.epoch):
                kind = "tcgen05-before"
        if kind:
            self.complain(Conflict(kind, self, where, ids, number, earlier, actor, writes))


class Unwatched(Segment):
    """A segment whose accesses are not checked."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(0, 0, 1, AccessLog(), lambda conflict: None)

    def read(self, where: Select, actor: Actor) -> None:
        """Anyone may."""

    def write(self, where: Select, actor: Actor) -> None:
        """Anyone may."""

    def inspect(self, where: Select, actor: Actor) -> None:
        """Anyone may."""

    def unread(self, where: Select, what: str) -> Access | None:
        """It is not known."""
        return None

    def forget(self, where: Select) -> None:
        """Nothing was kept."""


def distinct(ids: np.ndarray) -> list[int]:
    """The different numbers in an array, few as a rule."""
    flat = ids.reshape(-1)
    found: list[int] = []
    while flat.size:
        first = flat.item(0)
        found.append(first)
        flat = flat[flat != first]
        if len(found) == 8:
            return found + np.unique(flat).tolist()
    return found


class Shadow:
    """The segments of one linear memory, in order of address; bytes between them are not watched."""

    def __init__(self, segments: list[Segment]) -> None:
        self.segments = segments
        self._starts = [segment.start for segment in segments]

    def segment(self, address: int) -> Segment | None:
        """The segment that holds the byte `address`."""
        position = bisect_right(self._starts, address) - 1
        if position >= 0 and address < self.segments[position].stop:
            return self.segments[position]
        return None

    def pieces(self, start: int, stop: int) -> Iterator[tuple[Segment, slice]]:
        """The watched parts of a byte range."""
        position = max(0, bisect_right(self._starts, start) - 1)
        for segment in self.segments[position:]:
            if segment.start >= stop:
                break
            low, high = max(start, segment.start), min(stop, segment.stop)
            if low < high:
                yield segment, segment.span(low, high)

    def read(self, start: int, stop: int, actor: Actor) -> None:
        """`actor` reads a byte range."""
        for segment, where in self.pieces(start, stop):
            segment.read(where, actor)

    def write(self, start: int, stop: int, actor: Actor) -> None:
        """`actor` writes a byte range."""
        for segment, where in self.pieces(start, stop):
            segment.write(where, actor)

    def scattered(self, addresses: np.ndarray, width: int) -> Iterator[tuple[Segment, np.ndarray]]:
        """The watched granules of items of `width` bytes at scattered addresses."""
        low, high = int(addresses.min()), int(addresses.max()) + width
        for segment, _ in self.pieces(low, high):
            inside = addresses[(addresses + width > segment.start) & (addresses < segment.stop)]
            if inside.size:
                first = (np.maximum(inside, segment.start) - segment.start) // segment.granule
                last = (np.minimum(inside + width, segment.stop) - segment.start - 1) // segment.granule
                granules = first[:, None] + np.arange(int((last - first).max()) + 1)
                yield segment, granules[granules <= last[:, None]]

    def read_items(self, addresses: np.ndarray, width: int, actor: Actor) -> None:
        """`actor` reads items of `width` bytes."""
        for segment, granules in self.scattered(addresses, width):
            segment.read(granules, actor)

    def write_items(self, addresses: np.ndarray, width: int, actor: Actor) -> None:
        """`actor` writes items of `width` bytes."""
        for segment, granules in self.scattered(addresses, width):
            segment.write(granules, actor)
