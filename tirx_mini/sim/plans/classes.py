"""The plan of equivalence classes: a few checked clusters represent all clusters with the same execution."""

from __future__ import annotations

from dataclasses import replace

from ..gpu import Gpu
from ..outcome import Outcome
from ..question import Circumstances
from .kernel import BoundKernel
from .plan import Plan, not_for_findings
from .portions import all_checked
from .process import running


class ClusterClasses(Plan):
    """Executes the launch, and checks the accesses of one cluster of each class."""

    name = "equivalence classes of clusters"
    assumes = "that clusters whose branches on blockIdx go the same way have the same hazards"

    def refusal(self, kernel: BoundKernel, circumstances: Circumstances) -> str:
        """See `Plan.refusal`."""
        if reason := not_for_findings(kernel, circumstances):
            return reason
        return "" if kernel.image.equal else "clusters may differ"

    def run(self, kernel: BoundKernel, circumstances: Circumstances) -> Outcome | None:
        """See `Plan.run`."""
        setup = replace(kernel.limits, seed=circumstances.seed, equal=True)
        with running(), Gpu(kernel.image, kernel.arrays, kernel.spec, setup) as machine:
            kernel.begin(machine)
            outcome = kernel.complete(machine, machine.run())
            unknown = machine.classes.unknown.values() if machine.classes is not None else ()
            return outcome if self.holds(outcome) and all_checked(kernel, unknown) else None

    def holds(self, outcome: Outcome) -> bool:
        """See `Plan.holds`."""
        return super().holds(outcome) and not (outcome.repeats or outcome.unread)

    def saves(self, kernel: BoundKernel, outcome: Outcome) -> str:
        """See `Plan.saves`."""
        return f"the checks of most of {kernel.clusters} clusters, which follow from the others'"
