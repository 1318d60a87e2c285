"""The phases of an mbarrier in each thread's view: alternative orders in which a wait or a signal may occur.

`mbarrier.try_wait.parity` names a parity and no phase (PTX ISA: "mbarrier.test_wait, mbarrier.try_wait"). It may return
at every complete phase of that parity whose end its thread has not observed, so it is only guaranteed to acquire the
release of the earliest such phase, whichever phase this run showed it. A thread has observed a phase as complete if all
signals of the phase are in its past, or as many arrivals as this phase and those before it count.

A signal belongs to its phase in every order if the previous phase is in its past. If that holds for all signals of a
barrier, each phase consists of the same signals in every order; if, in addition, each wait is in the past of the phase
that would hide it (`UnorderedPhases`), no order of the events deadlocks. The proof uses the order of the run: of the
events that an unfinished execution has not reached, take the one that came first in the run. All events before it have
been reached, so its barrier is in the same state as in the run, or one phase of the other parity earlier, and the event
can happen. `late_waits` has the waits that the next phase may hide and that a later one ends.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from ..ordering import ORDER, PAST, Agent, Causality, Clocks, SyncClock

FIRST, RECENT = 2, 4
"""The number of phases whose releases are kept: the first ones, and the most recent ones."""
TANGLED = 64
"""The maximum number of unordered signals that a phase inherits from earlier phases."""


class Phase:
    """A complete phase. signals: the agent and the epoch of each, then those of phases before it that they may take the
    place of; own: how many are its own. bytes: whether they count any. released: the join of what they released, in
    every order; current: in this run.
    """

    __slots__ = ("bytes", "current", "own", "released", "signals")

    def __init__(
        self,
        signals: list[tuple[int, int]],
        before: Sequence[tuple[int, int]],
        bytes: bool,
        released: SyncClock,
        current: SyncClock,
    ) -> None:
        self.signals = [*signals, *before] if before else signals
        self.own = len(signals)
        self.bytes = bytes
        self.released = released
        self.current = current


class Phases:
    """The phases of one mbarrier. number: how many are complete.

    mixed: phases that other orders may complete with other signals, as an earlier run has shown. The only certain
    release at the end of such a phase is that of the last phase before it that is not mixed.
    """

    __slots__ = (
        "_before", "_bytes", "_causality", "_kept", "_known", "_late", "_mixed", "_mixing", "_ordered", "_signals",
        "_tangled", "hidden", "number", "passed_over",
    )  # fmt: skip

    def __init__(self, causality: Causality, mixed: Set[int] = frozenset()) -> None:
        self._causality = causality
        self._mixed = mixed
        self.number = 0
        self.passed_over = False  # whether the last wait may find an earlier phase in another order
        self.hidden: SyncClock | None = None  # then, the signals up to the phase that hides that one, where kept
        self._kept: dict[int, Phase] = {}
        self._known: dict[int, int] = {}  # complete phases that an agent observed by its own waits
        self._signals: list[tuple[int, int]] = []
        self._ordered: set[int] = set()  # agents whose signals follow the phase before
        self._bytes = False  # whether the phase counts bytes
        self._tangled = False  # whether the phase has a signal that does not follow the phase before
        self._before: Sequence[tuple[int, int]] = ()  # the signals of that phase, then
        self._mixing = False  # whether a phase had such a signal
        self._late: Sequence[tuple[int, int]] = ()  # expect_tx that no arrival of the phase has followed yet

    @property
    def bytes(self) -> bool:
        """Return whether the last complete phase counted bytes."""
        return bool(self.number) and self._kept[self.number - 1].bytes

    @property
    def counting(self) -> bool:
        """Return whether the current phase counts bytes."""
        return self._bytes

    # -- signals -------------------------------------------------------------------------------------------------

    def follows(self, agent: int, clocks: Clocks) -> bool:
        """Return whether the next operation of `agent` follows the last complete phase in every order."""
        if not self.number or agent in self._ordered:
            return True
        before = self._kept.get(self.number - 1)
        if before is None or not past(agent, clocks, before.signals):
            return False
        self._ordered.add(agent)
        return True

    def expect(self, agent: int, epoch: int) -> None:
        """Record an expect_tx; it certainly counts in its phase if an arrival of the phase follows it."""
        self._bytes = True
        self._late = (*self._late, (agent, epoch))

    def signal(self, agent: int, epoch: int, clocks: Clocks, arrives: bool) -> None:
        """Record a signal of the current phase by an agent with these clocks. arrives: whether it is an arrival."""
        self._signals.append((agent, epoch))
        if not arrives:
            self._bytes = True
        elif self._late:
            self._late = tuple(late for late in self._late if not past(agent, clocks, (late,)))

    def tangled(self, agent: int, clocks: Clocks) -> Set[int]:
        """Record a signal that does not follow the previous phase, and so may replace one of its signals.

        Returns the phases in which it may occur.
        """
        if not self._tangled:
            before = self._kept[self.number - 1].signals
            self._before = before if len(before) < TANGLED else ()
        self._tangled = self._mixing = True
        for over in range(self.number - 2, -1, -1):
            phase = self._kept.get(over)
            if phase is not None and past(agent, clocks, phase.signals):
                return set(range(over + 1, self.number))
        return set(range(self.number))

    def complete(self, current: SyncClock) -> bool:
        """Complete the current phase, which has released `current`.

        Returns whether the phase could not have completed earlier: whether its arrivals follow its expect_tx.
        """
        kept, number = self._kept, self.number
        old = kept.pop(number - RECENT, None) if number >= FIRST + RECENT else None
        released = old.released if old is not None else self._causality.sync_clock()
        signalled = released
        if number not in self._mixed:
            released.copy_from(current)
        else:
            signalled = self._causality.sync_clock()
            signalled.copy_from(current)
            if number:
                released.copy_from(kept[number - 1].released)
            else:
                released.clear()
        kept[number] = Phase(self._signals, self._before, self._bytes, released, signalled)
        self.number += 1
        self._signals, self._before = [], ()
        self._bytes = self._tangled = False
        self._ordered.clear()
        whole = not self._late
        self._late = ()
        return whole

    def sure(self, agent: Agent) -> bool:
        """Return whether the last phase is complete in every order in which `agent` reaches this point."""
        last = self._kept.get(self.number - 1)
        return last is None or past(agent.index, agent.clocks, last.signals)

    # -- waits ---------------------------------------------------------------------------------------------------

    def observed(self, agent: Agent, expected: int) -> SyncClock | None:
        """Return the clock that a wait acquires if it finds the last phase complete, or None if it acquires nothing
        new.

        The clock is the release of the earliest phase of its parity that the agent cannot yet see as complete.
        expected: the arrivals of a phase.
        """
        index, number = agent.index, self.number
        known = self._known.get(index, 0)
        for over in range(number - 2, known - 1, -2):  # the last phase of the other parity that is over
            before = self._kept.get(over)
            if before is not None and past(index, agent.clocks, before.signals):
                earliest = over + 2
                break
        else:
            if self._mixing and known < number - 1:
                known = max(known, self._counted(agent, expected))
            earliest = known + ((known ^ number) & 1)
        self._known[index] = earliest
        self.passed_over = earliest != number
        if self.passed_over:
            hides = self._kept.get(earliest)
            self.hidden = None if hides is None else hides.current
        phase = self._kept.get(earliest - 1)
        return phase.released if phase is not None else None

    def _counted(self, agent: Agent, expected: int) -> int:
        """How many phases at least are complete by the arrivals in the past of an agent, in whichever order they came.

        A phase that counts bytes may lack some of them.
        """
        if self._bytes or any(phase.bytes for phase in self._kept.values()):
            return 0
        signals = [*self._signals, *(one for phase in self._kept.values() for one in phase.signals[: phase.own])]
        return sum(past(agent.index, agent.clocks, (one,)) for one in signals) // expected


def past(agent: int, clocks: Clocks, signals: Sequence[tuple[int, int]]) -> bool:
    """Return whether an agent with these clocks executes its next event after all of the signals."""
    width = clocks.shape[1]
    for other, epoch in signals:
        if other != agent and (
            other >= width or (clocks.item(ORDER, other) < epoch and clocks.item(PAST, other) < epoch)
        ):
            return False
    return True
