"""What warps wait for: mbarriers, named barriers, cluster barriers.

A barrier counts arrivals, joins what those who arrive know (see `causality`), and wakes those who wait at the time of
the last arrival.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tirx_mini.ir import Span

from .causality import ORDER, Agent, Causality, Knowledge

if TYPE_CHECKING:
    from .machine import Cluster, Cta
    from .warp import Warp

MAX_COUNT = (1 << 20) - 1
"""Largest expected count and largest magnitude of the tx-count (PTX ISA: "mbarrier", contents)."""


@dataclass
class Wait:
    """Why a warp does not run.

    kind: "mbarrier", "bar.sync", "barrier.cluster", "tcgen05.alloc", "bulk-group", "setmaxnreg" …
    text: for what, in words. barrier: the barrier object, if it is one. parity: of the phase waited for (mbarrier).
    since: local time at which the wait began. span: where.
    """

    kind: str
    warp: Warp
    text: str
    barrier: Any = None
    parity: int | None = None
    since: float = 0.0
    span: Span | None = None
    details: dict[str, Any] = field(default_factory=dict)


@dataclass
class Arrival:
    """Arrivals of one kind at one place: what ("arrive", "expect_tx", "TMA load", "commit"), who, how often."""

    what: str
    role: str
    span: Span | None
    count: int = 0
    nbytes: int = 0
    last_time: float = 0.0


@dataclass(frozen=True)
class Look:
    """A wait that found a phase complete: the waiting agent's epoch, who it was, where, and its local time."""

    epoch: int
    role: str
    span: Span | None
    time: float


@dataclass
class Passes:
    """How often a role found a phase complete. time, phase: of the first time, the phases that were complete then."""

    time: float
    phase: int
    count: int = 0


