"""Barriers that count threads: `bar.sync` and `barrier.cluster`."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import field
from typing import ClassVar

from tirx_mini.hardware import NAMED_BARRIERS
from tirx_mini.ir import Span
from tirx_mini.records import dataclass

from ..facts import Fault
from ..ordering import Agent, Causality, Clocks, SyncClock
from .barriers import (
    BadThreadCount,
    ClusterBarrierMisuse,
    NoSuchBarrier,
    RoundsUnordered,
    ThreadCountsDiffer,
    UnpairedClusterBarrier,
)
from .interfaces import Blocking, Cluster, Cta, Wait, Warp
from .masks import LANES


@dataclass
class CountingWait(Wait):
    """A wait for the current round of a counting barrier."""

    instruction: ClassVar[str] = "barrier"
    barrier: CountingBarrier
    agent: Agent | None = field(default=None, init=False)


@dataclass
class NamedBarrierWait(CountingWait):
    """A wait at bar.sync. number: of the barrier; threads: the expected number of threads."""

    instruction: ClassVar[str] = "bar.sync"
    number: int
    threads: int

    @property
    def subject(self) -> str:
        return f"{self.instruction} {self.number}"


@dataclass
class ClusterBarrierWait(CountingWait):
    """A wait at barrier.cluster.wait."""

    instruction: ClassVar[str] = "barrier.cluster"


@dataclass
class Round:
    """The arrivals of one round. epochs: of each agent. places: the arriving warps and locations. everyone: whether the
    round is for the whole CTA. expected: the threads that it is for, once it is complete.

    divergent: the arrived lanes of warps whose lanes arrive separately.
    holding: threads for which the condition of a reduction holds.
    """

    epochs: dict[int, int] = field(default_factory=dict[int, int])
    places: list[tuple[str, Span | None]] = field(default_factory=list[tuple[str, Span | None]])
    everyone: bool = False
    expected: int = 0
    divergent: dict[Warp, int] = field(default_factory=dict[Warp, int])
    holding: int = 0

    @property
    def twice(self) -> str:
        """The warp that arrived more than once; "" if none did."""
        places = [place for place, _ in self.places]
        return next((place for place in places if places.count(place) > 1), "")


class CountingBarrier:
    """A reusable barrier for a number of threads.

    expected: threads of a round. everyone: whether they are all threads of the CTA that have not ended.
    arrived: threads so far. current: the arrivals of this round; previous: of the last complete round.
    rounds: the number of completed rounds. time: of the latest arrival, in cycles.
    """

    __slots__ = (
        "arrived", "current", "everyone", "expected", "name", "previous", "released", "rounds", "time", "waiters",
    )  # fmt: skip

    def __init__(self, name: str, causality: Causality) -> None:
        self.name = name
        self.released = causality.sync_clock()
        self.arrived = 0
        self.expected = 0
        self.everyone = False
        self.rounds = 0
        self.time = 0.0
        self.waiters: list[CountingWait] = []
        self.current = Round()
        self.previous: Round | None = None

    def arrive(self, w: Warp, threads: int, releases: bool = True) -> None:
        """Count the arrival of `threads` threads of `w`, with release semantics unless `releases` is false."""
        self.current.epochs[w.agent.index] = w.agent.epoch
        self.current.places.append((w.place, w.span))
        if releases:
            w.release(self.released)
        else:
            self.released.release_past(w.agent)
        self.arrived += threads
        if w.time > self.time:
            self.time = w.time

    def enqueue(self, wait: CountingWait) -> CountingWait:
        """Add a wait for the current round."""
        wait.agent = wait.warp.agent
        self.waiters.append(wait)
        return wait

    def complete(self, latency: float) -> None:
        """Complete the round: the waiting warps acquire its clock, and a new round begins."""
        time = self.time + latency
        for wait in self.waiters:
            assert wait.agent is not None
            wait.agent.acquire(self.released)
            wait.over = True
            wait.warp.gpu.wake(wait.warp, time)
        for warp, word in self.current.divergent.items():
            if word == warp.all_lanes.word:  # each lane has acquired: so has the warp
                warp.lanes.whole.acquire(self.released)
        self.waiters = []
        self.previous, self.current = self.current, Round()
        self.previous.everyone, self.previous.expected = self.everyone, self.expected
        self.arrived = 0
        self.rounds += 1
        self.released.clear()


class NamedBarriers:
    """The named barriers of a CTA (PTX ISA: "bar", "barrier")."""

    def __init__(self, cta: Cta) -> None:
        self.cta = cta
        self.barriers: dict[int, CountingBarrier] = {}

    def sync(self, w: Warp, number: int, count: int | None, aligned: bool = True) -> Blocking:
        """Execute bar.sync: arrive, and wait for `count` threads, or for the whole CTA if it is None.

        aligned: whether the lanes of a warp must arrive together, as for all instructions but barrier.sync.
        """
        barrier = self._arrive(w, number, count, "bar.sync" if aligned else "", meets=True)
        if barrier.arrived >= self._needed(barrier):
            w.agent.acquire(barrier.released)
            w.time = max(w.time, barrier.time + w.gpu.spec.bar_latency)
            barrier.complete(w.gpu.spec.bar_latency)
        else:
            yield barrier.enqueue(NamedBarrierWait(w, w.time, w.span, barrier, number, barrier.expected))

    def count(self, w: Warp, number: int, holding: int) -> Generator[Wait, None, int]:
        """Execute bar.red: synchronise the whole CTA as `sync` does, and return the sum of the warps' contributions."""
        barrier = self._barrier(w, number, None)
        current = barrier.current
        current.holding += holding
        yield from self.sync(w, number, None)
        return current.holding

    def arrive(self, w: Warp, number: int, threads: int, aligned: bool = True) -> None:
        """Execute bar.arrive: arrive without waiting."""
        barrier = self._arrive(w, number, threads, "bar.arrive" if aligned else "", meets=False)
        if barrier.arrived >= self._needed(barrier):
            barrier.complete(w.gpu.spec.bar_latency)

    def warp_exited(self) -> None:
        """Complete the barriers at which only exited threads are missing."""
        for barrier in self.barriers.values():
            if barrier.arrived and barrier.arrived >= self._needed(barrier):
                barrier.complete(self.cta.gpu.spec.bar_latency)

    def _arrive(self, w: Warp, number: int, count: int | None, what: str, meets: bool) -> CountingBarrier:
        """Count an arrival. what: the instruction that requires a converged warp, "" if none does.

        meets: whether the lanes wait, so that they reconverge.
        """
        barrier = self._barrier(w, number, count)
        if (w.converged(what) if what else w.mask is w.all_lanes) and meets:
            w.meet()
        previous = barrier.previous
        if previous is not None and not (barrier.everyone and previous.everyone):
            self._check_rounds(w, number, previous)
        barrier.arrive(w, LANES if w.mask is w.all_lanes else w.mask.count)
        if not what and meets and w.mask is not w.all_lanes:
            barrier.current.divergent[w] = barrier.current.divergent.get(w, 0) | w.mask.word
        return barrier

    def _barrier(self, w: Warp, number: int, count: int | None) -> CountingBarrier:
        limit = w.gpu.image.launch.threads
        most = -(-limit // LANES) * LANES
        threads = most if count is None else count
        if not 0 <= number < NAMED_BARRIERS:
            raise Fault(NoSuchBarrier(w.origin, number, NAMED_BARRIERS))
        if threads % LANES or not 0 < threads <= most:
            raise Fault(BadThreadCount(w.origin, number, threads, limit))
        barrier = self.barriers.get(number)
        if barrier is None:
            barrier = self.barriers[number] = CountingBarrier(f"barrier {number}", self.cta.cluster.causality)
        if barrier.arrived and barrier.expected != threads:
            place, span = barrier.current.places[0]
            w.gpu.facts.record(ThreadCountsDiffer(w.origin, number, threads, barrier.expected, place, span))
        barrier.expected = threads
        barrier.everyone = count is None
        return barrier

    def _check_rounds(self, w: Warp, number: int, previous: Round) -> None:
        """Record a warp that may still arrive in the previous round, which belongs to other warps."""
        place, span = previous.places[0]
        if all(w.agent.happens_after(agent, epoch) for agent, epoch in previous.epochs.items()):
            return
        if not w.gpu.facts.seen(RoundsUnordered, w.span, span):
            again = w.place if w.agent.index in previous.epochs else previous.twice
            counts = self.barriers[number].expected, previous.expected
            w.gpu.facts.record(RoundsUnordered(w.origin, number, place, span, *counts, again))

    def _needed(self, barrier: CountingBarrier) -> int:
        """Return the number of threads that must arrive. A barrier for the whole CTA does not wait for threads that
        have exited."""
        return barrier.expected - LANES * self.cta.exited if barrier.everyone else barrier.expected


class ClusterBarrier:
    """The barrier of all threads of a cluster that have not exited (PTX ISA: "barrier.cluster")."""

    def __init__(self, cluster: Cluster, causality: Causality) -> None:
        self.cluster = cluster
        self.barrier = CountingBarrier("the cluster barrier", causality)
        self._released: SyncClock = causality.sync_clock()
        self._joined: dict[Warp, int] = {}

    def arrive(
        self, w: Warp, releases: bool = True, aligned: bool = True, fenced: Iterable[Clocks] = ()
    ) -> None:
        """Arrive once in this round, with release semantics unless the arrival is relaxed.

        aligned: whether all lanes of the warp arrive together, or each for itself.
        fenced: the clocks that fences before a relaxed arrival release (PTX ISA: "Release and Acquire Patterns").
        """
        if aligned:
            w.converged("barrier.cluster.arrive")
        elif w.mask is not w.all_lanes:
            w.executes_in_part("barrier.cluster.arrive")
        if aligned and self._joined.get(w) == self.barrier.rounds:
            raise Fault(UnpairedClusterBarrier(w.origin, ClusterBarrierMisuse.ARRIVES_TWICE))
        self._joined[w] = self.barrier.rounds
        for clocks in fenced:
            self.barrier.released.join_clocks(clocks)
        self.barrier.arrive(w, LANES if w.mask is w.all_lanes else w.mask.count, releases)
        self.check()

    def check(self) -> None:
        """Complete the round if no thread is missing."""
        cluster = self.cluster
        if self.barrier.arrived and self.barrier.arrived >= LANES * cluster.live_warps:
            self._released.copy_from(self.barrier.released)
            self.barrier.complete(cluster.gpu.spec.cluster_barrier_latency)

    def wait(self, w: Warp, aligned: bool = True) -> Blocking:
        """Wait for the round that this warp arrived in, with acquire semantics. aligned: as for `arrive`."""
        if aligned:
            w.converged("barrier.cluster.wait")
        elif w.mask is not w.all_lanes:
            w.executes_in_part("barrier.cluster.wait")
        joined = self._joined.pop(w, None) if aligned else self._joined.get(w)
        if joined is None:
            raise Fault(UnpairedClusterBarrier(w.origin, ClusterBarrierMisuse.WAITS_WITHOUT_ARRIVE))
        if joined == self.barrier.rounds:
            yield self.barrier.enqueue(ClusterBarrierWait(w, w.time, w.span, self.barrier))
        else:
            w.agent.acquire(self._released)
            w.time = max(w.time, self.barrier.time + w.gpu.spec.cluster_barrier_latency)


@dataclass
class GridBarrierWait(CountingWait):
    """The wait for all threads of the grid."""

    instruction: ClassVar[str] = "grid.sync"


class GridBarrier:
    """The barrier of all threads of a cooperative launch (CUDA: "Grid Synchronization").

    The library lets one thread of each CTA count in global memory, between two barriers of the CTA.
    """

    def __init__(self, causality: Causality, threads: int) -> None:
        self.barrier = CountingBarrier("the barrier of the grid", causality)
        self.barrier.expected = threads

    def sync(self, w: Warp) -> Blocking:
        """Arrive with the converged warp, and wait for all other threads."""
        barrier = self.barrier
        if w.converged("grid.sync"):
            w.meet()
        barrier.arrive(w, LANES if w.mask is w.all_lanes else w.mask.count)
        latency = 2 * (w.gpu.spec.bar_latency + w.gpu.spec.l2_far_latency)
        if barrier.arrived >= barrier.expected:
            w.agent.acquire(barrier.released)
            w.time = max(w.time, barrier.time + latency)
            barrier.complete(latency)
        else:
            yield barrier.enqueue(GridBarrierWait(w, w.time, w.span, barrier))
