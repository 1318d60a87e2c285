"""mbarrier objects: phases, arrival counts and tx-counts (PTX ISA: "mbarrier").

A barrier counts arrivals, joins the releases of the arriving threads, and wakes the waiting threads at the time of the
arrival that completes the phase.
"""

from __future__ import annotations

from typing import ClassVar

from tirx_mini.hardware import MAX_MBARRIER_COUNT
from tirx_mini.ir import Span
from tirx_mini.records import dataclass

from ..doubts import Doubt
from ..facts import Fault, Origin
from ..ordering import ORDER, Agent, Clocks, Epochs, SyncClock, UncheckedCausality
from .barriers import (
    Arrival,
    ArrivalOverflow,
    BadInitCount,
    BarrierEvent,
    BarrierUse,
    CompletedWait,
    EarlySignal,
    IncompletePhase,
    MissingInitFence,
    Reinitialised,
    RemoteSignal,
    RepeatedWait,
    Signal,
    SignalAtExit,
    StoreOverBarrier,
    TxCountOverflow,
    UninitialisedBarrier,
    UnorderedInit,
    UnorderedPhases,
    WaitCount,
)  # fmt: skip
from .interfaces import Blocking, Cta, Wait, Warp
from .mbarrier_history import History, Init
from .memory import Element
from .phases import Phases
from .releasing import release_to


@dataclass
class MbarrierWait(Wait):
    """A wait for a phase of an mbarrier. parity: of that phase."""

    instruction: ClassVar[str] = "mbarrier"
    barrier: Mbarrier
    parity: int

    @property
    def subject(self) -> str:
        return self.barrier.name


