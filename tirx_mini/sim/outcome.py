"""The results of a run, and its progress."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import field
from typing import TypeAlias

from tirx_mini.records import dataclass

from .doubts import Ends, OpenOrder
from .engines import UnreadColumns
from .facts import Entry, Fact
from .machine import BarrierEvent, FreshWait, RepeatedWait, RunningWarp
from .outputs import Unwritten
from .timeline import Timeline


@dataclass(frozen=True)
class Size:
    """The size of a partial run of a launch.

    waves: of CTAs or of rounds over tiles. trips: iterations of its long loops. alone: whether it runs a single
    cluster.
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

    assumed, saved: the assumption and the saved work, as clauses. others: the rejected plans, each with the reason.
    """

    name: str
    assumed: str
    saved: str
    others: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Outcome:
    """The results of a run.

    cycles: of the SM clock, from launch to the end of the last warp.
    facts: in order of first occurrence, the fault last.
    fault: the fact that stopped the run, if any.
    blocked: the deadlocked warps, in the order of their CTAs; each has its `waiting`.
    open_orders: the points at which another order may differ; None in an unchecked run.
    mixed: phases of mbarriers that another order may complete with other signals.
    tested: whether an mbarrier test found a phase complete that is incomplete in another order.
    stats: figures by name. trace: the timeline, if requested. barrier_log: likewise.
    repeats: waits of an mbarrier that observed the same phase twice. fresh_waits: first waits that passed before any
        phase was complete.
    unwritten: the unwritten parts of arguments, in a completed run with checks. unread: the unread results of MMAs,
        likewise.
    sampled: the partial runs behind it; None if the whole launch was run. plan: the plan that produced it.
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
    mixed: Ends = field(default_factory=dict[tuple[str, int], Set[int]])
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

        flops: 0 if unknown. The CTAs of a persistent kernel all end at the end of the kernel.
        """
        return min(1.0, self._share(flops))


Watch: TypeAlias = Callable[[Standing], None]
"""A function that is called at the start of each run."""