class Mbarrier:
    """An mbarrier object in the shared memory of `cta` (PTX ISA: "mbarrier").

    expected: arrivals a phase, 0 where it was never initialised. pending: still missing in this phase. tx: bytes
    expected and not yet arrived (negative: arrived and not yet expected). phase: completed phases; the current one has
    parity phase & 1. init_span: where it was initialised; fence_epoch: of that agent, at its fence.mbarrier_init.
    arrivals: by place. remote: the last (epoch, what, role, span) by which each agent of another CTA signalled it.
    waits: the last wait of each role; passes: how often it went through. looks: of each agent, if it found the previous
    phase complete. last: the last arrival.
    """

    __slots__ = (
        "arrivals", "cta", "current", "done", "done_time", "expected", "fence_epoch", "init_agent",
        "init_epoch", "init_span", "last", "looks", "name", "offset", "passes", "pending", "phase", "phase_time",
        "remote", "tx", "waiters", "waits",
    )  # fmt: skip

    def __init__(self, cta: Cta, offset: int, name: str) -> None:
        self.cta = cta
        self.offset = offset
        self.name = name
        self.expected = 0
        self.pending = 0
        self.tx = 0
        self.phase = 0
        causality = cta.cluster.causality
        self.current = causality.knowledge()
        self.done = causality.knowledge()
        self.done_time = 0.0
        self.phase_time = 0.0
        self.waiters: list[Wait] = []
        self.arrivals: dict[tuple[int, str, str], Arrival] = {}
        self.init_span: Span | None = None
        self.init_agent = 0
        self.init_epoch = 0
        self.fence_epoch: int | None = None
        self.waits: dict[str, Look] = {}
        self.passes: dict[str, Passes] = {}
        self.looks: dict[int, Look] = {}
        self.last: Arrival | None = None
        self.remote: dict[int, tuple[int, str, str, Span | None]] = {}

    # -- threads -------------------------------------------------------------------------------------------------

    def init(self, w: Warp, count: int) -> None:
        """mbarrier.init: phase 0, `count` arrivals expected in each phase."""
        if not 1 <= count <= MAX_COUNT:
            raise w.fault(
                "barrier-misuse",
                f"{self.name} is initialised for {count} arrivals; the count must be 1 to {MAX_COUNT}",
                barrier=self.name,
                rule="PTX ISA: mbarrier.init",
            )
        if self.expected:
            w.report(
                "barrier-reinitialised",
                "error",
                f"{self.name} is initialised a second time",
                other=self.init_span,
                barrier=self.name,
                rule="PTX ISA: mbarrier.init",
                hint="initialise each barrier once, by one thread; mbarrier.inval must come before a second init",
                notes=(("it was initialised here before", self.init_span),),
            )
        self.expected = self.pending = count
        self.tx = self.phase = 0
        self.done.clear()
        self.current.clear()
        self.done_time = self.phase_time = w.time
        self.init_span = w.span
        self.init_agent, self.init_epoch = w.agent.index, w.agent.epoch
        self.fence_epoch = None
        self.looks.clear()
        w.cta.inits.append(self)

    def invalidate(self, w: Warp) -> None:
        """mbarrier.inval: the memory may be used for something else."""
        if self.usable(w, "invalidates"):
            self.expected = 0

    def usable(self, w: Warp, verb: str) -> bool:
        """Whether the barrier was initialised, as far as `w` can know; records what is wrong otherwise."""
        if not self.expected:
            w.report(
                "barrier-uninitialised",
                "error",
                f"{w.role} {verb} {self.name}, which is never initialised before",
                barrier=self.name,
                rule="PTX ISA: mbarrier",
                hint=f"let one thread initialise {self.name} at the top level of the kernel, then fence and "
                "synchronise the CTA; a guard that no thread satisfies leaves it uninitialised",
            )
            return False
        self.check_known(w)
        return True

    def check_known(self, w: Warp) -> None:
        """Record a race where `w` uses the barrier and its initialisation does not happen before."""
        if not w.agent.knows(self.init_agent, self.init_epoch) and not w.gpu.findings.seen(
            "race", "error", w.span, self.init_span
        ):
            w.report(
                "race",
                "error",
                f"{w.role} uses {self.name} with no synchronisation after its initialisation",
                other=self.init_span,
                barrier=self.name,
                buffer=self.name,
                hint="after the initialisation: fence.mbarrier_init(), then cta_sync() (cluster_sync() in a cluster)",
                notes=(("it is initialised here", self.init_span),),
            )
        elif (
            w.cta is not self.cta
            and (self.fence_epoch is None or not w.agent.knows(self.init_agent, self.fence_epoch))
            and not w.gpu.findings.seen("missing-mbarrier-fence", "warning", self.init_span, w.span)
        ):
            w.gpu.findings.add(
                "missing-mbarrier-fence",
                "warning",
                f"{self.name} is used by another CTA, with no fence.mbarrier_init between its initialisation and the "
                "synchronisation of the cluster",
                self.init_span,
                other=w.span,
                details={
                    "barrier": self.name,
                    "rule": "PTX ISA: fence.mbarrier_init",
                    "hint": "call Tx.ptx.fence.mbarrier_init() after the initialisation, before the cluster barrier",
                    "notes": (("it is used here", w.span),),
                },
            )

    def arrive(self, w: Warp, count: int = 1) -> None:
        """mbarrier.arrive by `count` threads of `w`: release what they did."""
        if self.usable(w, "arrives at"):
            time = w.time
            if w.cta is not self.cta:
                self.remote[w.agent.index] = (w.agent.epoch, "arrival", w.place, w.span)
                time += w.gpu.spec.remote_latency
            self.current.add(w.agent)
            self._record("arrive", w.place, w.span, count, 0, time)
            self._arrived(count, time, w)

    def expect(self, w: Warp, nbytes: int) -> bool:
        """mbarrier.expect_tx: `nbytes` more are to arrive in this phase. False where the barrier is unusable."""
        if not self.usable(w, "expects bytes at"):
            return False
        self._record("expect_tx", w.place, w.span, 0, nbytes, w.time)
        self.tx += nbytes
        if abs(self.tx) > MAX_COUNT:
            raise w.fault(
                "barrier-overflow",
                f"{self.name} would expect {self.tx} bytes; the tx-count of an mbarrier ends at {MAX_COUNT}",
                barrier=self.name,
                rule="PTX ISA: mbarrier, tx-count",
            )
        return True

    @property
    def fresh(self) -> bool:
        """Whether it is initialised, and nobody has ever arrived."""
        return bool(self.expected) and not self.phase and self.pending == self.expected

    def passed(self, parity: int) -> bool:
        """Whether the phase of this parity is complete: the one before the current one."""
        return bool(self.expected) and (self.phase & 1) != (parity & 1)

    def wait(self, w: Warp, parity: int) -> Generator[Wait, None, None]:
        """mbarrier.try_wait.parity in a loop: block until the phase is complete, then acquire what it released."""
        if not self.expected:
            self.usable(w, "waits for")
        while not self.passed(parity):
            text = f"{self.name} to complete its phase of parity {parity & 1}"
            wait = Wait("mbarrier", w, text, self, parity & 1, w.time, w.span)
            self.waiters.append(wait)
            yield wait
        self.acquire(w)

    def test(self, w: Warp, parity: int) -> bool:
        """mbarrier.test_wait.parity: whether the phase is complete now; then acquire what it released."""
        if self.usable(w, "tests") and self.passed(parity):
            self.acquire(w)
            return True
        return False

    def acquire(self, w: Warp) -> None:
        """After a successful wait."""
        self.check_known(w)
        log = self.cta.gpu.barrier_log
        if log is not None:
            time = max(w.time, self.done_time)
            log.append((time, self.cta.name, self.name, "wait", w.place, w.span, 0, 0, self.phase))
        w.agent.learn(self.done)
        if w.dependence is not None:
            w.dependence.acquired(w, self.done)
        passes = self.passes.get(w.place)
        if passes is None:
            passes = self.passes[w.place] = Passes(w.time, self.phase)
        passes.count += 1
        self.looks[w.agent.index] = self.waits[w.place] = Look(w.agent.epoch, w.place, w.span, w.time)
        w.time = max(w.time, self.done_time + w.gpu.spec.mbarrier_latency)

    # -- engines -------------------------------------------------------------------------------------------------

    def complete_tx(self, cta: Cta, agent: Agent, nbytes: int, time: float, role: str, span: Span | None) -> None:
        """`nbytes` of a copy that `cta` issued landed: what that copy wrote, and nothing else, is released."""
        if cta is not self.cta:
            self.remote[agent.index] = (agent.epoch, "TMA load", role, span)
        self.current.add_epoch(agent.index, agent.epoch)
        self.current.add_past(agent)
        self._record("TMA load", role, span, 0, nbytes, time)
        self.tx -= nbytes
        if time > self.phase_time:
            self.phase_time = time
        if self.pending == 0 and self.tx == 0:
            self._complete()

    def arrive_async(
        self, cta: Cta, agent: int, knowledge: Knowledge, time: float, what: str, role: str, span: Span | None
    ) -> None:
        """One arrival by an agent of `cta` that releases `knowledge`."""
        if cta is not self.cta:
            self.remote[agent] = (knowledge.known.item(ORDER, agent), what, role, span)
        self.current.add_all(knowledge)
        self._record(what, role, span, 1, 0, time)
        self._arrived(1, time, None, role, span)

    # -- phases --------------------------------------------------------------------------------------------------

    def _record(self, what: str, role: str, span: Span | None, count: int, nbytes: int, time: float) -> None:
        key = (id(span), what, role)
        entry = self.arrivals.get(key)
        if entry is None:
            entry = self.arrivals[key] = Arrival(what, role, span)
        entry.count += count
        entry.nbytes += nbytes
        entry.last_time = time
        self.last = entry
        log = self.cta.gpu.barrier_log
        if log is not None:
            log.append((time, self.cta.name, self.name, what, role, span, count, nbytes, self.phase))

    def _arrived(self, count: int, time: float, w: Warp | None, role: str = "", span: Span | None = None) -> None:
        if time > self.phase_time:
            self.phase_time = time
        if count > self.pending:
            self._overflow(count, w, role, span)
            count = self.pending
        self.pending -= count
        if self.pending == 0 and self.tx == 0:
            self._complete()

    def _overflow(self, count: int, w: Warp | None, role: str, span: Span | None) -> None:
        span = w.span if w else span
        waiting = f", while {self.tx} bytes are outstanding" if self.tx else ""
        sources = sum(1 for arrival in self.arrivals.values() if arrival.count)
        ahead = count <= self.expected and sources <= self.expected
        if ahead:
            message = f"{w.role if w else role} arrives at {self.name} again before its phase is complete{waiting}"
            hint = f"before this round of {self.name}, wait for what says that the last one was used up, in its phase"
        else:
            message = f"{self.name} gets more arrivals in one phase than its init's {self.expected}{waiting}"
            hint = f"initialise {self.name} with the number of arrivals of one round, and arrive only that often"
        self.cta.gpu.findings.add(
            "barrier-overflow",
            "error",
            message,
            span,
            other=self.init_span,
            details={
                "barrier": self.name,
                "role": w.role if w else role,
                "cta": self.cta.name,
                "rule": "PTX ISA: mbarrier, pending count",
                "hint": hint,
                "notes": (("it was initialised here", self.init_span),),
                **({"consequence": True} if ahead else {}),
            },
        )

    def _check_looks(self) -> None:
        """Record who might have looked for the previous phase only now, when the next one hides it."""
        for agent, look in self.looks.items():
            if not self.current.follows(agent, look.epoch):
                self._hidden(look)
        self.looks.clear()

    def _hidden(self, look: Look) -> None:
        findings, cause = self.cta.gpu.findings, self.last
        if findings.seen("race", "error", look.span, cause and cause.span):
            return
        parity = self.phase + 1 & 1
        notes = ((f"the {cause.what} of {cause.role} completes it here", cause.span),) if cause else ()
        findings.add(
            "race",
            "error",
            f"{look.role} waits for the phase of parity {parity} of {self.name}, and nothing keeps the next phase from "
            "completing first: a wait that comes so late does not end",
            look.span,
            other=cause and cause.span,
            details={
                "barrier": self.name,
                "buffer": self.name,
                "role": look.role,
                "cta": self.cta.name,
                "rule": "PTX ISA: mbarrier, phase completion",
                "hint": "check the stage and the phase of this wait: what completes a phase must follow from the waits "
                "for the one before",
                "notes": notes,
            },
        )

    def _complete(self) -> None:
        self._check_looks()
        self.phase += 1
        self.pending = self.expected
        self.done.become(self.current)
        self.done_time = self.phase_time
        self._record("complete", "", None, 0, 0, self.done_time)
        if not self.waiters:
            return
        still: list[Wait] = []
        for wait in self.waiters:
            if self.passed(wait.parity or 0):
                self.cta.gpu.wake(wait.warp, self.done_time)
            else:
                still.append(wait)
        self.waiters = still


