"""The plan of representative warps: in loops of wgmmas, one warp represents others of its warpgroup."""

from __future__ import annotations

from ..outcome import Outcome
from ..question import Circumstances
from .kernel import BoundKernel
from .plan import Plan, is_plain
from .time_alone import without_details


class RepresentativeWarps(Plan):
    """Executes a launch for its time, with one representative for warps that wait for the same event."""

    name = "one warp for its warpgroup"
    assumes = "that warps which enter a loop of wgmmas together leave it together"

    def refusal(self, kernel: BoundKernel, circumstances: Circumstances) -> str:
        """See `Plan.refusal`."""
        if kernel.question.data:
            return "values are asked for"
        if circumstances.seed is not None or not is_plain(kernel, circumstances):
            return "more is asked for than the time"
        return "" if kernel.image.represented else "no loop multiplies for a warpgroup"

    def run(self, kernel: BoundKernel, circumstances: Circumstances) -> Outcome:
        """See `Plan.run`. The machine keeps no details for a report: `Unequal` ends the run at the first fact."""
        return without_details(kernel, circumstances)

    def saves(self, kernel: BoundKernel, outcome: Outcome) -> str:
        """See `Plan.saves`."""
        return "the data of all accesses, and up to two of four warps in loops of wgmmas"
