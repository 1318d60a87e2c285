"""Livelock detection: launches in which all warps only poll memory that no warp will change.

A loop is *steady* if an iteration only reads memory: it has the same result until another warp acts. If each pending
event is the next poll of such a loop, and all of them have polled since then, nothing will ever change. If there are
CTAs that have not started, the loops keep them from starting.
"""

from __future__ import annotations

from tirx_mini.records import dataclass

from .facts import Fact, Fault
from .machine import Mask, RunningWarp
from .timing import Clock

LOOKS = 8
"""The number of consecutive polls of one warp between two checks for livelock."""


@dataclass(frozen=True)
class CtasNeverStart(Fact):
    """Warps that poll memory forever while they occupy the SMs that waiting CTAs need.

    first: the blockIdx of the first waiting CTA, such as "CTA 148". waiting: the number of CTAs that have not started.
    ctas: of the grid. resident: the number of CTAs that have started and not ended.
    """

    first: str
    waiting: int
    resident: int
    ctas: int
    gpu: str


@dataclass(frozen=True)
class NobodyWrites(Fact):
    """Warps poll memory, and all others have ended or wait as well. warps: the number of those that poll."""

    warps: int


class Stillness:
    """The polls of steady loops since the last other event, by warp."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._nothing_due = False  # whether nothing but polls was pending when their count began
        self._looks: dict[RunningWarp, int] = {}
        self._lanes: dict[RunningWarp, set[Mask]] = {}

    def moved(self) -> None:
        """Reset the polls after an event other than a poll."""
        self._nothing_due = False
        if self._looks:
            self._looks.clear()
            self._lanes.clear()

    def looked(self, warp: RunningWarp) -> bool:
        """Register a poll of memory by a warp in a steady loop. Return whether only such polls will ever happen."""
        looks, lanes = self._looks, self._lanes.setdefault(warp, set())
        if lanes and warp.mask not in lanes:  # lanes have left the loop
            self.moved()
            lanes = self._lanes.setdefault(warp, set())
        lanes.add(warp.mask)
        count = looks[warp] = looks.get(warp, 0) + 1
        if count % LOOKS or min(looks.values()) < LOOKS // 2:
            return False
        owners = self._clock.owners()
        if owners is None or not all(owner in looks for owner in owners):
            return False
        if not self._nothing_due:  # an engine may have written what some of them have not polled since
            self.moved()
            self._nothing_due = True
            return False
        return True

    @property
    def warps(self) -> int:
        """The number of warps that poll."""
        return len(self._looks)


def never_starts(warp: RunningWarp, first: str, waiting: int, resident: int) -> Fault:
    """Return the exception for a livelocked launch with CTAs that have not started."""
    launch, gpu = warp.cta.gpu.image.launch, warp.cta.gpu.spec.name
    return Fault(CtasNeverStart(warp.origin, first, waiting, resident, launch.num_ctas, gpu))