class CountingBarrier:
    """A barrier for a number of threads, used again and again: `bar.sync`, `barrier.cluster`.

    expected: threads of a round; everyone: whether they are all of the CTA, but for those that have ended. arrived:
    threads so far; places: who they are and where; rounds: how often it completed. stamps: the agents and epochs of the
    arrivals so far; over: those of the last complete round, with one of its places.
    """

    __slots__ = (
        "arrived", "everyone", "expected", "knowledge", "name", "over", "places", "rounds", "stamps", "time", "waiters",
    )  # fmt: skip

    def __init__(self, name: str, causality: Causality) -> None:
        self.name = name
        self.knowledge = causality.knowledge()
        self.arrived = 0
        self.expected = 0
        self.everyone = False
        self.rounds = 0
        self.time = 0.0
        self.waiters: list[Wait] = []
        self.places: list[tuple[str, Span | None]] = []
        self.stamps: dict[int, int] = {}
        self.over: tuple[dict[int, int], str, Span | None] | None = None

    def arrive(self, w: Warp, threads: int) -> None:
        """`threads` threads of `w` arrive and release."""
        self.stamps[w.agent.index] = w.agent.epoch
        self.knowledge.add(w.agent)
        self.arrived += threads
        self.places.append((w.place, w.span))
        if w.time > self.time:
            self.time = w.time

    def wait(self, w: Warp, kind: str, text: str) -> Wait:
        """`w` waits for the current round."""
        wait = Wait(kind, w, text, self, None, w.time, w.span)
        self.waiters.append(wait)
        return wait

    def complete(self, latency: float) -> None:
        """All have arrived: those who wait acquire, and a new round begins."""
        time = self.time + latency
        for wait in self.waiters:
            warp = wait.warp
            warp.agent.learn(self.knowledge)
            warp.gpu.wake(warp, time)
        self.over = (self.stamps, *self.places[0])
        self.waiters = []
        self.places = []
        self.stamps = {}
        self.arrived = 0
        self.rounds += 1
        self.knowledge.clear()


