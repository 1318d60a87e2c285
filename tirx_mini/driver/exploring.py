"""Exploration of all orders of a small kernel's events, up to equivalence.

An exploration modifies the schedule of the event clock by *holds*: a due event, of a warp or of an engine, waits until
nothing else can happen. Any warp and any engine may be slow, so a schedule with holds is a legal execution.

Two runs are equivalent if every wait observed the same phase of the same mbarrier, every arrival counted in the same
phase, and the findings and the written bytes are the same. (The computations between synchronisations need not be
compared: races are found by happens-before, whatever the order.) The search begins with the schedule without holds.
From the first run of each class, it tries each further hold of one later event; it ends when no run leads to a new
class.

The search covers the runs that are reachable by single holds from runs of new classes; holds of several events that
have no effect individually are not tried together. Events of CTAs outside the busiest cluster are not held: clusters
share only global memory, whose races are found in any order.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable, Iterator, Sequence

from tirx_mini.diagnose import Report
from tirx_mini.ir import PrimFunc
from tirx_mini.records import dataclass, replace
from tirx_mini.sim import (
    BarrierEvent,
    Circumstances,
    Event,
    HoldingClock,
    Outcome,
    Question,
    Signal,
    Simulation,
    place_key,
)

from .answering import judged


@dataclass(frozen=True)
class Exploration:
    """The result of an exploration. report: of the first run that is not ok, else of the schedule without holds.
    schedules: the number of runs.

    classes: the number of equivalence classes. complete: whether the search was exhaustive. held: the events held in
    the reported run, in words.
    """

    report: Report
    schedules: int
    classes: int
    complete: bool
    held: tuple[str, ...] = ()


def explored(func: PrimFunc, args: Sequence[object], question: Question) -> Exploration:
    """Run a lowered kernel in all orders of its events, up to equivalence, until one fails or the limit is reached.

    The arguments hold the results of the last run. Raises `TirxError` for a kernel that cannot be translated, and
    `ArgumentError` for arguments that do not fit the kernel.
    """
    search, limit = _Search(func, args, question), question.limit
    first = search.run(())
    if not first.report.ok:
        return Exploration(first.report, 1, 1, False)
    classes = {first.fingerprint}
    waiting = deque([first])
    runs = 1
    while waiting:
        parent = waiting.popleft()
        for number in parent.choices():
            if runs == limit:
                return Exploration(first.report, runs, len(classes), False)
            run = search.run((*parent.holds, number))
            runs += 1
            new = run.fingerprint not in classes
            classes.add(run.fingerprint)
            if not run.report.ok:
                return Exploration(run.report, runs, len(classes), False, run.held())
            if new:
                waiting.append(run)
    return Exploration(first.report, runs, len(classes), True)


@dataclass(frozen=True)
class _Run:
    """A run with its holds, its events, and its equivalence class."""

    holds: tuple[int, ...]
    events: Sequence[Event]
    report: Report
    fingerprint: Hashable

    def choices(self) -> Iterator[int]:
        """Return the events after the last hold that may be held as well."""
        counts = Counter(event.cluster for event in self.events if event.cluster >= 0)
        busiest = max(counts, key=counts.__getitem__, default=-1)
        start = self.holds[-1] + 1 if self.holds else 0
        return (number for number in range(start, len(self.events)) if self.events[number].cluster in (busiest, -1))

    def held(self) -> tuple[str, ...]:
        return tuple(self.events[number].text for number in self.holds)


class _Search:
    def __init__(self, func: PrimFunc, args: Sequence[object], question: Question) -> None:
        self._simulation = Simulation(func, args, question)
        self._simulation.keep()

    def run(self, holds: tuple[int, ...]) -> _Run:
        """Run with the given holds, from the initial values of the arguments."""
        self._simulation.restore()
        clocks: list[HoldingClock] = []

        def run(circumstances: Circumstances) -> Outcome:
            clocks.append(HoldingClock(holds))
            outcome = self._simulation.run(replace(circumstances, clock=clocks[-1]))
            return replace(outcome, tested=False)  # holds make tests execute early

        report = judged(self._simulation, run)
        found = tuple(sorted((f.code, place_key(f.span)) for f in report.findings))
        signals = frozenset(Counter(_signals(report.stats["barriers"])).items())
        fingerprint = (report.verdict, found, hash(self._simulation.results()), signals)
        stats = {name: value for name, value in report.stats.items() if name != "barriers"}
        return _Run(holds, clocks[0].events, replace(report, stats=stats), fingerprint)


def _signals(log: Sequence[BarrierEvent]) -> Iterator[Hashable]:
    """Yield each wait and arrival with the phase that it observed or counted in."""
    for event in log:
        if event.signal is not Signal.COMPLETE:
            place = (event.cta, event.barrier, event.signal, event.role, place_key(event.span))
            yield *place, event.arrivals, event.nbytes, event.phase
