"""The first plan that applies and holds answers; it gives the outcome of the whole launch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.course import STEPS, default_kernels, load_kernels, make_arguments
from tirx_mini.hardware import gpu_spec
from tirx_mini.ir import PrimFunc
from tirx_mini.passes import lower
from tirx_mini.script import tirx as T
from tirx_mini.sim import Circumstances, Outcome, Question, Simulation
from tirx_mini.sim.plans import FAILED, PLANS, BoundKernel, Plan, WholeLaunch, answered
from tirx_mini.worker import Twin


@T.prim_func
def doubled(A: T.Buffer((16, 32), "float32"), B: T.Buffer((16, 32), "float32")):
    T.device_entry()
    bx = T.cta_id([16])
    tx = T.thread_id([32])
    B[bx, tx] = A[bx, tx] * T.float32(2)


@T.prim_func
def racing(A: T.Buffer((16, 64), "float32"), B: T.Buffer((16, 64), "float32")):
    T.device_entry()
    bx = T.cta_id([16])
    tx = T.thread_id([64])
    row = T.alloc_shared((64,), "float32")
    row[tx] = A[bx, tx]
    B[bx, tx] = row[63 - tx]


def ones() -> list[np.ndarray]:
    return [np.ones((16, 32), np.float32) for _ in doubled.params]


def reference(step: int, folder: str = "sm100") -> PrimFunc:
    return load_kernels(default_kernels(), folder)[step](*STEPS[step].shape(512))


def plan_of(kernel: PrimFunc, gpu: str = "b200", **options: Any) -> str:
    report = tvm.simulate(kernel, *make_arguments(kernel), gpu=gpu, **options)
    assert report.plan is not None and report.verdict in ("ok", "clock")
    return report.plan.name


@pytest.mark.parametrize(
    ("options", "plan"),
    [
        ({"jobs": 1}, "batches of equal clusters"),
        ({"jobs": 2}, "clusters sharded over processes"),
        ({"seed": 3}, "equivalence classes of clusters"),
        ({"data": False}, "time alone"),
        ({"trace": True}, "the whole launch"),
        ({"checks": False}, "the whole launch"),
    ],
)
def test_the_question_decides(options: dict[str, Any], plan: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for worth in ("batched.WORTH_BATCHES", "sharded.WORTH_TWINS", "sharded.WORTH_PROCESSES", "kernel.WORTH_BYTES"):
        monkeypatch.setattr(f"tirx_mini.sim.plans.{worth}", 0)
    monkeypatch.setattr(Twin, "possible", lambda: False)
    assert plan_of(reference(4), **options) == plan


def test_small_launches_have_classes_and_hopper_has_representatives() -> None:
    assert plan_of(reference(4)) == "equivalence classes of clusters"
    assert plan_of(reference(7, "sm90"), "h100", data=False) == "one warp for its warpgroup"


def test_a_launch_with_a_finding_is_run_as_a_whole() -> None:
    plan = tvm.simulate(racing, np.ones((16, 64), np.float32), np.ones((16, 64), np.float32)).plan
    assert plan is not None and plan.name == "the whole launch"
    assert dict(plan.others)["equivalence classes of clusters"] == FAILED


def test_plans_have_names_and_reasons() -> None:
    kernel = Simulation(lower(doubled), ones(), Question(gpu_spec("b200")))
    assert len({plan.name for plan in PLANS}) == 7 and all(plan.assumes for plan in PLANS)
    assert all(plan.refusal(kernel, Circumstances()) for plan in PLANS)  # the arguments were not kept
    plan = kernel.run().plan
    assert plan is not None and [name for name, _ in plan.others] == [plan.name for plan in PLANS]


class Spoiling(Plan):
    """Changes the arguments, and does not hold."""

    name, assumes = "spoiling", "nothing"

    def __init__(self, error: type[Exception] | None = None) -> None:
        self._error = error

    def refusal(self, kernel: BoundKernel, circumstances: Circumstances) -> str:
        return ""

    def run(self, kernel: BoundKernel, circumstances: Circumstances) -> Outcome | None:
        kernel.arrays[1][:] = 99
        if self._error is not None:
            raise self._error
        return None

    def saves(self, kernel: BoundKernel, outcome: Outcome) -> str:
        return "nothing"


@pytest.mark.parametrize(
    ("error", "plan"), [(None, "equivalence classes of clusters"), (WholeLaunch, "the whole launch")]
)
def test_the_next_plan_gets_the_arguments_as_they_were(error: type[Exception] | None, plan: str) -> None:
    args = ones()
    kernel = Simulation(lower(doubled), args, Question(gpu_spec("b200")))
    kernel.keep()
    outcome = answered(kernel, plans=(Spoiling(error), *PLANS))
    assert (args[1] == 2).all() and outcome.plan is not None
    assert outcome.plan.name == plan and outcome.plan.others[0] == ("spoiling", FAILED)
