"""Facts, signals and waits that are common to all kinds of barriers."""

from __future__ import annotations

from collections.abc import Hashable
from enum import Enum, auto

from tirx_mini.ir import Span
from tirx_mini.records import dataclass

from ..facts import Fact, Origin
from .memory import Element


class BarrierUse(Enum):
    """The effect of an operation on the mbarrier that it names."""

    INVALIDATE = auto()
    ARRIVE = auto()
    EXPECT = auto()
    WAIT = auto()
    TEST = auto()
    COMMIT = auto()
    LOAD = auto()


class Signal(Enum):
    """A kind of signal to an mbarrier. The values are the words in a barrier's log."""

    ARRIVE = "arrive"
    EXPECT_TX = "expect_tx"
    TMA_LOAD = "TMA load"
    BULK_COPY = "bulk copy"
    ST_ASYNC = "st.async"
    TRY_CANCEL = "try_cancel"
    COMPLETE_TX = "complete_tx"
    COMMIT = "commit"
    CP_ASYNC = "cp.async"
    WAIT = "wait"
    COMPLETE = "complete"

    @property
    def delivers(self) -> bool:
        """Return whether the signal delivers bytes to a phase rather than an arrival."""
        return self in _DELIVERIES

    def __str__(self) -> str:
        return self.value


_DELIVERIES = (Signal.TMA_LOAD, Signal.BULK_COPY, Signal.ST_ASYNC, Signal.TRY_CANCEL, Signal.COMPLETE_TX)


@dataclass(frozen=True)
class BarrierEvent:
    """A state change of an mbarrier, for its log.

    time: in cycles. cta, barrier: the mbarrier. signal: the kind of event. role, span: the actor and the location; ""
    and None for the completion of a phase. arrivals, nbytes: the counts signalled. phase: the number of phases
    completed before.
    """

    time: float
    cta: str
    barrier: str
    signal: Signal
    role: str
    span: Span | None
    arrivals: int
    nbytes: int
    phase: int


@dataclass
class Arrival:
    """The signals of one kind from one source location. role: the issuing role. count: arrivals; nbytes: bytes expected
    or delivered so far."""

    signal: Signal
    role: str
    span: Span | None
    count: int = 0
    nbytes: int = 0


@dataclass(frozen=True)
class CompletedWait:
    """A wait that found a phase complete. epoch: of the waiting agent. role, span: the waiter and its location. time:
    its own. lanes: the number of lanes that waited."""

    epoch: int
    role: str
    span: Span | None
    time: float
    lanes: int


@dataclass
class WaitCount:
    """The number of times that a role found a phase complete.

    time, phase: of the first wait, with the number of phases completed then. seen, span: of the last wait.
    """

    time: float
    phase: int
    count: int = 0
    seen: int = -1
    span: Span | None = None


@dataclass(frozen=True)
class RepeatedWait:
    """A wait that found the same phase complete as an earlier execution by the same warp; it is no fact by itself.

    origin: of the warp and its wait. barrier: the mbarrier. phase: the number of its completed phases at both waits.
    """

    origin: Origin
    barrier: Element
    phase: int


@dataclass(frozen=True)
class FreshWait:
    """A warp's first wait for a barrier, which passed before any phase completed; it is no fact by itself.

    origin: of the warp and its wait. barrier: the mbarrier. warp: the number of the warp in its CTA.
    """

    origin: Origin
    barrier: Element
    warp: int


@dataclass(frozen=True)
class RemoteSignal:
    """The last signal by an agent of another CTA, or by the commits of a thread. epoch: of that agent. own: whether it
    is one of the barrier's CTA.
    """

    epoch: int
    signal: Signal
    role: str
    span: Span | None
    own: bool = False


# -- facts ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MbarrierFact(Fact):
    """A fact about an mbarrier. barrier: its name in the source. init: the location of its initialisation."""

    barrier: Element
    init: Span | None


@dataclass(frozen=True)
class BadInitCount(MbarrierFact):
    """mbarrier.init with a count outside the hardware's range. most: the largest valid count."""

    count: int
    most: int


@dataclass(frozen=True)
class Reinitialised(MbarrierFact):
    """A second mbarrier.init without mbarrier.inval. init: the location of the first."""

    @property
    def other(self) -> Span | None:
        return self.init


@dataclass(frozen=True)
class UninitialisedBarrier(MbarrierFact):
    """An operation on memory that holds no mbarrier. use: the operation. ended: the mbarrier.inval of the last mbarrier
    there."""

    use: BarrierUse
    ended: Span | None = None


@dataclass(frozen=True)
class UnorderedInit(MbarrierFact):
    """A use of an mbarrier that its initialisation does not happen before. owner: the CTA of the barrier. remote:
    whether the user is in another CTA.
    """

    owner: str = ""
    remote: bool = False

    @property
    def other(self) -> Span | None:
        return self.init


@dataclass(frozen=True)
class MissingInitFence(MbarrierFact):
    """A use of an mbarrier by another CTA or the async proxy without a fence of the initialising thread. origin: of the
    init; use: of the use. remote: whether by another CTA. proxy: whether by an asynchronous operation. other_lane:
    whether another lane of the warp executed the fence.
    """

    use: Span | None
    remote: bool
    proxy: bool
    other_lane: bool

    @property
    def variety(self) -> Hashable:
        return self.proxy


