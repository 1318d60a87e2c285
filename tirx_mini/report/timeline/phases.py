"""The phases of an mbarrier, with the missing arrivals or bytes over time."""

from __future__ import annotations

from collections.abc import Sequence

from tirx_mini.diagnose import BarrierChange, Signal
from tirx_mini.records import dataclass


@dataclass(frozen=True)
class Phase:
    """One phase of a barrier, in cycles. steps: (time, missing fraction of its bytes or arrivals, 0 to 1)."""

    number: int
    start: float
    end: float
    steps: tuple[tuple[float, float], ...]
    stage: int | None

    @property
    def parity(self) -> int:
        return self.number & 1


def phases_of(changes: Sequence[BarrierChange], end: float) -> list[Phase]:
    """Return the phases of one barrier from its ordered changes; the last one is open until `end`.

    A byte-counting barrier lacks its expected bytes; any other lacks arrivals.
    """
    found: list[Phase] = []
    start = 0.0
    most = max((abs(change.tx) for change in changes), default=0)
    arrivals = max((change.pending for change in changes), default=0)
    steps = [(start, 0.0 if most else 1.0)]
    stage = stage_in(changes[0].barrier.name) if changes else None
    for change in changes:
        if change.kind is Signal.COMPLETE:
            found.append(Phase(change.phase, start, change.time, tuple(steps), stage))
            start = change.time
            steps = [(start, 0.0 if most else 1.0)]
        elif most:
            steps.append((change.time, min(1.0, abs(change.tx) / most)))
        elif arrivals:
            steps.append((change.time, change.pending / arrivals))
    after = found[-1].number + 1 if found else 0
    return [*found, Phase(after, start, end, tuple(steps), stage)]


def stage_in(name: str) -> int | None:
    """Return the index in the name of a barrier, such as "tma2mma[1]"; None without one."""
    digits = name[name.find("[") + 1 : -1] if name.endswith("]") else ""
    return int(digits) if digits.isdigit() else None
