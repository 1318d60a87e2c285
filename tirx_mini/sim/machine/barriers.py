"""The common parts of barriers of every kind: the facts that they state, and the waits of their users."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from enum import Enum, auto

from tirx_mini.ir import Span

from ..facts import Fact, Origin
from .memory import Element


class BarrierUse(Enum):
    """The effect of an operation on an mbarrier that it names."""

    INVALIDATE = auto()
    ARRIVE = auto()
    EXPECT = auto()
    WAIT = auto()
    TEST = auto()
    COMMIT = auto()
    LOAD = auto()


class Signal(Enum):
    """A signal to an mbarrier, and its effect. The values are the words of a barrier's log."""

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
        """Return whether it brings bytes that a phase counts, and no arrival."""
        return self in _DELIVERIES

    def __str__(self) -> str:
        return self.value


_DELIVERIES = (Signal.TMA_LOAD, Signal.BULK_COPY, Signal.ST_ASYNC, Signal.TRY_CANCEL, Signal.COMPLETE_TX)


@dataclass(frozen=True)
class BarrierEvent:
    """A change of an mbarrier, for its log.

    time: in cycles. cta, barrier: which. signal: what happened. role, span: who did it, and where; "" and None for the
    completion of a phase. arrivals, nbytes: how much it brought. phase: how many phases were complete before.
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
    """Signals of one kind from one place. role: who. count: arrivals; nbytes: bytes expected or delivered, so far."""

    signal: Signal
    role: str
    span: Span | None
    count: int = 0
    nbytes: int = 0


@dataclass(frozen=True)
class CompletedWait:
    """A wait that found a phase complete. epoch: of the agent that waited. role, span: who and where. time: its own."""

    epoch: int
    role: str
    span: Span | None
    time: float


@dataclass
class WaitCount:
    """How often a role found a phase complete.

    time, phase: of the first time, the phases that were complete then. seen, span: the same of the last time.
    """

    time: float
    phase: int
    count: int = 0
    seen: int = -1
    span: Span | None = None


@dataclass(frozen=True)
class RepeatedWait:
    """A wait that found complete what the same wait of the same warp had found complete before: no fact by itself.

    origin: of the warp and its wait. barrier: which. phase: how many of its phases were complete, both times.
    """

    origin: Origin
    barrier: Element
    phase: int


@dataclass(frozen=True)
class FreshWait:
    """A warp's first wait for a barrier, which passed as no phase of the barrier was complete: no fact by itself.

    origin: of the warp and its wait. barrier: which. warp: its number in its CTA.
    """

    origin: Origin
    barrier: Element
    warp: int


@dataclass(frozen=True)
class RemoteSignal:
    """The last signal by an agent of another CTA. epoch: of that agent."""

    epoch: int
    signal: Signal
    role: str
    span: Span | None


# -- facts ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MbarrierFact(Fact):
    """Something about an mbarrier. barrier: which, as the source names it. init: where it was initialised."""

    barrier: Element
    init: Span | None


@dataclass(frozen=True)
class BadInitCount(MbarrierFact):
    """mbarrier.init with a count that the hardware does not have. most: the largest."""

    count: int
    most: int


@dataclass(frozen=True)
class Reinitialised(MbarrierFact):
    """A second mbarrier.init without mbarrier.inval. init: where the first one is."""

    @property
    def other(self) -> Span | None:
        return self.init


@dataclass(frozen=True)
class UninitialisedBarrier(MbarrierFact):
    """An operation on memory that holds no mbarrier. use: which. ended: the mbarrier.inval of the last that it held."""

    use: BarrierUse
    ended: Span | None = None


@dataclass(frozen=True)
class UnorderedInit(MbarrierFact):
    """The initialisation does not happen before this use. owner: the CTA of the barrier. remote: if it is another one.
    """

    owner: str = ""
    remote: bool = False

    @property
    def other(self) -> Span | None:
        return self.init


@dataclass(frozen=True)
class MissingInitFence(MbarrierFact):
    """A barrier is used by another CTA or through the async proxy, and no fence of the thread that initialised it lies
    between. origin: of the init; use: of the use. remote: whether by another CTA. proxy: whether by an asynchronous
    operation. other_lane: whether another lane of the warp executed the fence.
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
    """The tx-count leaves its range. tx: what it would be, in bytes. most: its largest magnitude."""

    tx: int
    most: int


