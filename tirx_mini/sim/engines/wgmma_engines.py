"""The warpgroups of a GPU, and the operations that their warps issue."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from tirx_mini.hardware import WARPGROUP_WARPS

from ..machine import Cta, Gpu, RegisterArray, Warp
from ..ordering import Unequal
from .operands import Operands
from .tile_reads import TileReads
from .wgmma import Warpgroup, WarpWgmma
from .wgmma_group import Series


class WgmmaEngines:
    """The warpgroups of the GPU."""

    def __init__(self, gpu: Gpu) -> None:
        self._warpgroups: dict[tuple[Cta, int], Warpgroup] = {}
        self._warps: dict[Warp, WarpWgmma] = {}
        self._known: dict[Hashable, Series] = {}
        self._operands, self._tiles = Operands(gpu.probe), TileReads(gpu)

    def of(self, w: Warp) -> WarpWgmma:
        """Return the wgmma operations of a warp."""
        found = self._warps.get(w)
        if found is None:
            number = w.warp_id // WARPGROUP_WARPS
            warpgroup = self._warpgroups.get((w.cta, number))
            if warpgroup is None:
                agent = w.cta.cluster.causality.agent(f"{w.cta.name} wgmma of warpgroup {number}")
                warpgroup = Warpgroup(w.cta, number, agent, self._operands, self._tiles)
                self._warpgroups[w.cta, number] = warpgroup
            found = self._warps[w] = WarpWgmma(w, warpgroup, self._known)
        return found

    def close(self) -> None:
        """Drop the pending work, which refers to its warpgroup."""
        for warpgroup in self._warpgroups.values():
            warpgroup.flow.requests.clear()

    def lead(self, w: Warp, led: dict[Warp, tuple[RegisterArray, ...]]) -> None:
        """Set the warps that a warp acts for: all of its warpgroup, or none. led: see `Warpgroup`."""
        if w not in self._warps and not led:
            return
        if not w.cta.cluster.values.apply(self._lead, w, led):
            self.represent(w, [each for each in led if each is not w])

    def _lead(self, w: Warp, led: dict[Warp, tuple[RegisterArray, ...]]) -> None:
        """Set the represented warps in a run with values, where each warp has its own accumulators."""
        warpgroup = self.of(w).warpgroup
        if any(self.of(each).issues for each in led or warpgroup.led):
            raise Unequal  # each warp must commit its own MMAs
        warpgroup.led = led

    def committed(self, w: Warp) -> int:
        """Return the number of groups that a warp has committed."""
        return self.of(w).number

    def represent(self, w: Warp, others: Sequence[Warp]) -> None:
        """Have a warp issue and commit for some others as well, in a run without data."""
        self.of(w).represent(others)

    def follow(self, leader: Warp, w: Warp) -> None:
        """Replicate in `w` the operations that its representative has executed."""
        self.of(w).follow(self.of(leader))

    def warp_ended(self, w: Warp) -> None:
        """Record the MMAs that an ended warp has not waited for."""
        found = self._warps.pop(w, None)
        if found is not None:
            found.exited()

    def cta_ended(self, cta: Cta) -> None:
        """Drop the state of the CTA's warpgroups."""
        for number in range(-(-len(cta.warps) // WARPGROUP_WARPS)):
            self._warpgroups.pop((cta, number), None)
        self._tiles.forget(cta)