class Mbarrier:
    """An mbarrier object in the shared memory of `cta`.

    element: its source name; name: the same as text. offset: its byte.
    expected: arrivals of a phase, 0 while it is not initialised; most: of the first phase. pending: the
        arrivals missing in the current phase.
    tx: bytes expected that have not arrived (negative: arrived and not yet expected).
    phase: completed phases; the current one has parity phase & 1.
    done_time: the completion time of the last phase. phase_time: the latest signal of the current one.
    phases: their history; None in an unchecked run.
    """

    __slots__ = (
        "_current", "cta", "done_time", "element", "expected", "history", "init_by", "most", "name", "offset",
        "pending", "phase", "phase_time", "phases", "tx", "waiters",
    )  # fmt: skip

    def __init__(self, cta: Cta, offset: int, element: Element) -> None:
        self.cta, self.offset = cta, offset
        self.element, self.name = element, str(element)
        self.expected = self.most = self.pending = self.phase = 0
        self.tx: int = 0
        causality = cta.cluster.causality
        self._current = causality.sync_clock()
        self.phases = None if isinstance(causality, UncheckedCausality) else self._no_phases()
        self.done_time = self.phase_time = 0.0
        self.waiters: list[MbarrierWait] = []
        self.init_by = Init(None, 0, 0)
        self.history = History()

    @property
    def init_span(self) -> Span | None:
        return self.init_by.span  # its initialisation

    @property
    def fresh(self) -> bool:
        """Return whether the barrier is initialised and has received no arrival."""
        return bool(self.expected) and not self.phase and self.pending == self.expected

    # -- threads -------------------------------------------------------------------------------------------------

    def init(self, w: Warp, count: int) -> None:
        """Execute mbarrier.init: begin phase 0, with `count` expected arrivals per phase."""
        if not 1 <= count <= MAX_MBARRIER_COUNT:
            raise Fault(BadInitCount(w.origin, self.element, w.span, count, MAX_MBARRIER_COUNT))
        if self.expected:
            w.gpu.facts.record(Reinitialised(w.origin, self.element, self.init_span))
        self.expected = self.most = self.pending = count
        self.tx = self.phase = 0
        if self.phases is not None and self.init_by.epoch:
            self.phases = self._no_phases()
        self._current.clear()
        self.done_time = self.phase_time = w.time
        self.init_by = Init(w.span, w.agent.index, w.agent.epoch, w, w.mask.word)
        self.history.observers.clear()
        self.history.overwritten = None
        for counted in self.history.wait_counts.values():
            counted.seen = -1  # the phases begin anew: the same number is another phase

    def fence_init(self, w: Warp) -> None:
        """Execute fence.mbarrier_init, which has effect only in the thread that initialised the barrier."""
        init = self.init_by
        if init.warp is w and init.fenced is None:
            if init.word & ~w.mask.word:
                init.other_lane = True
            else:
                init.fenced = (w.agent.index, w.agent.epoch)

    def invalidate(self, w: Warp) -> None:
        """Execute mbarrier.inval, which releases the memory for other use."""
        if self.usable(w, BarrierUse.INVALIDATE):
            self.expected = 0
            self.history.invalidated = w.span

    def overwrite(self, origin: Origin, what: str) -> None:
        """Note an overwrite of the barrier by other data; it is a mistake if the barrier is still in use."""
        self.history.overwritten = origin, what
        if self.pending != self.expected or self.tx or self.waiters:
            self._overwritten(used=True)

    def _overwritten(self, used: bool) -> None:
        """Record the last overwrite of the barrier unless it is recorded already."""
        if self.history.overwritten is not None:
            (origin, what), self.history.overwritten = self.history.overwritten, None
            self.cta.gpu.facts.record(StoreOverBarrier(origin, self.element, self.init_span, what, used))

    def usable(self, w: Warp, use: BarrierUse) -> bool:
        """Return whether the barrier is initialised before this use; record a fact otherwise."""
        if not self.expected:
            ended = self.history.invalidated
            w.gpu.facts.record(UninitialisedBarrier(w.origin, self.element, self.init_span, use, ended))
            return False
        self._check_init(w, use in (BarrierUse.COMMIT, BarrierUse.LOAD))
        return True

    def _check_init(self, w: Warp, proxy: bool = False) -> None:
        """Record a use of the barrier that its initialisation does not happen before.

        proxy: whether an asynchronous operation will signal it, which requires a fence for its proxy.
        """
        init, facts = self.init_by, w.gpu.facts
        self._overwritten(used=True)
        known = w.agent.happens_after(init.agent, init.epoch)
        if not known and not (init.announced is not None and w.agent.happens_after(*init.announced)):
            if not facts.seen(UnorderedInit, w.span, init.span):
                remote = w.cta is not self.cta
                facts.record(UnorderedInit(w.origin, self.element, init.span, self.cta.name, remote))
        elif (
            (proxy or w.cta is not self.cta)
            and not init.is_fenced(w.agent, proxy, w.cta is self.cta)
            and not facts.seen(MissingInitFence, init.span, None, proxy)
        ):
            origin, remote = Origin("", "", "", init.span), w.cta is not self.cta
            facts.record(
                MissingInitFence(origin, self.element, init.span, w.span, remote, proxy, init.other_lane)
            )

    def arrive(self, w: Warp, count: int = 1) -> None:
        """Execute mbarrier.arrive for `count` threads of `w`, with release semantics."""
        if self.usable(w, BarrierUse.ARRIVE):
            time = w.time
            if w.cta is not self.cta:
                self.history.remote[w.agent.index] = RemoteSignal(w.agent.epoch, Signal.ARRIVE, w.place, w.span)
                time += w.gpu.spec.remote_latency
            agent = w.agent
            if self.phases is not None:
                self._signalled(agent.index, agent.epoch, agent.clocks, Signal.ARRIVE, w.place, w.span, count)
            release_to(w, self.cta, self._current)
            self._record(Signal.ARRIVE, w.place, w.span, count, 0, time)
            self._arrived(count, time, w.origin)

    def drop(self, w: Warp, count: int) -> None:
        """Execute mbarrier.arrive_drop: arrive, and expect fewer arrivals from the next phase on."""
        before = self.phase
        self.arrive(w, count)
        if self.expected:
            dropped = min(count, self.expected - 1)  # a barrier that all have left is not used again
            self.expected -= dropped
            if self.phase != before:
                self.pending -= dropped

    def parity(self, w: Warp) -> int:
        return self.phase & 1  # the state of an arrival

    def expect(self, w: Warp, nbytes: int) -> bool:
        """Execute mbarrier.expect_tx: add `nbytes` to the tx-count of the current phase. Returns False if the barrier
        is unusable."""
        if not self.usable(w, BarrierUse.EXPECT):
            return False
        agent = w.agent
        if self.phases is not None and nbytes:
            self._signalled(agent.index, agent.epoch, agent.clocks, Signal.EXPECT_TX, w.place, w.span)
        self._record(Signal.EXPECT_TX, w.place, w.span, 0, nbytes, w.time)
        self.tx += nbytes
        if abs(self.tx) > MAX_MBARRIER_COUNT:
            raise Fault(TxCountOverflow(w.origin, self.element, self.init_span, self.tx, MAX_MBARRIER_COUNT))
        return True

    def completed(self, parity: int) -> bool:
        """Return whether the phase of the given parity, the one before the current phase, is complete."""
        return bool(self.expected) and (self.phase & 1) != (parity & 1)

    def wait(self, w: Warp, parity: int) -> Blocking:
        """Execute mbarrier.try_wait.parity in a loop: block until the phase is complete, then acquire its release."""
        if self.expected and (self.phase ^ parity) & 1:
            self._acquire(w)
            return ()
        return self._block(w, parity)

    def _block(self, w: Warp, parity: int) -> Blocking:
        """Block until the phase is complete, as part of `wait`."""
        if not self.expected:
            self.usable(w, BarrierUse.WAIT)
        while not self.completed(parity):
            wait = MbarrierWait(w, w.time, w.span, self, parity & 1)
            self.waiters.append(wait)
            yield wait
        self._acquire(w)

    def test(self, w: Warp, parity: int) -> bool:
        """Execute mbarrier.test_wait.parity: return whether the phase is complete, and acquire its release if it is."""
        if self.usable(w, BarrierUse.TEST) and self.completed(parity) and not self._put_off(w):
            self._acquire(w)
            self.history.failed.pop((w.place, parity & 1), None)
            return True
        self.history.failed.setdefault((w.place, parity & 1), w.origin)
        return False

    def _put_off(self, w: Warp) -> bool:
        """Return whether to fail a test on purpose, because the phase may be incomplete in another order of events."""
        return self.phases is not None and not self.phases.sure(w.agent) and w.gpu.tests.put_off(w, w.span)

    def _acquire(self, w: Warp) -> None:
        """Acquire the release of the phase after a completed wait."""
        self._check_init(w)
        self._log(Signal.WAIT, w.place, w.span, 0, 0, max(w.time, self.done_time))
        released = self._current if self.phases is None else self.phases.observed(w.agent, self.most)
        if self.phases is not None and self.phases.passed_over:
            w.gpu.late_waits.found(w.agent, self.cta.cluster.causality, self.phases.hidden, self._current)
        if released is not None:
            w.agent.acquire(released)
            if w.dependence is not None:
                w.dependence.acquired(w, released)
        history = self.history
        counted = history.wait_counts.get(w.place)
        if counted is None:
            counted = history.wait_counts[w.place] = WaitCount(w.time, self.phase)
            if not self.phase:
                w.gpu.fresh_waits.setdefault((id(w.span), w.role, self.name), (w.origin, self.element, w.warp_id))
        counted.count += 1
        if counted.seen == self.phase and counted.span is w.span:
            seen_twice = RepeatedWait(w.origin, self.element, self.phase)
            self.cta.gpu.repeats.setdefault((id(w.span), w.place, self.name), seen_twice)
        counted.seen, counted.span = self.phase, w.span
        done = CompletedWait(w.agent.epoch, w.place, w.span, w.time, w.mask.count)
        history.waits[w.place] = done
        history.observers.add(w.agent.index, done)
        w.time = max(w.time, self.done_time + w.gpu.spec.mbarrier_latency)

    # -- engines -------------------------------------------------------------------------------------------------

    def complete_tx(
        self, cta: Cta, agent: Agent, nbytes: int, time: float, signal: Signal, role: str, span: Span | None
    ) -> None:
        """Complete `nbytes` of a copy issued by `cta`, and release only the accesses of that copy."""
        if cta is not self.cta:
            self.history.remote[agent.index] = RemoteSignal(agent.epoch, signal, role, span)
        if self.phases is not None:
            self._signalled(agent.index, agent.epoch, agent.clocks, signal, role, span)
        self._current.release_epoch(agent.index, agent.epoch)
        self._current.release_past(agent)
        self._record(signal, role, span, 0, nbytes, time)
        self.tx -= nbytes
        if time > self.phase_time:
            self.phase_time = time
        if self.pending == 0 and self.tx == 0:
            self._complete()

    def arrive_async(
        self, cta: Cta, agent: int, released: SyncClock, time: float, signal: Signal, role: str, span: Span | None
    ) -> None:
        """Count one arrival by an agent of `cta`, with the clocks that it `released`."""
        if (own := cta is self.cta) <= (signal is Signal.COMMIT):
            self.history.remote[agent] = RemoteSignal(released.clocks.item(ORDER, agent), signal, role, span, own)
        if self.phases is not None:
            self._signalled(agent, released.clocks.item(ORDER, agent), released.clocks, signal, role, span)
        self._current.join(released)
        self._record(signal, role, span, 1, 0, time)
        self._arrived(1, time, Origin(role, role, self.cta.name, span))

    # -- phases --------------------------------------------------------------------------------------------------

    def _signalled(
        self, agent: int, epoch: int, clocks: Clocks, signal: Signal, role: str, span: Span | None, count: int = 1
    ) -> None:
        """Register a signal of the current phase, and record it if it may come in an earlier phase."""
        phases = self.phases
        assert phases is not None
        if not phases.follows(agent, clocks):
            self._early(agent, clocks, signal, role, span)
        if signal is Signal.EXPECT_TX:
            phases.expect(agent, epoch)
        else:
            phases.signal(agent, epoch, clocks, not signal.delivers)
            if not phases.counting:
                self.history.observers.arrived(agent, clocks, count, self.expected)

    def _no_phases(self) -> Phases:
        """Return an empty history of phases."""
        cta = self.cta
        return Phases(cta.cluster.causality, cta.gpu.mixed.get((cta.name, self.offset), frozenset()))

    def _early(self, agent: int, clocks: Clocks, signal: Signal, role: str, span: Span | None) -> None:
        """Record a signal that may come in the previous phase, replacing another signal or corrupting the tx-count."""
        phases, gpu = self.phases, self.cta.gpu
        assert phases is not None
        ends = phases.tangled(agent, clocks)
        gpu.doubts.mixed.setdefault((self.cta.name, self.offset), set()).update(ends)
        by = Origin(role, role, self.cta.name, span)
        if signal is not Signal.EXPECT_TX and not signal.delivers and not phases.bytes:
            gpu.doubts.record(Doubt.SIGNALS, by, self.name)
        elif not gpu.facts.seen(EarlySignal, span, self.init_span):
            gpu.facts.record(EarlySignal(by, self.element, self.init_span, signal))

    def _record(self, signal: Signal, role: str, span: Span | None, count: int, nbytes: int, time: float) -> None:
        history = self.history
        key = (id(span), signal, role)
        entry = history.arrivals.get(key)
        if entry is None:
            entry = history.arrivals[key] = Arrival(signal, role, span)
        entry.count += count
        entry.nbytes += nbytes
        history.last = entry
        self._log(signal, role, span, count, nbytes, time)

    def _log(self, signal: Signal, role: str, span: Span | None, count: int, nbytes: int, time: float) -> None:
        log = self.cta.gpu.barrier_log
        if log is not None:
            log.append(BarrierEvent(time, self.cta.name, self.name, signal, role, span, count, nbytes, self.phase))

    def _arrived(self, count: int, time: float, origin: Origin) -> None:
        if time > self.phase_time:
            self.phase_time = time
        if count > self.pending:
            self._overflow(count, origin)
            count = self.pending
        self.pending -= count
        if self.pending == 0 and self.tx == 0:
            self._complete()

    def _overflow(self, count: int, origin: Origin) -> None:
        """Record arrivals beyond the pending count of the current phase."""
        sources = sum(1 for arrival in self.history.arrivals.values() if arrival.count)
        early = count <= self.expected and sources <= self.expected
        by = Origin(origin.role, origin.place, self.cta.name, origin.span)
        self.cta.gpu.facts.record(
            ArrivalOverflow(by, self.element, self.init_span, self.expected, self.tx, early)
        )

    def _complete(self) -> None:
        """Complete the phase: release it, and begin the next one."""
        self.history.observers.completed(self.cta, self._current, self.phases, self._missed)
        self.phase += 1
        self.pending = self.expected
        if self.phases is not None and not self.phases.complete(self._current):
            self.cta.gpu.doubts.record(Doubt.BYTES, self.cta.origin(self.init_span), self.name)
        self.done_time = self.phase_time
        self._log(Signal.COMPLETE, "", None, 0, 0, self.done_time)
        if not self.waiters:
            return
        still: list[MbarrierWait] = []
        for wait in self.waiters:
            if self.completed(wait.parity):
                wait.over = True
                self.cta.gpu.wake(wait.warp, self.done_time)
            else:
                still.append(wait)
        self.waiters = still

    def _missed(self, wait: CompletedWait) -> UnorderedPhases:
        """Return the fact about a wait for the previous phase that may execute only after the next one is complete."""
        by = Origin(wait.role, wait.role, self.cta.name, wait.span)
        return UnorderedPhases(by, self.element, self.init_span, self.phase + 1 & 1, self.history.last)

    # -- as the owner of events ------------------------------------------------------------------------------------

    @property
    def cluster_index(self) -> int:
        return self.cta.cluster.index

    @property
    def event(self) -> str:
        return f"an arrival at {self.name} of {self.cta.name}"

    def delay(self, now: float) -> None:
        """Do nothing: arrivals have their own times."""

    # -- the end of the CTA --------------------------------------------------------------------------------------

    def check_signals(self, ordered: Epochs, past: Epochs) -> None:
        """Record signals that may arrive after the end of the CTA.

        ordered: the epochs that happen before the end, by agent. past: those executed before the end.
        """
        cta = self.cta
        for agent, signal in self.history.remote.items():
            if ordered.item(agent) < signal.epoch:
                by = Origin(signal.role, signal.role, cta.name, signal.span)
                relaxed = signal.signal is Signal.ARRIVE and past.item(agent) >= signal.epoch
                cta.gpu.facts.record(SignalAtExit(by, self.element, self.init_span, signal, relaxed))

    def check_phase(self) -> None:
        """Record a phase with incomplete arrivals at the end of the run; no thread waits for it."""
        if self.expected and not self.pending and self.tx:
            # Unexpected bytes keep the phase incomplete, and might have arrived after its end.
            self.cta.gpu.doubts.record(Doubt.BYTES, self.cta.origin(self.init_span), self.name)
        self._overwritten(used=False)
        for origin in self.history.failed.values():
            self.cta.gpu.doubts.record(Doubt.TEST, origin, self.name)
        if 0 < self.pending < self.expected:
            by = tuple(arrival for arrival in self.history.arrivals.values() if arrival.count)
            arrived = self.expected - self.pending
            origin = self.cta.origin(self.init_span)
            self.cta.gpu.facts.record(
                IncompletePhase(origin, self.element, self.init_span, arrived, self.expected, by)
            )
