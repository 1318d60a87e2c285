"""Issued MMAs: their order, the pipe of each thread, and the commits that track them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import field
from functools import cached_property
from typing import TypeAlias

from tirx_mini.ir import Span
from tirx_mini.isa import CP_SHAPES, PLAIN, BlockScales, InstructionDescriptor, Kept, SmemDescriptor, TmemOperand
from tirx_mini.records import dataclass

from ..machine import Cta, Mbarrier
from ..ordering import Actor, Agent, Operation, Proxy, Snapshot, SyncClock


@dataclass(eq=False)
class Mma:
    """A tcgen05.mma in the state of its issue.

    pipe: of its warp. pipeline: the key of MMAs that execute in order. issued: the epoch of the warp at the issue.
    column, lane: the start of the accumulator. kept: the treatment of its old contents. a, b: operand layouts,
    interned; a_start, b_start: their addresses, in bytes of shared memory, or an address in tensor memory. previous:
    the preceding MMA of its pipeline, until that is executed. metadata: its address, of a sparse A. timed, done:
    whether the tensor core has begun it, and executed it.
    """

    pipe: Pipe
    pipeline: Pipeline
    column: int
    a: SmemDescriptor | TmemOperand
    a_start: int
    b: SmemDescriptor
    b_start: int
    shape: InstructionDescriptor
    accumulate: bool
    cta_group: int
    snapshot: Snapshot
    issue: Issue
    issued: int
    time: float
    role: str
    span: Span | None
    previous: Mma | Repeat | None
    scales: BlockScales | None = None
    lane: int = 0
    kept: Kept = PLAIN
    metadata: int | None = None
    timed: bool = False
    done: bool = False

    @cached_property
    def plain(self) -> bool:
        """Return whether the MMA adds its product to the whole accumulator, or overwrites it."""
        return self.scales is None and self.kept == PLAIN and self.shape.selector is None

    def continues(self, first: Mma) -> bool:
        """Return whether this MMA can be merged into one product with the MMAs from `first` on."""
        return (
            self.accumulate
            and self.column == first.column
            and self.shape is first.shape
            and self.snapshot is first.snapshot
            and self.span is first.span
            and self.a is first.a
            and self.b is first.b
            and self.plain
            and first.kept == PLAIN
            and self.lane == first.lane
        )


@dataclass(eq=False)
class TmemCopy:
    """A tcgen05.cp in the state of its issue.

    Attributes named as in `Mma` have the same meaning.

    column, lane: of tensor memory. layout, start: of the source. shape, multicast: as in the instruction.
    """

    pipe: Pipe
    column: int
    lane: int
    layout: SmemDescriptor
    start: int
    shape: str
    multicast: str
    cta_group: int
    snapshot: Snapshot
    issue: Issue
    issued: int
    time: float
    role: str
    span: Span | None
    previous: None = None
    timed: bool = False
    done: bool = False

    @property
    def nbytes(self) -> int:
        """The number of bytes that the copy reads from shared memory."""
        rows, columns = CP_SHAPES[self.shape, self.multicast]
        return rows * columns * 4

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline of all copies with the same cta_group, which precede later MMAs."""
        return copies_of(self.cta_group)


@dataclass(frozen=True)
class Known:
    """A recorded sequence of MMAs of one thread, which each CTA of a partial run repeats.

    steps: for each MMA, (cycles from the first statement to its issue, of its arithmetic, bytes of operands). cycles:
    of the whole issue. span: of the last one.
    """

    steps: tuple[tuple[float, float, float], ...]
    cycles: float
    flops: float
    cta_group: int
    span: Span | None
    fill: float


@dataclass(eq=False)
class Burst:
    """A recorded sequence of MMAs as a thread has issued it, from cycle `time` on. Attributes named as in `Mma` have
    the same meaning."""

    pipe: Pipe
    known: Known
    time: float
    span: Span | None
    previous: None = None
    timed: bool = False
    done: bool = False

    @property
    def cta_group(self) -> int:
        return self.known.cta_group


@dataclass(eq=False)
class Series:
    """The MMAs of a loop, as one thread has issued them. groups: chains of continued MMAs.

    columns: of the accumulator in each CTA. steps: of each MMA, (cycles of its arithmetic, bytes of operands).
    """

    mmas: tuple[Mma, ...]
    groups: tuple[list[Mma], ...]
    columns: int
    steps: tuple[tuple[float, float], ...]

    @property
    def first(self) -> Mma:
        return self.mmas[0]

    @cached_property
    def actor(self) -> Actor:
        """The actor of the series' accesses in an unchecked run."""
        return actor_of_product(self.first)


@dataclass(eq=False)
class Repeat:
    """A series as another, unchecked thread issues it. times: the issue times of the MMAs.

    Attributes named as in `Mma` have the same meaning.
    """

    pipe: Pipe
    series: Series
    role: str
    span: Span | None
    previous: Mma | Repeat | None
    times: list[float] = field(default_factory=list[float])
    timed: bool = False
    done: bool = False

    @property
    def cta_group(self) -> int:
        return self.series.first.cta_group


Issued: TypeAlias = "Mma | TmemCopy | Burst | Repeat"

