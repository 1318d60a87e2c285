"""The timeline of a run: the actor, the start and the end of each action, and every change of every mbarrier.

Times are cycles of the SM clock since the launch. A `Track` is the time line of a warp, or of an engine of a CTA.
Renderers and rules read a `Timeline`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import Enum
from functools import cached_property

from tirx_mini.display import Displayed
from tirx_mini.ir import Span
from tirx_mini.records import dataclass

from .machine import Signal


class TrackKind(Enum):
    """The kind of actor of a track. The values are display names."""

    WARP = "warp"
    TENSOR = "tensor core"
    TMA_LOAD = "TMA loads"
    TMA_STORE = "TMA stores"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, slots=True)
class Track:
    """A warp or an engine of one CTA. cta: its linear index in the grid, x fastest. warp: its number, for a warp."""

    cta: int
    kind: TrackKind
    warp: int | None = None


class Activity(Enum):
    """The activity in an interval: a warp executes (RUN) or is blocked (WAIT), or an engine works (BUSY)."""

    RUN = "run"
    WAIT = "wait"
    BUSY = "busy"

    def __str__(self) -> str:
        return self.value


class Awaited(Enum):
    """The awaited object of a wait other than for an mbarrier, by the name of the wait (`isa.Instruction.awaits`)."""

    THREADS = "bar.sync"
    CLUSTER = "barrier.cluster"
    COLUMNS = "tcgen05.alloc"
    TENSOR_LOADS = "tcgen05.ld"
    TENSOR_STORES = "tcgen05.st"
    WARPGROUP_MMAS = "wgmma-group"
    BULK_COPIES = "bulk-group"
    COPIES = "cp.async-group"
    REGISTERS = "setmaxnreg"

    @classmethod
    def named(cls, name: str) -> Awaited | None:
        """Return the awaited object for the name of a wait: THREADS for "bar.sync 0"."""
        word = name.split(" ")[0]
        return cls(word) if word in cls._value2member_map_ else None

    @property
    def threads(self) -> bool:
        """Return whether the wait is for other threads at a barrier."""
        return self in (Awaited.THREADS, Awaited.CLUSTER)


@dataclass(frozen=True, slots=True)
class Place:
    """An mbarrier. cta: the CTA whose shared memory holds it. name: its source name, "tma2mma[1]"."""

    cta: int
    name: str


@dataclass(frozen=True, slots=True)
class Interval:
    """The action of one track from `start` to `end`, in cycles.

    The intervals of a warp follow one another. Those of an engine may overlap: several copies are in flight at once.

    name: RUN: the instruction in PTX, or "arithmetic", "load", "store". WAIT: the awaited object, such as "tma2mma[1]",
        "bar.sync 0", "bulk-group". BUSY: the work, such as "MMA", "load A", "store D".
    span: the source location; the user's line is `span.user`.
    operands: displayed (name, value) pairs, such as ("bar", "tma2mma[1]"), ("bytes", "32768").
    stage: of the pipeline: the index of the mbarrier, or of the tile in shared memory; None without one.
    barrier: for a wait, the awaited mbarrier; for an engine, the one that its end signals.
    phase: the awaited or signalled phase of that barrier, counted from 0.
    moved: for a copy, the start and end of its transfer to shared memory (a load) or from it (a store); None for
        others.
    """

    track: Track
    activity: Activity
    name: str
    start: float
    end: float
    span: Span | None = None
    operands: tuple[tuple[str, str], ...] = ()
    stage: int | None = None
    barrier: Place | None = None
    phase: int | None = None
    moved: tuple[float, float] | None = None

    @property
    def awaited(self) -> Awaited | None:
        """The object of a wait; None for an mbarrier, or for memory that another thread writes."""
        waits = self.activity is Activity.WAIT and self.barrier is None
        return Awaited.named(self.name) if waits else None

    @property
    def cycles(self) -> float:
        """The duration in cycles."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class BarrierChange:
    """A state change of an mbarrier.

    source: the track that made it; for COMPLETE, the one that made the last change before.
    phase: the number of phases completed before it, which is the index of its phase.
    pending: the arrivals missing in the phase after it. tx: the bytes still expected (negative: arrived and not
        expected yet). After COMPLETE they belong to the next phase.
    """

    time: float
    barrier: Place
    source: Track
    kind: Signal
    phase: int
    pending: int
    tx: int
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class CtaTime:
    """The lifetime of a CTA. name: "CTA (3, 0)". sm: its SM. cluster, rank: its position. start, end: in cycles."""

    cta: int
    name: str
    sm: int
    cluster: int
    rank: int
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Tile:
    """One output tile of a CTA. name: the part of the output, "D[0:128, 256:384]", or "tile 2" if unknown.

    start, end: from the end of the CTA's work for the previous tile to the end of its own, in cycles.
    multiplied: the end of its last MMA, which may precede `start`, while the previous tile is written; 0 without MMAs.
    """

    cta: int
    start: float
    end: float
    name: str
    multiplied: float = 0.0


@dataclass(frozen=True)
class Timeline(Displayed):
    """The recorded events of one run. intervals: by start. changes: by time. ctas: by number. tiles: by CTA, then
    start.

    roles: of each warp, by its issued operations: "TMA", "MMA", "write-back", "TMA, MMA", "all".
    cycles: the time at which the kernel ended, or stopped. stuck: the time of a deadlock; None for a run that ended.
    label: the kernel, the GPU and the result of the run, for a heading. clock_ghz: of the SM clock; None if unknown.
    """

    intervals: tuple[Interval, ...] = ()
    changes: tuple[BarrierChange, ...] = ()
    ctas: tuple[CtaTime, ...] = ()
    tiles: tuple[Tile, ...] = ()
    roles: Mapping[Track, str] = field(default_factory=dict[Track, str])
    cycles: float = 0.0
    stuck: float | None = None
    label: str = ""
    clock_ghz: float | None = None

    def __repr__(self) -> str:
        return f"<Timeline {self.label!r}: {len(self.ctas)} CTAs, {len(self.intervals)} intervals>"  # all are megabytes

    def ended_by(self, wait: Interval) -> BarrierChange | None:
        """Return the change that completed the awaited phase; None for other waits or waits without end.

        In a picture, an arrow leads from its (source, time) to the end of the wait.
        """
        if wait.barrier is None or wait.phase is None:
            return None
        ends = self._ends.get((wait.barrier, wait.phase), ())
        at = bisect_right([change.time for change in ends], wait.end) - 1  # more than one only after a second init
        return ends[at] if at >= 0 else None

    @cached_property
    def _ends(self) -> dict[tuple[Place, int], list[BarrierChange]]:
        """The last change before each completion of a phase, by phase."""
        ends: dict[tuple[Place, int], list[BarrierChange]] = {}
        last: dict[tuple[Place, int], BarrierChange] = {}
        for change in self.changes:
            phase = change.barrier, change.phase
            if change.kind is Signal.COMPLETE:
                ends.setdefault(phase, []).append(last.get(phase, change))
            else:
                last[phase] = change
        return ends


def base_name(name: str) -> str:
    """Return the name of a barrier without its index: "tma2mma" for "tma2mma[1]"."""
    return name.partition("[")[0]


def covered(spans: Iterable[tuple[float, float]]) -> float:
    """Return the total length of the union of the spans (start, end)."""
    total, reached = 0.0, float("-inf")
    for start, end in sorted(spans):
        if end > reached:
            total += end - max(start, reached)
            reached = end
    return total
