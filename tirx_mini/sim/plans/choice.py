"""The selection of a plan."""

from __future__ import annotations

from dataclasses import replace

from ..outcome import Outcome, PlanNote
from ..question import DETERMINISTIC, Circumstances
from .batched import BatchedClusters
from .classes import ClusterClasses
from .held import HeldPlaces
from .kernel import BoundKernel
from .plan import Plan, WholeLaunch
from .representatives import RepresentativeWarps
from .sampled import SampledParts
from .sharded import ShardedClusters
from .time_alone import TimeAlone

PLANS: tuple[Plan, ...] = (
    SampledParts(),
    HeldPlaces(),
    ShardedClusters(),
    BatchedClusters(),
    ClusterClasses(),
    RepresentativeWarps(),
    TimeAlone(),
)
"""All plans, in the order in which they are tried. A new plan needs a line here, and a file."""

WHOLE = PlanNote("the whole launch", "nothing", "nothing: each cluster is executed, with all that is asked for")
FAILED = "tried, but its assumption did not hold, or there is something to report"


def answered(
    kernel: BoundKernel, circumstances: Circumstances = DETERMINISTIC, plans: tuple[Plan, ...] = PLANS
) -> Outcome:
    """Return the outcome of the first plan that applies and holds, or else of the whole launch."""
    others: list[tuple[str, str]] = []
    for plan in plans:
        reason = plan.refusal(kernel, circumstances)
        others.append((plan.name, reason or FAILED))
        if reason:
            continue
        try:
            outcome = plan.outcome(kernel, circumstances)
        except WholeLaunch:
            kernel.restore()
            break
        if outcome is not None:
            assert outcome.plan is not None
            return replace(outcome, plan=replace(outcome.plan, others=tuple(others[:-1])))
        kernel.restore()
    return replace(kernel.execute(circumstances), plan=replace(WHOLE, others=tuple(others)))
