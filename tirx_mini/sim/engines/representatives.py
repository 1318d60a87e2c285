"""Representative warps: one of the last three warps of a warpgroup executes a loop for the others that reach it at the
same time.

The first warp of the warpgroup executes the loop as well: its own operations take time that the others do not need. Of
the others, those that reach the loop one directly after the other at the same time wait for the same events in it, and
continue one directly after the other. So one of them can represent all, with the others directly after it at the end,
and the run of a whole launch takes the same time to the cycle. See `translate.representatives`.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import ClassVar

from tirx_mini.hardware import WARPGROUP_WARPS
from tirx_mini.records import dataclass

from ..machine import Cta, RunningWarp, Wait
from .wgmma_engines import WgmmaEngines


@dataclass
class RepresentedWait(Wait):
    """A wait of a warp at a loop, for other warps of its warpgroup or for its representative.

    loop: its number. committed: groups of wgmmas before it. state: the registers after it, if another warp executed it.
    """

    instruction: ClassVar[str] = "wgmma"
    loop: int
    committed: int
    state: tuple[object, ...] | None = None


Together = dict[RunningWarp, RepresentedWait]
"""Warps in the order in which they reached a loop, one directly after the other."""


class Representatives:
    """The representative warps of a GPU.

    No records are kept of the represented warps.
    """

    def __init__(self, wgmma: WgmmaEngines) -> None:
        self._wgmma = wgmma
        self._coming: dict[tuple[Cta, int], Together] = {}
        self._behind: dict[RunningWarp, Together] = {}

    def join(self, w: RunningWarp, loop: int) -> Generator[Wait, None, tuple[object, ...] | None]:
        """Enter a loop: return None if the warp must execute it, else the register values that the loop leaves."""
        key = w.cta, w.warp_id // WARPGROUP_WARPS
        together, more = self._coming.get(key), _others_run_now(w)
        if together is None:
            if not more:
                return None
            together = self._coming[key] = {}
            w.gpu.clock.at(w.gpu.clock.now, None, self._begin, key)  # if they do not arrive
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
        """Start the loop: the first waiting warp executes it for all of them, or each warp for itself. The last one may
        be running."""
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

    def leave(self, w: RunningWarp, state: tuple[object, ...]) -> None:
        """Leave a loop, and resume the represented warps. state: the register values."""
        others = self._behind.pop(w, None)
        if others is None:
            return
        self._wgmma.represent(w, ())
        for warp, wait in others.items():
            warp.time, wait.state, wait.over = w.time, state, True
            self._wgmma.follow(w, warp)
        w.behind = tuple(others)


class NoRepresentatives(Representatives):
    """The null implementation of representatives: each warp executes its own loops."""

    def join(self, w: RunningWarp, loop: int) -> Generator[Wait, None, tuple[object, ...] | None]:
        """See `Representatives.join`."""
        yield from ()
        return None


def _others_run_now(w: RunningWarp) -> bool:
    """Return whether another one of the last three warps is about to run at the current time."""
    first, now = w.warp_id // WARPGROUP_WARPS * WARPGROUP_WARPS, w.gpu.clock.now
    others: Sequence[RunningWarp] = w.cta.warps[first + 1 : first + WARPGROUP_WARPS]
    return any(each.woken and each.time == now for each in others if each is not w)
