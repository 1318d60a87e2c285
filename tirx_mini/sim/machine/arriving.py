"""Register-array elements that an asynchronous load (tcgen05.ld) has not delivered yet."""

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
"""Half-open ranges of elements."""


class Arriving:
    """Disjoint ranges of elements, each with its pending load."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: list[tuple[int, int, Load]] = []

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def expect(self, start: int, stop: int, load: Load) -> None:
        """Mark the elements [start, stop) as pending on a load, in place of any earlier load."""
        self.forget(((start, stop),))
        self._waiting.append((start, stop, load))

    def forget(self, ranges: Ranges) -> None:
        """Remove the given elements from the pending ranges."""
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
        """Return the lowest pending element of the ranges, with its load."""
        return min(self._within(ranges), key=lambda found: found[0], default=None)

    def loads(self, ranges: Ranges) -> list[Load]:
        """Return the pending loads of the given elements, in order of element."""
        return [load for _, load in sorted(self._within(ranges), key=lambda found: found[0])]

    def _within(self, ranges: Ranges) -> list[tuple[int, Load]]:
        return [
            (max(first, start), load)
            for start, stop in ranges
            for first, end, load in self._waiting
            if first < stop and start < end
        ]
