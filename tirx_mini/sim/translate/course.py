"""The control-flow decisions that may differ between the clusters of a launch."""

from __future__ import annotations

from collections.abc import Set

from tirx_mini.ir import Stmt

from .writer import Writer


class Course:
    """A recorder of decisions in `w.decisions`. decided: the branches and loops that `plans.equality` found. noted: the
    recorded ones.

    Lanes that diverge at a decision, and wait or leave a loop on their own, are not recorded.
    """

    def __init__(self, out: Writer) -> None:
        self._out = out
        self.decided: Set[Stmt] = frozenset()
        self.noted: set[Stmt] = set()

    def note(self, stmt: Stmt, code: str) -> None:
        """Emit the recording of a decision of `stmt`: the value of the text `code`."""
        if stmt in self.decided:
            self.noted.add(stmt)
            self._out.line(f"w.decisions.append({code})")
