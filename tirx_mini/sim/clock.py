"""Simulated time: a queue of events in the order in which they happen."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from typing import Any


class Clock:
    """A discrete-event scheduler. Times are cycles of the SM clock, as floats.

    Events at the same time happen in the order they were posted, or in a random order where `rng` is given.
    """

    def __init__(self, rng: random.Random | None = None) -> None:
        self.now = 0.0
        self._heap: list[tuple[float, float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._sequence = 0
        self._rng = rng

    def at(self, time: float, action: Callable[..., None], *args: Any) -> None:
        """Call ``action(*args)`` when the clock reaches `time` (now, if that has passed)."""
        self._sequence += 1
        tie = self._rng.random() if self._rng else 0.0
        heapq.heappush(self._heap, (time, tie, self._sequence, action, args))

    def run(self) -> None:
        """Let time pass until nothing more can happen."""
        heap = self._heap
        while heap:
            time, _, _, action, args = heapq.heappop(heap)
            if time > self.now:
                self.now = time
            action(*args)
