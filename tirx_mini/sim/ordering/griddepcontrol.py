"""Programmatic dependent launch: the previous grid, and the order of accesses to global memory after it.

For each cluster, the previous grid is one more agent: it may access all of global memory, and griddepcontrol.wait
acquires its end (PTX ISA: "griddepcontrol"); barriers then release it like any acquired epoch. A warp has a
`GridDependence` until all of its lanes are ordered; in a kernel that does not wait, none has.
"""

from __future__ import annotations

from typing import Protocol

from tirx_mini.ir import Span
from tirx_mini.records import dataclass

from ..facts import Fact, FactLog, Origin
from .clocks import ORDER, PAST, Agent, SyncClock
from .operations import Operation


class LaneSet(Protocol):
    """A set of lanes of a warp. word: the lanes as a 32-bit integer, lane 0 lowest."""

    @property
    def word(self) -> int: ...


class Machine(Protocol):
    """The interface of the machine that records facts."""

    @property
    def facts(self) -> FactLog: ...


class DependentWarp(Protocol):
    """The interface of a warp for programmatic dependent launch."""

    span: Span | None
    dependence: GridDependence | None

    @property
    def agent(self) -> Agent: ...
    @property
    def place(self) -> str: ...
    @property
    def mask(self) -> LaneSet: ...
    @property
    def all_lanes(self) -> LaneSet: ...
    @property
    def origin(self) -> Origin: ...
    @property
    def gpu(self) -> Machine: ...


@dataclass(frozen=True)
class EarlyAccess(Fact):
    """An access to global memory that the previous grid may still be using.

    operation: such as "TMA load". buffer: its name. late: the number of lanes that did not wait with the others of
    their warp; 0 if no lane has waited. before: the previous grid.
    """

    operation: Operation
    buffer: str
    writes: bool
    late: int
    before: GridBefore


NOTHING_KNOWN: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
"""The harmless buffers of a previous grid that may use all of global memory."""


class GridBefore:
    """The previous grid, as a cluster sees it.

    harmless: the buffers that it does not write, and those that it does not use: they may be read, and written, early.
    waits: the locations of the cluster's waits for it, by role.
    """

    __slots__ = ("agent", "harmless", "waits")

    def __init__(self, agent: Agent, harmless: tuple[frozenset[str], frozenset[str]] = NOTHING_KNOWN) -> None:
        self.agent = agent
        self.harmless = harmless
        self.waits: dict[str, Span | None] = {}


class GridDependence:
    """The order between the end of the previous grid and the next operation of one warp.

    waited: the lanes that have waited, if only some have and the warp has not converged since; else 0.
    """

    __slots__ = ("before", "waited")

    def __init__(self, before: GridBefore) -> None:
        self.before = before
        self.waited = 0

    def wait(self, w: DependentWarp) -> None:
        """Execute griddepcontrol.wait for the active lanes."""
        self.before.waits.setdefault(w.place, w.span)
        if self.waited or not self._follows(w):
            self.waited |= w.mask.word
            w.agent.acquire_epoch(self.before.agent.index, self.before.agent.epoch)
        if self.waited in (0, w.all_lanes.word):
            w.dependence = None

    def converged(self) -> None:
        """Record that the warp has reconverged, so that every lane has acquired the same clocks."""
        self.waited = 0

    def acquired(self, w: DependentWarp, released: SyncClock) -> None:
        """Record that the active lanes acquired the release of an mbarrier."""
        if self.waited and released.follows(self.before.agent.index, self.before.agent.epoch):
            self.waited |= w.mask.word

    def check(self, w: DependentWarp, operation: Operation, buffer: str, writes: bool) -> None:
        """Record an access to the global buffer `buffer` that the previous grid may still be using."""
        if buffer in self.before.harmless[writes]:
            return
        late = (w.mask.word & ~self.waited).bit_count() if self.waited else 0
        if late or (not self.waited and not self._follows(w)):
            if not w.gpu.facts.seen(EarlyAccess, w.span):
                w.gpu.facts.record(EarlyAccess(w.origin, operation, buffer, writes, late, self.before))
        elif not self.waited:
            w.dependence = None

    def _follows(self, w: DependentWarp) -> bool:
        """Return whether the end of the previous grid lies in the past of the warp.

        Its writes become visible to the whole grid as soon as one thread has waited, so no release has to lie between.
        """
        clocks, agent = w.agent.clocks, self.before.agent
        return clocks.item(ORDER, agent.index) >= agent.epoch or clocks.item(PAST, agent.index) >= agent.epoch