@dataclass(frozen=True)
class TxCountOverflow(MbarrierFact):
    """A tx-count that exceeds its range. tx: the resulting count, in bytes. most: its largest magnitude."""

    tx: int
    most: int


@dataclass(frozen=True)
class ArrivalOverflow(MbarrierFact):
    """An arrival beyond the pending count of the phase.

    expected: arrivals of a phase. tx: bytes outstanding. early: whether the arrivals of one round fit, so that this one
    belongs to the next round.
    """

    expected: int
    tx: int
    early: bool

    @property
    def other(self) -> Span | None:
        return self.init


@dataclass(frozen=True)
class EarlySignal(MbarrierFact):
    """A byte-counting signal that may also complete in the phase before its own. signal: the kind of signal."""

    signal: Signal

    @property
    def other(self) -> Span | None:
        return self.init


@dataclass(frozen=True)
class UnorderedPhases(MbarrierFact):
    """A phase that the next one may overtake before a wait tests it. origin: of the wait.

    parity: of the awaited phase. last: the signal that completes the next phase. ends: whether a later phase ends the
    wait in every order.
    """

    parity: int
    last: Arrival | None
    ends: bool = False

    @property
    def other(self) -> Span | None:
        return self.last and self.last.span


@dataclass(frozen=True)
class StoreOverBarrier(MbarrierFact):
    """An ordinary write over an mbarrier. what: the operation, as in "TMA load".

    used: whether a phase was in progress, or an operation on the barrier followed.
    """

    what: str = "store"
    used: bool = True

    @property
    def other(self) -> Span | None:
        return self.init

    @property
    def variety(self) -> Hashable:
        return self.used


@dataclass(frozen=True)
class BarrierOfEndedCta(Fact):
    """An operation on an mbarrier of a CTA that has ended. owner: that CTA."""

    owner: str


@dataclass(frozen=True)
class MisalignedBarrier(Fact):
    """An mbarrier at an address that is not a multiple of 8 bytes. offset: its offset in shared memory."""

    offset: int


@dataclass(frozen=True)
class SignalAtExit(MbarrierFact):
    """A signal that may arrive after the CTA of its barrier has ended. signal: its source.

    relaxed: whether the CTA ends after a relaxed arrival that follows the signal.
    """

    signal: RemoteSignal
    relaxed: bool = False

    @property
    def variety(self) -> Hashable:
        return self.signal.own, self.relaxed


@dataclass(frozen=True)
class RemoteAccess:
    """The last access of one kind by an agent to the shared memory of another CTA. epoch: of that agent."""

    epoch: int
    writes: bool
    role: str
    span: Span | None


@dataclass(frozen=True)
class RemoteAccessAtExit(Fact):
    """An access to the shared memory of a CTA that may already have ended. access: its source.

    relaxed: whether the CTA ends after a relaxed arrival that follows the access.
    """

    access: RemoteAccess
    relaxed: bool


@dataclass(frozen=True)
class AccessBeforeStart(Fact):
    """An access to the shared memory of a CTA that may not have started. owner: that CTA."""

    owner: str
    writes: bool


@dataclass(frozen=True)
class IncompletePhase(MbarrierFact):
    """A phase with some but not all arrivals, for which no thread waits. arrived, expected: the counts; by: the
    arrivals."""

    arrived: int
    expected: int
    by: tuple[Arrival, ...]


@dataclass(frozen=True)
class NoSuchBarrier(Fact):
    """bar.sync of a barrier number that does not exist. number: of the barrier; barriers: the number of barriers."""

    number: int
    barriers: int


@dataclass(frozen=True)
class BadThreadCount(Fact):
    """A named barrier with an invalid thread count. limit: the threads of the CTA."""

    number: int
    threads: int
    limit: int


@dataclass(frozen=True)
class ThreadCountsDiffer(Fact):
    """A named barrier used for `threads` threads while `place` waits at it for `expected`, at `span`."""

    number: int
    threads: int
    expected: int
    place: str
    span: Span | None

    @property
    def other(self) -> Span | None:
        return self.span


@dataclass(frozen=True)
class RoundsUnordered(Fact):
    """An arrival at a named barrier that is not ordered after the previous round of another group of warps.

    place, span: a warp of that group, and its location. threads: those that this round is for; before: the previous
    one. again: the warp that arrives a second time without having waited, or "".
    """

    number: int
    place: str
    span: Span | None
    threads: int
    before: int
    again: str = ""

    @property
    def other(self) -> Span | None:
        return self.span


class ClusterBarrierMisuse(Enum):
    """A mismatch of barrier.cluster.arrive and barrier.cluster.wait."""

    ARRIVES_TWICE = auto()
    WAITS_WITHOUT_ARRIVE = auto()


@dataclass(frozen=True)
class UnpairedClusterBarrier(Fact):
    """barrier.cluster.arrive and barrier.cluster.wait that do not alternate."""

    misuse: ClusterBarrierMisuse

    @property
    def variety(self) -> Hashable:
        return self.misuse
