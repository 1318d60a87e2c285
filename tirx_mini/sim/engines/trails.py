"""Trails of strong writes: what a thread that reads their value has seen happen, with or without fences.

A flag that is read without a fence orders nothing, and still says that its writer got so far. Data that is then read
by a strong load may be older: a missing ``__threadfence()``. Only launches with strong stores to global memory leave
trails, since other data has no strong reads that are no race already.
"""

from __future__ import annotations

from collections.abc import Sequence

from tirx_mini.isa import MemoryAccess

from ..machine import RunningWarp
from ..ordering import Epochs
from .older_values import Run

_RELAXED = ("relaxed", "volatile")


class Trails:
    """The trails that were left in global memory. active: whether there was a strong store."""

    def __init__(self) -> None:
        self.active = False
        self._left: dict[tuple[int | None, int], list[Epochs]] = {}

    def leave(self, w: RunningWarp, access: MemoryAccess, run: Run, *, update: bool) -> None:
        """Leave the trail of a strong write. update: whether it is one of an atomic operation, which keeps others."""
        if run.slot is None:
            return
        self.active |= not update and access.sem in _RELAXED
        if not self.active:
            return
        trail = w.agent.trail()
        for offset in run.offsets.tolist():
            key = (run.slot, offset)
            self._left[key] = [*self._left.get(key, ()), trail] if update else [trail]

    def at(self, run: Run) -> Sequence[Epochs]:
        """Return the trails of the values at the places of a run."""
        if not self.active or run.slot is None:
            return ()
        return [trail for offset in run.offsets.tolist() for trail in self._left.get((run.slot, offset), ())]
