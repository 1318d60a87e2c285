"""Leader warps: the first warp of a warpgroup executes a loop for the other three, in untimed or partial runs.

If all warps of a warpgroup execute the same operations, three of them only wait for the first. See
`translate.representatives`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import field
from typing import ClassVar

from tirx_mini.hardware import WARPGROUP_WARPS
from tirx_mini.records import dataclass

from ..machine import Blocking, Cta, RegisterArray, Wait, Warp
from .wgmma_engines import WgmmaEngines


@dataclass
class LeadWait(Wait):
    """A wait between the warps of a warpgroup. arrays: the accumulator arrays of the warp."""

    instruction: ClassVar[str] = "wgmma"
    arrays: tuple[RegisterArray, ...] = ()


@dataclass(eq=False)
class Lead:
    """The state of one warpgroup. leader: its first warp, while it waits for the others. state: the register values
    after the loop."""

    leader: LeadWait | None = None
    followers: list[LeadWait] = field(default_factory=list[LeadWait])
    state: tuple[object, ...] = ()


class Leaders:
    """The leader warps of all CTAs of a run."""

    def __init__(self, wgmma: WgmmaEngines) -> None:
        self._wgmma = wgmma
        self._leads: dict[tuple[Cta, int], Lead] = {}

    def begin(self, w: Warp, arrays: tuple[RegisterArray, ...] = ()) -> Blocking:
        """Wait in the first warp for the others, and then act for all of them.

        arrays: the register arrays in which it accumulates, with data.
        """
        lead = self._of(w)
        if len(lead.followers) < WARPGROUP_WARPS - 1:
            lead.leader = LeadWait(w, w.time, w.span)
            while not lead.leader.over:
                yield lead.leader
            lead.leader = None
        w.time = max(w.time, *(wait.warp.time for wait in lead.followers))
        self._wgmma.lead(w, {w: arrays, **{wait.warp: wait.arrays for wait in lead.followers}})

    def follow(
        self, w: Warp, arrays: tuple[RegisterArray, ...] = ()
    ) -> Generator[Wait, None, tuple[object, ...]]:
        """Wait in another warp until the first one has left the loop; return the register values after it."""
        lead = self._of(w)
        mine = LeadWait(w, w.time, w.span, arrays)
        lead.followers.append(mine)
        if lead.leader is not None and len(lead.followers) == WARPGROUP_WARPS - 1:
            lead.leader.over = True
            w.gpu.wake(lead.leader.warp, w.time)
        while not mine.over:
            yield mine
        return lead.state

    @staticmethod
    def each(w: Warp) -> Iterator[int]:
        """Iterate over the warps of the warpgroup from a common start time; the time advances to the latest end."""
        begin = end = w.time
        for number in range(w.warp_id, w.warp_id + WARPGROUP_WARPS):
            w.time = begin
            yield number
            end = max(end, w.time)
        w.time = end

    def sync(self, w: Warp) -> Blocking:
        """Emulate a barrier of the four warps, of which only the leader executes."""
        wait = LeadWait(w, w.time, w.span)
        w.gpu.wake(w, w.time + w.gpu.spec.bar_latency)
        yield wait

    def end(self, w: Warp, state: tuple[object, ...]) -> None:
        """Leave the loop in the leader, and release the followers. state: the register values."""
        self._wgmma.lead(w, {})
        lead = self._of(w)
        lead.state = state
        followers, lead.followers = lead.followers, []
        for wait in followers:
            self._wgmma.follow(w, wait.warp)
            wait.over = True
            w.gpu.wake(wait.warp, w.time)

    def cta_ended(self, cta: Cta) -> None:
        """Drop the state of the CTA's warpgroups."""
        for number in range(-(-len(cta.warps) // WARPGROUP_WARPS)):
            self._leads.pop((cta, number), None)

    def _of(self, w: Warp) -> Lead:
        return self._leads.setdefault((w.cta, w.warp_id // WARPGROUP_WARPS), Lead())
