"""The results of a run, and its progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from .doubts import Ends, OpenOrder
from .engines import UnreadColumns
from .facts import Entry, Fact
from .machine import BarrierEvent, FreshWait, RepeatedWait, RunningWarp
from .outputs import Unwritten
from .timeline import Timeline


@dataclass(frozen=True)
class Size:
    """The size of a partial run of a launch.

    waves: of CTAs or of rounds over tiles. trips: iterations of its long loops. alone: whether of one cluster only.
    """

    waves: int
    trips: int
    alone: bool = False


@dataclass(frozen=True)
class Sampled:
    """The partial runs that represent a whole launch. whole: its size. sizes: of the runs."""

    whole: Size
    sizes: tuple[Size, ...]


@dataclass(frozen=True)
class PlanNote:
    """The plan that answered a question.

    assumed, saved: the assumption and the work left out, as clauses. others: the plans that were not used, each with
    the reason.
    """

    name: str
    assumed: str
    saved: str
    others: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Outcome:
    """The results of a run.

    cycles: of the SM clock, from launch to the end of the last warp.
    facts: in the order in which they were first stated, the fault last.
    fault: what stopped the run, if something did.
    blocked: warps that wait for ever, in the order of their CTAs; each has its `waiting`.
    open_orders: where another order of the events may go otherwise; None where accesses were not checked.
    mixed: phases of mbarriers that another order may complete with other signals.
    tested: whether a test of an mbarrier found a phase complete that is not in another order.
    stats: figures by name. trace: the timeline, where asked for. barrier_log: likewise.
    repeats: waits of an mbarrier that found the same phase complete again. fresh_waits: first waits that passed before
        any phase was complete.
    unwritten: parts of arguments that no thread wrote, of a run with checks that came to its end. unread: results of
        MMAs that no thread read, likewise.
    sampled: of which parts it was worked out; None where all of the launch was run. plan: by which it was made.
    """

    cycles: float
    facts: tuple[Entry, ...]
    fault: Fact | None
    blocked: tuple[RunningWarp, ...]
    stats: dict[str, float]
    trace: Timeline | None = None
    barrier_log: list[BarrierEvent] | None = None
    repeats: tuple[RepeatedWait, ...] = ()
    fresh_waits: tuple[FreshWait, ...] = ()
    open_orders: tuple[OpenOrder, ...] | None = None
    mixed: Ends = field(default_factory=dict)
    tested: bool = False
    unwritten: tuple[Unwritten, ...] = ()
    unread: tuple[UnreadColumns, ...] = ()
    sampled: Sampled | None = None
    plan: PlanNote | None = None


class Standing:
    """The progress of a run, for a reader in another thread."""

    def __init__(self, share: Callable[[float], float]) -> None:
        self._share = share

    def share(self, flops: float = 0.0) -> float:
        """Return the fraction of ended CTAs, or of all `flops` executed, whichever is larger; at most 1.

        flops: 0 if not known. The CTAs of a persistent kernel all end at its end.
        """
        return min(1.0, self._share(flops))


Watch: TypeAlias = Callable[[Standing], None]
"""A function that is called at the start of each run."""
