"""The findings of equal clusters, from one of them.

A plan for equal clusters checks a few, and executes the others for their results. If there is something to report, the
first cluster is executed once more, alone and with all checks: what it does wrong, every cluster does.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from ..facts import Fact, place_key
from ..outcome import Outcome
from ..setup import Part
from .kernel import BoundKernel
from .process import running


def explained(kernel: BoundKernel, outcome: Outcome) -> Outcome | None:
    """Return the outcome of a launch of equal clusters with the findings of the first cluster.

    Returns None if the first cluster does not explain all findings, or does not end as the launch did. The kernel's
    machine stays open, since findings refer to it.
    """
    results = kernel.results()
    kernel.restore()
    with running():
        machine = kernel.machine(replace(kernel.limits, part=Part(range(1))))
        alone = machine.run()
    kernel.put_back(results)
    known = {key for entry in alone.facts for key in _keys(entry.fact)}
    if not all(known.intersection(_keys(entry.fact)) for entry in outcome.facts):
        return None
    if alone.blocked or outcome.blocked or (alone.fault is None) != (outcome.fault is None):
        return None
    return replace(
        outcome, facts=alone.facts, fault=alone.fault, repeats=alone.repeats, fresh_waits=alone.fresh_waits,
        open_orders=alone.open_orders, mixed=alone.mixed, tested=alone.tested,
    )  # fmt: skip


def _keys(fact: Fact) -> tuple[Hashable, Hashable]:
    """Return the location and the kind of a fact. Clusters without an order may do the same wrong elsewhere."""
    return place_key(fact.origin.span), (type(fact), fact.variety)