class NamedBarriers:
    """The sixteen barriers of a CTA (PTX ISA: "bar", "barrier")."""

    COUNT = 16

    def __init__(self, cta: Cta) -> None:
        self.cta = cta
        self.barriers: dict[int, CountingBarrier] = {}

    def _barrier(self, w: Warp, number: int, count: int | None) -> CountingBarrier:
        limit = w.gpu.image.launch.threads
        threads = -(-limit // 32) * 32 if count is None else count
        if not 0 <= number < self.COUNT:
            raise w.fault(
                "barrier-misuse",
                f"there is no barrier {number}: a CTA has barriers 0 to {self.COUNT - 1}",
                rule="PTX ISA: bar.sync",
            )
        if threads % 32 or not 0 < threads <= -(-limit // 32) * 32:
            raise w.fault(
                "barrier-misuse",
                f"barrier {number} cannot count {threads} threads: it counts whole warps, and "
                f"the CTA has {limit} threads",
                rule="PTX ISA: bar.sync",
            )
        barrier = self.barriers.get(number)
        if barrier is None:
            barrier = self.barriers[number] = CountingBarrier(f"barrier {number}", self.cta.cluster.causality)
        if barrier.arrived and barrier.expected != threads:
            w.report(
                "barrier-misuse",
                "error",
                f"barrier {number} is used for {threads} threads while others wait at it for {barrier.expected}",
                other=barrier.places[0][1],
                barrier=barrier.name,
                hint="all who meet at a barrier name the same number of threads; use another barrier id",
                notes=((f"{barrier.places[0][0]} arrived here", barrier.places[0][1]),),
            )
        barrier.expected = threads
        barrier.everyone = count is None
        return barrier

    def _arrive(self, w: Warp, number: int, count: int | None, what: str) -> CountingBarrier:
        barrier = self._barrier(w, number, count)
        w.converged(what)
        if barrier.over is not None and not barrier.everyone:
            self._check_apart(w, barrier, *barrier.over)
        arriving = 32 if w.mask is w.all_lanes else w.mask.count
        barrier.arrive(w, arriving)
        return barrier

    def _check_apart(
        self, w: Warp, barrier: CountingBarrier, stamps: dict[int, int], place: str, span: Span | None
    ) -> None:
        """Record where `w` might have arrived in the round before this one, which was for others."""
        if all(w.agent.knows(agent, epoch) for agent, epoch in stamps.items()):
            return
        if not w.gpu.findings.seen("race", "error", w.span, span):
            w.report(
                "race",
                "error",
                f"{w.place} arrives at {barrier.name}, and nothing keeps it from the round before, which is {place}'s",
                other=span,
                barrier=barrier.name,
                rule="PTX ISA: bar.sync",
                hint="give each group of warps that synchronises by itself a barrier id of its own (1 to 15)",
                notes=((f"{place} was in that round here", span),),
            )

    def sync(self, w: Warp, number: int, count: int | None) -> Generator[Wait, None, None]:
        """bar.sync: arrive, and wait until `count` threads have, or all of the CTA where it is None."""
        barrier = self._arrive(w, number, count, "bar.sync")
        if barrier.arrived >= self._needed(barrier):
            w.agent.learn(barrier.knowledge)
            w.time = max(w.time, barrier.time + w.gpu.spec.bar_latency)
            barrier.complete(w.gpu.spec.bar_latency)
        else:
            yield barrier.wait(w, "bar.sync", f"{barrier.expected} threads to arrive at barrier {number}")

    def arrive(self, w: Warp, number: int, threads: int) -> None:
        """bar.arrive: arrive without waiting."""
        barrier = self._arrive(w, number, threads, "bar.arrive")
        if barrier.arrived >= self._needed(barrier):
            barrier.complete(w.gpu.spec.bar_latency)

    def _needed(self, barrier: CountingBarrier) -> int:
        """Threads that must arrive. One that was to gather the whole CTA does not wait for threads that have exited."""
        return barrier.expected - 32 * self.cta.exited if barrier.everyone else barrier.expected

    def warp_exited(self) -> None:
        """Release barriers at which only exited threads are missing."""
        for barrier in self.barriers.values():
            if barrier.arrived and barrier.arrived >= self._needed(barrier):
                barrier.complete(self.cta.gpu.spec.bar_latency)


class ClusterBarrier:
    """barrier.cluster: every thread of the cluster that has not exited (PTX ISA: "barrier.cluster")."""

    def __init__(self, cluster: Cluster, causality: Causality) -> None:
        self.cluster = cluster
        self.barrier = CountingBarrier("the cluster barrier", causality)
        self.knowledge = causality.knowledge()
        self._joined: dict[Warp, int] = {}

    def arrive(self, w: Warp) -> None:
        """Arrive once in this round, releasing."""
        w.converged("barrier.cluster.arrive")
        if self._joined.get(w) == self.barrier.rounds:
            raise w.fault(
                "barrier-misuse",
                "a thread arrives at the cluster barrier twice without waiting in between",
                rule="PTX ISA: barrier.cluster",
                hint="pair each barrier.cluster.arrive with one wait",
            )
        self._joined[w] = self.barrier.rounds
        self.barrier.arrive(w, 32 if w.mask is w.all_lanes else w.mask.count)
        self.check()

    def check(self) -> None:
        """Complete the round if no one is missing."""
        cluster = self.cluster
        if self.barrier.arrived and self.barrier.arrived >= 32 * cluster.live_warps:
            self.knowledge.become(self.barrier.knowledge)
            self.barrier.complete(cluster.gpu.spec.cluster_barrier_latency)

    def wait(self, w: Warp) -> Generator[Wait, None, None]:
        """Wait for the round that this warp arrived in, acquiring."""
        w.converged("barrier.cluster.wait")
        joined = self._joined.pop(w, None)
        if joined is None:
            raise w.fault(
                "barrier-misuse",
                "barrier.cluster.wait without an arrive before it",
                rule="PTX ISA: barrier.cluster",
                hint="call barrier.cluster.arrive first, or cluster_sync()",
            )
        if joined == self.barrier.rounds:
            yield self.barrier.wait(
                w, "barrier.cluster", "every thread of the cluster to arrive at the cluster barrier"
            )
        else:
            w.agent.learn(self.knowledge)
            w.time = max(w.time, self.barrier.time + w.gpu.spec.cluster_barrier_latency)
