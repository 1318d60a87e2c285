"""Waits that may miss their phase of an mbarrier: which of them a later phase of the same parity ends in every order.

A wait *may be late* where a phase of the other parity may be complete before it, which hides the one that it waits for.
It then goes on at the end of the next phase, as `mbarrier.try_wait.parity` names the current phase as well (PTX ISA:
"mbarrier.test_wait, mbarrier.try_wait"). It has no end if that phase does not come, or follows the wait itself.

Other late waits may hold that phase back, too. If each of several waits is ended by a phase that follows another one of
them, and each may be late at once, they have no end together.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import field

from tirx_mini.records import dataclass, replace

from ..facts import Fact, FactLog, place_key
from ..ordering import Agent, Causality, Clocks, SyncClock
from .barriers import CompletedWait, UnorderedPhases
from .interfaces import Cta
from .phases import Phases, past

MOST_LATE, MOST_OVER, MOST_STEPS = 128, 64, 10_000
"""Late waits of one run, phases that one may miss, and steps among them, that are looked at; beyond that, a late wait
is taken to be without end.
"""


@dataclass(frozen=True, eq=False)
class Gap:
    """The phases between which a late wait has no end. hidden: the signals up to the one that hides its phase, and
    rescue: up to the one that ends it. wait: which.
    """

    wait: LateWait
    hidden: SyncClock | None
    rescue: SyncClock


@dataclass(eq=False)
class LateWait:
    """A wait that other orders let come late, by an agent in one of its epochs. place: of the fact about it.

    over: phases that are complete after it in this run, and in another order before it. free: arrivals of the next one
    that do not follow it, which come before it in another order. signals: all these together; end: up to the end of the
    last phase over. gaps: in which it waits. own: whether a signal follows it, where phases count bytes.
    """

    causality: Causality
    agent: int
    epoch: int
    place: Hashable = None
    over: int = 0
    free: int = 0
    end: SyncClock | None = None
    gaps: list[Gap] = field(default_factory=list[Gap])
    own: bool = False

    def __post_init__(self) -> None:
        self.signals = self.causality.sync_clock()

    @property
    def missed(self) -> bool:
        """Return whether all phases that may come before it leave it without end."""
        return bool(self.over & 1)

    def completed(self, current: SyncClock) -> None:
        """A phase is complete that counts bytes. current: all signals so far."""
        self.own = self.own or current.follows(self.agent, self.epoch)
        if not self.own:
            self.passed(current.clocks)

    def arrived(self, agent: int, clocks: Clocks, count: int, expected: int) -> None:
        """Arrivals, by an agent with these clocks. expected: arrivals of a phase."""
        if past(agent, clocks, ((self.agent, self.epoch),)):
            return
        self.free += count
        if self.free < expected:
            self.signals.join_clocks(clocks)
        else:
            self.free -= expected
            self.passed(clocks)

    def passed(self, clocks: Clocks) -> None:
        """One more phase may be complete before this wait, behind signals with these clocks."""
        if self.over > MOST_OVER and self.missed:
            return
        self.signals.join_clocks(clocks)
        self.over += 1
        before, self.end = self.end, self.causality.sync_clock()
        self.end.copy_from(self.signals)
        if not self.missed:
            self.gaps.append(Gap(self, before, self.end))


class LateWaits:
    """The late waits of one run."""

    def __init__(self) -> None:
        self._waits: list[LateWait] = []
        self._full = False

    def add(self, wait: LateWait) -> bool:
        """Keep a late wait. Return whether there are not too many."""
        if len(self._waits) < MOST_LATE:
            self._waits.append(wait)
            return True
        self._full = True
        return False

    def found(self, agent: Agent, causality: Causality, hidden: SyncClock | None, current: SyncClock) -> None:
        """A wait of the run itself comes late, so that it has ended.

        hidden: the signals up to the end of the phase that may hide its own, if known. current: all before it.
        """
        late = LateWait(causality, agent.index, agent.epoch)
        if self.add(late):
            late.over, late.end = 1, hidden and causality.sync_clock()
            if hidden is not None and late.end is not None:
                late.end.copy_from(hidden)
            late.passed(current.clocks)

    def judge(self, facts: FactLog) -> None:
        """Mark the facts about waits that a later phase ends in every order, after a run that came to its end."""
        about = [entry for entry in facts if isinstance(entry.fact, UnorderedPhases)]
        if not about or self._full:
            return
        held = _Circles([gap for wait in self._waits for gap in wait.gaps]).waits
        endless = {wait.place for wait in self._waits if wait.missed or wait in held}
        for entry in about:
            if _place(entry.fact) not in endless:
                entry.fact = replace(entry.fact, ends=True)


class Observers:
    """The waits for one mbarrier that found its last phase complete, and those of earlier ones that may be late."""

    __slots__ = ("_late", "_waits")

    def __init__(self) -> None:
        self._waits: dict[int, CompletedWait] = {}
        self._late: list[LateWait] = []

    def __len__(self) -> int:
        return len(self._waits)

    def add(self, agent: int, wait: CompletedWait) -> None:
        """A wait of an agent found the last phase complete."""
        self._waits[agent] = wait

    def clear(self) -> None:
        """The phases begin anew."""
        self._waits.clear()
        self._late.clear()

    def completed(
        self, cta: Cta, current: SyncClock, phases: Phases | None, fact: Callable[[CompletedWait], Fact]
    ) -> None:
        """A phase is complete: record each wait for the one before that might come only now, when this one hides it.

        current: all signals so far. phases: None where every wait happens before. fact: about such a wait.
        """
        if phases is None:
            self._waits.clear()
            return
        if self._late and phases.counting:
            for late in self._late:
                late.completed(current)
        for agent, wait in self._waits.items():
            if not current.follows(agent, wait.epoch):
                self._missed(cta, current, LateWait(cta.cluster.causality, agent, wait.epoch), fact(wait))
        self._waits.clear()

    def _missed(self, cta: Cta, current: SyncClock, late: LateWait, fact: Fact) -> None:
        cta.gpu.facts.record(fact)
        late.place = _place(fact)
        late.passed(current.clocks)
        if cta.gpu.late_waits.add(late):
            self._late.append(late)

    def arrived(self, agent: int, clocks: Clocks, count: int, expected: int) -> None:
        """As `LateWait.arrived`."""
        for late in self._late:
            late.arrived(agent, clocks, count, expected)


def _place(fact: Fact) -> Hashable:
    """The places that distinguish facts of one class."""
    return place_key(fact.origin.span), place_key(fact.other)


class _Circles:
    """The circles among gaps, each of which is ended by a phase that follows the wait of the next. waits: in any.

    The waits of a circle are late at once: no phase that hides another one's follows one of them.
    """

    def __init__(self, gaps: Sequence[Gap]) -> None:
        self._behind = {gap: [late for late in gaps if _follows(late.rescue, gap.wait)] for gap in gaps}
        self._steps = MOST_STEPS
        self.waits = {gap.wait for gap in gaps if self._leads_back((gap,))}

    def _leads_back(self, way: tuple[Gap, ...]) -> bool:
        """Return whether a way can be continued to its beginning; where that is too long to find out, it can."""
        self._steps -= 1
        if self._steps < 0:
            return True
        for late in self._behind[way[-1]]:
            if late is way[0]:
                return True
            apart = not any(_follows(late.hidden, gap.wait) or _follows(gap.hidden, late.wait) for gap in way)
            if apart and late not in way and self._leads_back((*way, late)):
                return True
        return False


def _follows(signals: SyncClock | None, wait: LateWait) -> bool:
    return signals is not None and signals.follows(wait.agent, wait.epoch)
