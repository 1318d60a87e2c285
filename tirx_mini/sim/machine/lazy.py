"""Lazy sums: accumulations of completed MMAs that are computed at the first read."""

from __future__ import annotations

from typing import Protocol


class LazySum(Protocol):
    """The pending sum of a memory range. adds: whether it adds to the old contents or replaces them."""

    @property
    def adds(self) -> bool: ...
    def pay(self) -> None:
        """Compute the sum and store it."""
        ...


class LazySums(dict[tuple[int, int], LazySum]):
    """The pending sums of a memory, by the start and end of each range. They do not overlap."""

    __slots__ = ()

    def owe(self, start: int, stop: int, debt: LazySum) -> None:
        """Register a pending sum for the range [start, stop)."""
        if not debt.adds:
            self.pop((start, stop), None)
        self.collect(start, stop)
        self[start, stop] = debt

    def collect(self, start: int, stop: int) -> None:
        """Compute the pending sums that overlap the range [start, stop)."""
        for place in [each for each in self if each[0] < stop and start < each[1]]:
            self.pop(place).pay()
