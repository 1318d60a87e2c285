"""The plan of batched clusters: several clusters are executed at a time for the results, and all once for the time."""

from __future__ import annotations

from ..outcome import Outcome
from ..question import Circumstances
from .batches import MOST
from .kernel import BoundKernel
from .plan import Plan, WholeLaunch, not_for_findings
from .portions import Timing, batch, together

WORTH_BATCHES = 5_000
"""The minimum number of iterations that justifies executing a launch separately for time and for results."""


class BatchedClusters(Plan):
    """Executes equal clusters as lanes of the same NumPy operations."""

    name = "batches of equal clusters"
    assumes = "that clusters execute the same where no branch on blockIdx parts them, and write elements of their own"

    def refusal(self, kernel: BoundKernel, circumstances: Circumstances) -> str:
        """See `Plan.refusal`."""
        if circumstances.seed is not None:
            return "the order of events is random, across all clusters"
        if reason := not_for_findings(kernel, circumstances):
            return reason
        if not (kernel.image.equal and kernel.divisible):
            return "clusters may differ"
        if kernel.effort < WORTH_BATCHES:
            return "the launch is small"
        return kernel.inseparable if kernel.batchable else "clusters have instructions that no batch executes"

    def run(self, kernel: BoundKernel, circumstances: Circumstances) -> Outcome | None:
        """See `Plan.run`."""
        batches = batch(kernel, range(1, kernel.clusters), whole=True)
        if batches is None:
            return None
        first = Timing(kernel).run(range(1))
        outcome = None if first is None else together(kernel, [first, batches])
        if outcome is None:
            raise WholeLaunch
        return outcome

    def saves(self, kernel: BoundKernel, outcome: Outcome) -> str:
        """See `Plan.saves`."""
        return f"the data of {kernel.clusters - 1} of {kernel.clusters} clusters one by one: up to {MOST} at a time"
