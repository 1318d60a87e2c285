"""The choice of a plan."""

from __future__ import annotations

from dataclasses import replace

from ..outcome import Outcome, PlanNote
from ..question import DETERMINISTIC, Circumstances
from .batched import BatchedClusters
from .classes import ClusterClasses
from .kernel import BoundKernel
from .plan import Plan, WholeLaunch
from .representatives import RepresentativeWarps
from .sampled import SampledParts
from .sharded import ShardedClusters
from .time_alone import TimeAlone

PLANS: tuple[Plan, ...] = (
    SampledParts(),
    ShardedClusters(),
    BatchedClusters(),
    ClusterClasses(),
    RepresentativeWarps(),
    TimeAlone(),
)
"""The plans in the order in which they are tried. A new one is a line here, and a file."""

WHOLE = PlanNote("the whole launch", "nothing: every access of every cluster is executed", "nothing")


def answered(
    kernel: BoundKernel, circumstances: Circumstances = DETERMINISTIC, plans: tuple[Plan, ...] = PLANS
) -> Outcome:
    """Return the outcome of the first plan that applies and holds, else of the whole launch."""
    try:
        for plan in plans:
            if plan.refusal(kernel, circumstances):
                continue
            outcome = plan.outcome(kernel, circumstances)
            if outcome is not None:
                return outcome
            kernel.restore()
    except WholeLaunch:
        kernel.restore()
    return replace(kernel.execute(circumstances), plan=WHOLE)
