"""Livelock detection: launches in which all warps only poll memory that no warp will change.

A loop is *steady* if an iteration does nothing but look: what it finds is the same until somebody else acts. Where each
event that is due is the next look of such a loop, and all have looked since anything else happened, nothing ever will.
If CTAs are left that have not started, the loops keep them from it.
"""

from __future__ import annotations

from dataclasses import dataclass

from .facts import Fact, Fault
from .machine import Mask, RunningWarp
from .timing import Clock

LOOKS = 8
"""The number of consecutive polls of one warp between two checks for livelock."""


@dataclass(frozen=True)
class CtasNeverStart(Fact):
    """Warps that poll memory forever while they occupy the SMs that waiting CTAs need.

    first: the blockIdx of the first of these, as in "CTA 148". waiting: how many have not started. ctas: of the grid.
    resident: how many have started and not ended.
    """

    first: str
    waiting: int
    resident: int
    ctas: int
    gpu: str


class Stillness:
    """The polls of steady loops since the last other event, by warp."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._looks: dict[RunningWarp, int] = {}
        self._lanes: dict[RunningWarp, set[Mask]] = {}

    def moved(self) -> None:
        """Reset the polls after an event other than a poll."""
        if self._looks:
            self._looks.clear()
            self._lanes.clear()

    def looked(self, warp: RunningWarp) -> bool:
        """Register a poll of memory by a warp in a steady loop. Return whether nothing but such looks will ever
        happen."""
        looks, lanes = self._looks, self._lanes.setdefault(warp, set())
        if lanes and warp.mask not in lanes:  # lanes have left the loop
            self.moved()
            lanes = self._lanes.setdefault(warp, set())
        lanes.add(warp.mask)
        count = looks[warp] = looks.get(warp, 0) + 1
        if count % LOOKS or min(looks.values()) < LOOKS // 2:
            return False
        owners = self._clock.owners()
        return owners is not None and all(owner in looks for owner in owners)


def never_starts(warp: RunningWarp, first: str, waiting: int, resident: int) -> Fault:
    """Return the exception for a livelocked launch with CTAs that have not started."""
    launch, gpu = warp.cta.gpu.image.launch, warp.cta.gpu.spec.name
    return Fault(CtasNeverStart(warp.origin, first, waiting, resident, launch.num_ctas, gpu))
