"""Sums that completed MMAs add to places of a memory, computed at the first read."""

from __future__ import annotations

from typing import Protocol


class LazySum(Protocol):
    """The pending sum of some places. adds: on top of what they hold, or in place of it."""

    @property
    def adds(self) -> bool: ...
    def pay(self) -> None:
        """Let the places hold it."""
        ...


class LazySums(dict[tuple[int, int], LazySum]):
    """The pending sums of a memory, by the first place and the end of each. They do not overlap."""

    __slots__ = ()

    def owe(self, start: int, stop: int, debt: LazySum) -> None:
        """Let the places [start, stop) be lazy something."""
        if not debt.adds:
            self.pop((start, stop), None)
        self.collect(start, stop)
        self[start, stop] = debt

    def collect(self, start: int, stop: int) -> None:
        """Let the places [start, stop) hold what they are lazy."""
        for place in [each for each in self if each[0] < stop and start < each[1]]:
            self.pop(place).pay()