@dataclass(frozen=True)
class ArrivalOverflow(MbarrierFact):
    """More arrivals in a phase than are pending.

    expected: of a phase. tx: bytes outstanding. early: whether the arrivals of one round fit, so this one belongs to
    the next round.
    """

    expected: int
    tx: int
    early: bool

    @property
    def other(self) -> Span | None:
        return self.init


@dataclass(frozen=True)
class EarlySignal(MbarrierFact):
    """No order keeps a signal, which counts bytes, out of the phase before its own. signal: which."""

    signal: Signal

    @property
    def other(self) -> Span | None:
        return self.init


@dataclass(frozen=True)
class UnorderedPhases(MbarrierFact):
    """No order keeps the next phase from completing before a wait tests this one. origin: of the wait.

    parity: of the phase waited for. last: the signal that completes the next phase.
    """

    parity: int
    last: Arrival | None

    @property
    def other(self) -> Span | None:
        return self.last and self.last.span


@dataclass(frozen=True)
class StoreOverBarrier(MbarrierFact):
    """An ordinary write overwrites an mbarrier. what: the operation, as in "TMA load".

    used: whether a phase was open, or an operation on the barrier followed.
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
    """An operation names an mbarrier of a CTA that has ended. owner: that CTA."""

    owner: str


@dataclass(frozen=True)
class MisalignedBarrier(Fact):
    """An mbarrier is not at a multiple of 8 bytes. offset: its byte of shared memory."""

    offset: int


@dataclass(frozen=True)
class SignalAtExit(MbarrierFact):
    """A CTA may end before a signal from another one gets to its barrier. signal: by whom, and where.

    relaxed: whether the CTA ends behind a relaxed arrival that follows the signal.
    """

    signal: RemoteSignal
    relaxed: bool = False


@dataclass(frozen=True)
class RemoteAccess:
    """The last access of one kind by an agent to the shared memory of another CTA. epoch: of that agent."""

    epoch: int
    writes: bool
    role: str
    span: Span | None


@dataclass(frozen=True)
class RemoteAccessAtExit(Fact):
    """A CTA may end before a thread of another one has accessed its shared memory. access: by whom, and where.

    relaxed: whether the CTA ends behind a relaxed arrival that follows the access.
    """

    access: RemoteAccess
    relaxed: bool


@dataclass(frozen=True)
class AccessBeforeStart(Fact):
    """A thread accesses the shared memory of a CTA that may not have started. owner: that CTA."""

    owner: str
    writes: bool


@dataclass(frozen=True)
class IncompletePhase(MbarrierFact):
    """Only some arrivals of a phase came, and no thread waits for it. arrived, expected: how many; by: from whom."""

    arrived: int
    expected: int
    by: tuple[Arrival, ...]


@dataclass(frozen=True)
class NoSuchBarrier(Fact):
    """bar.sync of a number that a CTA does not have. number: of the barrier; barriers: how many there are."""

    number: int
    barriers: int


@dataclass(frozen=True)
class BadThreadCount(Fact):
    """A named barrier for a number of threads that it cannot count. limit: threads of the CTA."""

    number: int
    threads: int
    limit: int


@dataclass(frozen=True)
class ThreadCountsDiffer(Fact):
    """A named barrier used for `threads` while `place` waits at it for `expected`, at `span`."""

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
    """A warp arrives at a named barrier, and nothing keeps it from the round before, which is another group's.

    place, span: one of that group, and where. again: who arrives a second time without having waited, "" if nobody.
    """

    number: int
    place: str
    span: Span | None
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
    """barrier.cluster.arrive and wait do not alternate."""

    misuse: ClusterBarrierMisuse

    @property
    def variety(self) -> Hashable:
        return self.misuse
