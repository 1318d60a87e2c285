"""An execution for the time alone keeps details only where there is something to report."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kernels_ref.edits import Edit
from tirx_mini.hardware import gpu_spec
from tirx_mini.passes import lower
from tirx_mini.sim import Circumstances, Outcome, Question
from tirx_mini.sim.plans import BoundKernel, answered

COLD = Circumstances(cold=True)


def bound(edit: Edit, folder: Path) -> BoundKernel:
    kernel = lower(edit.kernel(folder))
    return BoundKernel(kernel, [None] * len(kernel.params), Question(gpu_spec("b200"), data=False, checks=False))


def outcomes(edit: Edit, folder: Path, circumstances: Circumstances) -> tuple[Outcome, Outcome]:
    """The outcome of the plan, and of an execution with details."""
    return answered(bound(edit, folder), circumstances), bound(edit, folder).execute(circumstances)


@pytest.mark.parametrize("circumstances", [Circumstances(), COLD], ids=["warm", "cold"])
@pytest.mark.parametrize("step", [1, 3, 4, 7, 9, 10])
def test_the_time_is_the_same_as_with_details(step: int, circumstances: Circumstances, tmp_path: Path) -> None:
    plan, whole = outcomes(Edit(step), tmp_path, circumstances)
    assert plan.plan is not None and plan.plan.name == "time alone"
    assert (plan.cycles, plan.stats, plan.facts, plan.blocked) == (whole.cycles, whole.stats, (), ())


@pytest.mark.parametrize(
    "edit",
    [
        Edit(7, "tma2mma.init(1)", "tma2mma.init(2)"),
        Edit(7, "ld2mma.init(128)", "ld2mma.init(127)"),
    ],
    ids=["blocked", "too many arrivals"],
)
def test_a_report_has_its_details(edit: Edit, tmp_path: Path) -> None:
    plan, whole = outcomes(edit, tmp_path, Circumstances())
    assert plan.facts or plan.blocked
    assert str(plan.facts) == str(whole.facts) and len(plan.blocked) == len(whole.blocked)
    assert plan.repeats == whole.repeats and plan.fresh_waits == whole.fresh_waits
