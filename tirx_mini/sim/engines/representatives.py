"""Loops that one of the last three warps of a warpgroup goes round for others of them, at the time they would.

The first warp of the warpgroup goes round as well: what it alone does takes it time that the others do not need. Those
of the others that come to the loop one right after the other, at one time of their own, wait for the same in it, and go
on one right after the other. So one of them can go round for all, with the others right after it at the end, and the
run of a whole launch takes the same time to the cycle. See `translate.representatives`.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from tirx_mini.hardware import WARPGROUP_WARPS

from ..machine import Cta, RunningWarp, Wait
from .wgmma_engines import WgmmaEngines


@dataclass
class RepresentedWait(Wait):
    """A warp waits for others of its warpgroup at a loop, or for the one that goes round it.

    loop: its number. committed: groups of wgmmas before it. state: the registers after it, if another one went round.
    """

    instruction: ClassVar[str] = "wgmma"
    loop: int
    committed: int
    state: tuple[Any, ...] | None = None


Together = dict[RunningWarp, RepresentedWait]
"""Warps in the order in which they came to a loop, one right after the other."""


class Representatives:
    """The warps of a GPU that wait for one another at loops. Nothing is kept of the warps that others represent."""

    def __init__(self, wgmma: WgmmaEngines) -> None:
        self._wgmma = wgmma
        self._coming: dict[tuple[Cta, int], Together] = {}
        self._behind: dict[RunningWarp, Together] = {}

    def join(self, w: RunningWarp, loop: int) -> Generator[Wait, None, tuple[Any, ...] | None]:
        """Enter a loop: return None if the warp must execute it, else the register values that the loop leaves."""
        key = w.cta, w.warp_id // WARPGROUP_WARPS
        together, more = self._coming.get(key), _others_run_now(w)
        if together is None:
            if not more:
                return None
            together = self._coming[key] = {}
            w.gpu.clock.at(w.gpu.clock.now, None, self._begin, key)  # if they do not come
        mine = together[w] = RepresentedWait(w, w.time, w.span, loop, self._wgmma.committed(w))
        if not more:
            self._begin(key)
        while not mine.over:
            yield mine
        return mine.state

    def passes(self, w: RunningWarp) -> None:
        """Let the first warp of the warpgroup enter a loop, which it executes itself."""
        self._begin((w.cta, w.warp_id // WARPGROUP_WARPS))

    def _begin(self, key: tuple[Cta, int]) -> None:
        """Have the first of the warps that wait go round for all, or each for itself. The last one may be running."""
        together = self._coming.pop(key, {})
        waits = list(together.values())
        if len(waits) > 1 and len({(wait.since, wait.loop, wait.committed) for wait in waits}) == 1:
            first, *others = together
            self._wgmma.represent(first, others)
            self._behind[first] = {warp: together[warp] for warp in others}
            together = {first: together[first]}
        for warp, wait in together.items():
            wait.over = True
            if warp.waiting is wait:
                warp.resume()

    def leave(self, w: RunningWarp, state: tuple[Any, ...]) -> None:
        """A warp is through with a loop. state: of its registers."""
        others = self._behind.pop(w, None)
        if others is None:
            return
        self._wgmma.represent(w, ())
        for warp, wait in others.items():
            warp.time, wait.state, wait.over = w.time, state, True
            self._wgmma.follow(w, warp)
        w.behind = tuple(others)


class NoRepresentatives(Representatives):
    """Each warp goes round its loops itself."""

    def join(self, w: RunningWarp, loop: int) -> Generator[Wait, None, tuple[Any, ...] | None]:
        """As `Representatives.join`."""
        yield from ()
        return None


def _others_run_now(w: RunningWarp) -> bool:
    """Return whether any other one of the last three warps of the warpgroup is about to run at the clock's time."""
    first, now = w.warp_id // WARPGROUP_WARPS * WARPGROUP_WARPS, w.gpu.clock.now
    others: Sequence[RunningWarp] = w.cta.warps[first + 1 : first + WARPGROUP_WARPS]
    return any(each.woken and each.time == now for each in others if each is not w)
