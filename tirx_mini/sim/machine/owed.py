"""What MMAs that are done add to places of a memory, computed as soon as somebody looks at these."""

from __future__ import annotations

from typing import Protocol


class Debt(Protocol):
    """What some places are owed. adds: on top of what they hold, or in place of it."""

    @property
    def adds(self) -> bool: ...
    def pay(self) -> None:
        """Let the places hold it."""
        ...


class Debts(dict[tuple[int, int], Debt]):
    """What the places of a memory are owed, by the first place and the one after the last. They do not overlap."""

    __slots__ = ()

    def owe(self, start: int, stop: int, debt: Debt) -> None:
        """Let the places [start, stop) be owed something."""
        if not debt.adds:
            self.pop((start, stop), None)
        self.collect(start, stop)
        self[start, stop] = debt

    def collect(self, start: int, stop: int) -> None:
        """Let the places [start, stop) hold what they are owed."""
        for place in [each for each in self if each[0] < stop and start < each[1]]:
            self.pop(place).pay()
