"""Every order of a small kernel's events, up to equivalence.

A schedule of the event scheduler is changed by *holds*: an event that is due, of a warp or of an engine, waits until
nothing else can happen. Any warp and any engine may be slow, so a schedule with holds is a legal execution.

Two runs are equivalent if every wait observed the same phase of the same mbarrier, every arrival counted in the same
phase, the findings are the same and so are the bytes written. (What the runs compute between synchronisations need not
be compared: races are found by happens-before, whatever the order.) The search begins with the schedule without holds.
Of each class that it meets, it takes the first run and tries each further hold of one later event; it ends when no run
leads to a new class.

Covered is what holds reach, one after the other, from runs of new classes; holds of several events none of which makes
a difference by itself are not tried together. Events of CTAs other than the busiest cluster are not held: clusters
share nothing but global memory, whose races are found in any order.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tirx_mini.hardware import GpuSpec, gpu_spec
from tirx_mini.ir import PrimFunc, Span

from .arguments import bind_arguments
from .clock import Clock
from .fair_share import FairShare
from .findings import Report
from .image import KernelImage
from .machine import Cta, Gpu
from .simulate import report_of
from .sites import place_key
from .tma import BulkCopy
from .translate import translate
from .warp import Warp

DEFAULT_LIMIT = 2000
"""Schedules that are tried at most."""


@dataclass(frozen=True)
class Event:
    """Something that happened: of whom, in which cluster (-1 where an engine serves all), who and where in words."""

    owner: Hashable
    cluster: int
    text: str


class HoldingClock(Clock):
    """A clock that holds the events of the given numbers, in the order in which they fall due.

    What the same warp or engine does later waits behind what is held. events: all that fell due. A `FairShare` does
    nothing but keep the time of others, and is never held.
    """

    def __init__(self, holds: Sequence[int] = ()) -> None:
        super().__init__()
        self.holds = frozenset(holds)
        self.events: list[Event] = []
        self._held: dict[Hashable, deque[tuple[Callable[..., None], tuple[Any, ...]]]] = {}

    def run(self) -> None:
        heap = self._heap
        while heap or self._held:
            if not heap:
                self._release()
                continue
            time, _, _, action, args = heapq.heappop(heap)
            self.now = max(self.now, time)
            if isinstance(getattr(action, "__self__", None), FairShare):
                action(*args)
                continue
            event = _event(action, args)
            self.events.append(event)
            if event.owner in self._held:
                self._held[event.owner].append((action, args))
            elif len(self.events) - 1 in self.holds:
                self._held[event.owner] = deque([(action, args)])
            else:
                action(*args)

    def _release(self) -> None:
        """Let what has been held longest happen now, and what waited behind it fall due."""
        owner = next(iter(self._held))
        for action, args in self._held.pop(owner):
            if isinstance(owner, Warp):
                owner.time = max(owner.time, self.now)
            action(*args)


def _event(action: Callable[..., None], args: tuple[Any, ...]) -> Event:
    engine = getattr(action, "__self__", action)
    if isinstance(engine, Warp):
        return Event(engine, engine.cta.cluster.index, f"{engine.place} at {_where(engine.span)}")
    copy = args[0] if args and isinstance(args[0], BulkCopy) else None
    if copy is not None:
        what = "TMA load" if copy.targets else "TMA store"
        return Event(id(copy), copy.cta.cluster.index, f"the {what} of {copy.role} at {_where(copy.span)}")
    cta = engine if isinstance(engine, Cta) else getattr(engine, "cta", None)
    cluster = cta.cluster.index if isinstance(cta, Cta) else -1
    return Event(id(engine), cluster, f"{type(engine).__name__} of {cta.name}" if cta else type(engine).__name__)


def _where(span: Span | None) -> str:
    return "its start" if span is None else f"line {span.user.line}"


@dataclass(frozen=True)
class Exploration:
    """report: of the first run that is not ok, else of the schedule without holds. schedules: runs that were made.

    classes: of equivalent runs that were met. complete: whether the search came to its end. held: the events that the
    reported run held, in words.
    """

    report: Report
    schedules: int
    classes: int
    complete: bool
    held: tuple[str, ...] = ()


def explore(
    func: PrimFunc, args: Sequence[Any], gpu: str | GpuSpec = "b200", *, limit: int = DEFAULT_LIMIT
) -> Exploration:
    """Run a lowered kernel in all orders of its events, up to equivalence, until one is wrong or `limit` were tried.

    The arguments hold the results of the last run. Raises `TirxError` for what cannot be translated, and what
    `simulate` raises.
    """
    search = _Search(func, args, gpu_spec(gpu))
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
    """One run: its holds, the events that fell due in it, and what makes it equivalent to others."""

    holds: tuple[int, ...]
    events: Sequence[Event]
    report: Report
    fingerprint: Hashable

    def choices(self) -> Iterator[int]:
        """The events behind the last hold that may be held too."""
        counts = Counter(event.cluster for event in self.events if event.cluster >= 0)
        busiest = max(counts, key=counts.__getitem__, default=-1)
        start = self.holds[-1] + 1 if self.holds else 0
        return (number for number in range(start, len(self.events)) if self.events[number].cluster in (busiest, -1))

    def held(self) -> tuple[str, ...]:
        return tuple(self.events[number].text for number in self.holds)


class _Search:
    def __init__(self, func: PrimFunc, args: Sequence[Any], spec: GpuSpec) -> None:
        self.func = func
        self.spec = spec
        self.arrays, scalars = bind_arguments(func, args)
        self.image: KernelImage = translate(func, scalars).image
        self.written = [buffer.slot for buffer in self.image.globals if buffer.written]
        self.originals = {slot: self.arrays[slot].copy() for slot in self.written}

    def run(self, holds: tuple[int, ...]) -> _Run:
        """One run with these holds, from the arguments' first values."""
        for slot in self.written:
            np.copyto(self.arrays[slot], self.originals[slot])
        clock = HoldingClock(holds)
        with np.errstate(all="ignore"):
            machine = Gpu(self.image, self.arrays, self.spec, log_barriers=True, clock=clock)
            outcome = machine.run()
        report = report_of(self.func, self.spec, machine, outcome)
        log = report.stats["barriers"]
        found = tuple(sorted((f.code, place_key(f.span)) for f in report.findings))
        data = tuple(self.arrays[slot].tobytes() for slot in self.written)
        fingerprint = (report.verdict, found, hash(data), frozenset(Counter(_signals(log)).items()))
        stats = {name: value for name, value in report.stats.items() if name != "barriers"}
        return _Run(holds, clock.events, replace(report, stats=stats), fingerprint)


def _signals(log: Sequence[tuple[Any, ...]]) -> Iterator[Hashable]:
    """Each wait and arrival with the phase that it observed, or counted in."""
    for _, cta, barrier, what, role, span, count, nbytes, phase in log:
        if what != "complete":
            yield cta, barrier, what, role, place_key(span), count, nbytes, phase
