"""Teams: contiguous ranges of a CTA's threads that execute statements together."""

from __future__ import annotations

import numpy as np

from tirx_mini.ir import Buffer, Expr, Hint, Stmt, special
from tirx_mini.isa import NAMES, instruction_of
from tirx_mini.records import dataclass
from tirx_mini.tile import active_threads

TEAM_HINT = "tirx.team"
"""The message of a hint around the statements of a team."""


@dataclass(frozen=True)
class Team:
    """A contiguous range of a CTA's threads.

    first, count: which ones.
    barrier: the named barrier at which they meet; 0 is for the whole CTA, and a negative one is yet to be chosen.
    """

    first: int
    count: int
    barrier: int = 0

    @property
    def thread(self) -> Expr:
        """The index of the executing thread in the team."""
        number = special("threadIdx.x")
        return number if self.first == 0 else number - self.first

    def part(self, guard: Expr) -> Team | None:
        """Return the team members that satisfy a condition, or None unless they form a known contiguous range."""
        active = active_threads([guard], self.first + self.count)
        if active is None:
            return None
        chosen = np.flatnonzero(active[self.first :])
        if len(chosen) == self.count:
            return self
        if not len(chosen):
            return Team(self.first, 0, self.barrier)
        if chosen[-1] - chosen[0] + 1 != len(chosen):
            return None
        return Team(self.first + int(chosen[0]), len(chosen), -1)

    def same_threads(self, other: Team) -> bool:
        """Return whether another team has the same threads."""
        return (self.first, self.count) == (other.first, other.count)

    def hint(self, body: Stmt, ordered: tuple[Buffer, ...]) -> Hint:
        """Wrap `body` in a hint for this team. ordered: buffers whose accesses mbarriers order."""
        attrs = (("first", self.first), ("count", self.count), ("barrier", self.barrier), ("ordered", ordered))
        return Hint(TEAM_HINT, attrs, body)


def team_of(hint: Hint) -> Team:
    """Return the team of a hint created by `Team.hint`."""
    attrs = dict(hint.attrs)
    return Team(attrs["first"], attrs["count"], attrs["barrier"])


def ordered_by_mbarriers(hint: Hint) -> tuple[Buffer, ...]:
    """Return the buffers whose accesses mbarriers order, from a hint created by `Team.hint`."""
    return dict(hint.attrs)["ordered"]


def meets_all(node: Expr) -> bool:
    """Return whether an expression is a barrier that all threads of the CTA execute."""
    entry = instruction_of(node)
    if entry is None:
        return False
    counted = any(operand.name == "threads" for operand in entry.operands)
    return (entry.waits_at_named_barrier and not counted) or entry.name == NAMES["cuda.cluster_sync"].call().op