Pipeline = tuple[int, int, int, int, int, bool]
"""cta_group, the accumulator's address, M, N, K, and whether the MMA is an integer one, which stands for the kind
together with K."""


def copies_of(cta_group: int) -> Pipeline:
    """Return the pipeline of copies to tensor memory, in the form of an MMA's pipeline."""
    return cta_group, -1, 0, 0, 0, False


@dataclass(frozen=True)
class Issue:
    """The issue of an MMA, with the properties that order it against other operations. The attributes from `ordered` on
    are those of `Actor`.
    """

    agent: int
    epoch: int
    ordered: int
    awaited: int
    own: tuple[int, ...]
    handed: tuple[int, ...]


class Pipe:
    """The operations of one thread on the tensor core. warp: the number of its warp in the CTA. pending: MMAs not yet
    committed. queued, running: commits, in order.

    thread: as in `Actor`. elected: whether elect.sync chose the issuing thread. ordered: the epoch up to which a
    commit, or a fence before synchronisation, has ordered the operations. own, handed: the pipes from which other
    threads' MMAs were taken over, with both fences and without one.
    """

    def __init__(self, cta: Cta, agent: Agent, warp: int, thread: tuple[int, int]) -> None:
        self.cta = cta
        self.warp = warp
        self.thread = thread
        self.agent = agent
        self.pending: list[Issued] = []
        self.seen: tuple[int, int] = (-1, -1)
        self.elected = False
        self.snapshot: Snapshot | None = None
        self.issue: Issue | None = None
        self.pipeline: Pipeline | None = None
        self.ordered = 0
        self.own: tuple[int, ...] = ()
        self.handed: tuple[int, ...] = ()
        self.free = 0.0
        self.queued: deque[Batch] = deque()
        self.running: deque[Batch] = deque()
        self._arrivals: dict[Mbarrier, Agent] = {}

    def arrival(self, barrier: Mbarrier, released: SyncClock) -> tuple[Agent, SyncClock]:
        """Return the agent of the commits' arrivals at a barrier, and what the next of them releases.

        The arrivals of two commits at two barriers are in no order, so the phase of one says nothing of the other
        (PTX ISA: "tcgen05.commit"). Those at one barrier are equal.
        """
        causality = barrier.cta.cluster.causality
        agent = self._arrivals.get(barrier)
        if agent is None:
            agent = self._arrivals[barrier] = causality.agent(f"{self.agent.name} at {barrier.name}")
        whole = causality.transient_clock()
        whole.join(released)
        whole.release(agent)
        return agent, whole

    def fence(self) -> None:
        """Order the operations issued so far before those issued later."""
        self.ordered = self.agent.epoch
        self.agent.advance()
        self.snapshot = None

    @property
    def cluster_index(self) -> int:
        return self.cta.cluster.index

    @property
    def event(self) -> str:
        return f"the tensor core of {self.cta.name}"

    def delay(self, now: float) -> None:
        """Do nothing: commits have their own times."""


@dataclass(frozen=True)
class Batch:
    """The operations tracked by one commit. arrivals: the barriers it signals."""

    cta: Cta
    mmas: tuple[Issued, ...]
    arrivals: tuple[Mbarrier, ...]
    released: SyncClock
    role: str
    span: Span | None

    @property
    def products(self) -> tuple[Mma, ...]:
        """The MMAs of the batch."""
        return tuple(mma for mma in self.mmas if isinstance(mma, Mma))


def actor_of(mma: Mma | TmemCopy, operation: Operation) -> Actor:
    """Return the actor of an operation's accesses when the tensor core executes it."""
    actor = Actor(mma.snapshot, mma.pipe.cta.cluster.domain, Proxy.ASYNC, operation, mma.role, mma.span, mma.time)
    actor.tcgen05 = True
    actor.fenced = mma.snapshot.fenced
    actor.thread = mma.pipe.thread
    actor.awaited, actor.pipeline, actor.ordered = mma.issue.awaited, mma.pipeline, mma.issue.ordered
    actor.own, actor.handed = mma.issue.own, mma.issue.handed
    actor.issued = mma.issue.agent, mma.issued
    return actor


def actor_of_product(mma: Mma) -> Actor:
    """Return the actor of an MMA, which follows earlier MMAs of its pipeline and earlier copies."""
    actor = actor_of(mma, Operation.TCGEN05_MMA)
    actor.preceded = mma.pipeline, copies_of(mma.cta_group)
    actor.form = mma.shape.d
    return actor


def chain(mma: Issued) -> list[Issued]:
    """Return an MMA preceded by the pending MMAs of other pipes that must execute before it."""
    if mma.previous is None or mma.previous.pipe is mma.pipe:
        return [mma]
    found: list[Issued] = [mma]
    previous: Mma | Repeat | None = mma.previous
    while previous is not None and not previous.done:
        found.append(previous)
        previous = previous.previous
    return found[::-1]


def untimed(mma: Issued) -> list[Issued]:
    """Return the operations of an MMA's chain that the tensor core has not begun."""
    return [each for each in chain(mma) if not each.timed]


def pair(cta: Cta) -> Sequence[Cta]:
    """Return the two CTAs of a pair, even rank first."""
    ctas, even = cta.cluster.ctas, cta.rank & ~1
    return ctas[even : even + 2]
