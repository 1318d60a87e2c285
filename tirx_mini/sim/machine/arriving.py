"""Elements of a register array that asynchronous loads (tcgen05.ld) have not delivered yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tirx_mini.ir import Span


class Load(Protocol):
    """An asynchronous load (tcgen05.ld) into registers. span: where it was issued."""

    @property
    def span(self) -> Span | None: ...
    def deliver(self) -> None:
        """Mark the load as complete: its consumer has waited, and the registers hold the values."""
        ...


Ranges = Sequence[tuple[int, int]]
"""The first element of each range, and the one after its last."""


class Arriving:
    """Ranges of elements, which do not overlap, and the load that each waits for."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: list[tuple[int, int, Load]] = []

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def expect(self, start: int, stop: int, load: Load) -> None:
        """Let the elements [start, stop) wait for a load, and for no other one."""
        self.forget(((start, stop),))
        self._waiting.append((start, stop, load))

    def forget(self, ranges: Ranges) -> None:
        """Let these elements wait for nothing."""
        for start, stop in ranges:
            left: list[tuple[int, int, Load]] = []
            for first, end, load in self._waiting:
                if end <= start or stop <= first:
                    left.append((first, end, load))
                    continue
                if first < start:
                    left.append((first, start, load))
                if stop < end:
                    left.append((stop, end, load))
            self._waiting = left

    def first(self, ranges: Ranges) -> tuple[int, Load] | None:
        """The lowest of these elements that waits, with its load."""
        return min(self._within(ranges), key=lambda found: found[0], default=None)

    def loads(self, ranges: Ranges) -> list[Load]:
        """The loads that these elements wait for, by their elements."""
        return [load for _, load in sorted(self._within(ranges), key=lambda found: found[0])]

    def _within(self, ranges: Ranges) -> list[tuple[int, Load]]:
        return [
            (max(first, start), load)
            for start, stop in ranges
            for first, end, load in self._waiting
            if first < stop and start < end
        ]
