"""The event clock of a simulation: it schedules events and records their owners."""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from tirx_mini.records import dataclass


class EventOwner(Protocol):
    """The owner of a sequence of events: a warp, a copy, or the operations of one warp on a tensor core.

    cluster_index: its cluster. event: a description of the next event: "warp 3 at line 120".
    """

    @property
    def cluster_index(self) -> int: ...
    @property
    def event(self) -> str: ...
    def delay(self, now: float) -> None:
        """Record that the next event of this owner was delayed until `now`."""
        ...


Action = Callable[..., None]


class Clock:
    """A discrete-event scheduler.

    Times are cycles of the SM clock, as floats.

    Simultaneous events happen in the order in which they were posted, or in a random order if `rng` is given.
    """

    def __init__(self, rng: random.Random | None = None) -> None:
        self.now = 0.0
        self._heap: list[tuple[float, float, int, EventOwner | None, Action, tuple[Any, ...]]] = []
        self._sequence = 0
        self._rng = rng
        self._at_once: deque[tuple[Action, tuple[Any, ...]]] | None = deque() if rng is None else None
        """The actions posted for the current time; they follow all events posted for that time earlier."""

    def at(self, time: float, owner: EventOwner | None, action: Action, *args: object) -> None:
        """Call ``action(*args)`` when the clock reaches `time` (now, if that has passed).

        owner: the owner of the event; None for bookkeeping of time itself, which is never delayed.
        """
        if time == self.now and self._at_once is not None:
            self._at_once.append((action, args))
            return
        self._sequence += 1
        tie = self._rng.random() if self._rng else 0.0
        heapq.heappush(self._heap, (time, tie, self._sequence, owner, action, args))

    def owners(self) -> list[EventOwner | None] | None:
        """Return the owners of the pending events, with None for bookkeeping; None if they are unknown."""
        return None if self._at_once else [event[3] for event in self._heap]

    def clear(self) -> None:
        """Discard all pending events."""
        self._heap.clear()
        if self._at_once is not None:
            self._at_once.clear()

    def run(self) -> None:
        """Process events until none is pending."""
        heap, at_once, pop = self._heap, self._at_once, heapq.heappop
        while heap or at_once:
            if at_once and (not heap or heap[0][0] > self.now):
                action, args = at_once.popleft()
            else:
                time, _, _, _, action, args = pop(heap)
                if time > self.now:
                    self.now = time
            action(*args)


@dataclass(frozen=True)
class Event:
    """An event that has become due. cluster: its owner's. text: a description for the reader."""

    cluster: int
    text: str


FAIR_POLLS = 16
"""The number of polling rounds, without other events, after which held events are released."""


def _spins(owner: EventOwner | None) -> bool:
    """Return whether the owner is a warp that polls memory."""
    return bool(getattr(getattr(owner, "waiting", None), "polls", False))


class HoldingClock(Clock):
    """A clock that delays the events with the given numbers, in the order in which they become due.

    Later events of the same owner queue up behind a held event, until nothing else can happen, or only polling warps
    continue: a schedule is fair, so no warp may be held as long as another one polls for its action. events: all events
    that became due.
    """

    def __init__(self, holds: Sequence[int] = ()) -> None:
        super().__init__()
        self._at_once = None  # each event may be held
        self.holds = frozenset(holds)
        self.events: list[Event] = []
        self._held: dict[EventOwner, deque[tuple[Action, tuple[Any, ...]]]] = {}
        self._polls = 0  # without a break

    def run(self) -> None:
        heap = self._heap
        while heap or self._held:
            if not heap:
                self._release()
                continue
            time, _, _, owner, action, args = heapq.heappop(heap)
            self.now = max(self.now, time)
            if owner is None:
                action(*args)
                continue
            self.events.append(Event(owner.cluster_index, owner.event))
            if owner in self._held:
                self._held[owner].append((action, args))
            elif len(self.events) - 1 in self.holds:
                self._held[owner] = deque([(action, args)])
            else:
                self._polls = self._polls + 1 if _spins(owner) else 0
                action(*args)
                if self._held and self._polls >= FAIR_POLLS and all(_spins(event[3]) for event in heap):
                    self._polls = 0
                    self._release()

    def owners(self) -> list[EventOwner | None] | None:
        """See `Clock.owners`; held events become due later."""
        return None if self._held else super().owners()

    def _release(self) -> None:
        """Release the action that was held longest, and let its owner's waiting events become due."""
        owner = next(iter(self._held))
        for action, args in self._held.pop(owner):
            owner.delay(self.now)
            action(*args)
