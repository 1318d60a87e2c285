"""The plan for launches that deadlock on CTAs which never start: an unchecked run without vector clocks."""

from __future__ import annotations

from tirx_mini.ir import While

from ..launch import resident_clusters
from ..outcome import Outcome
from ..question import Circumstances
from ..stillness import CtasNeverStart
from ..translate import waits_for_memory
from .kernel import BoundKernel
from .plan import Plan, not_for_findings

MANY_WARPS = 512
"""The number of resident warps from which an unchecked run is cheap relative to a checked one."""


class HeldPlaces(Plan):
    """Executes a launch without checks, to find out whether all of its CTAs start."""

    name = "a run without checks, to see which CTAs start"
    assumes = "that CTAs wait for others which cannot start while they wait"

    def refusal(self, kernel: BoundKernel, circumstances: Circumstances) -> str:
        """See `Plan.refusal`."""
        if reason := not_for_findings(kernel, circumstances):
            return reason
        launch = kernel.image.launch
        most = resident_clusters(kernel.image, kernel.spec) * launch.cluster_size
        if launch.num_ctas <= most:
            return "all CTAs are resident at a time"
        if most * launch.warps < MANY_WARPS:
            return "few warps are resident at a time"
        waits = any(isinstance(node, While) and waits_for_memory(node) for node in kernel.func.nodes)
        return "" if waits else "no loop waits for what another thread writes"

    def run(self, kernel: BoundKernel, circumstances: Circumstances) -> Outcome:
        """See `Plan.run`."""
        return kernel.execute(circumstances, checks=False)

    def holds(self, outcome: Outcome) -> bool:
        """See `Plan.holds`."""
        return isinstance(outcome.fault, CtasNeverStart)

    def saves(self, kernel: BoundKernel, outcome: Outcome) -> str:
        """See `Plan.saves`."""
        return "the order of all accesses"
