"""A run ends at its budget of iterations, before it takes long, and says how far it got."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.script import from_source
from tirx_mini.sim import BUDGET

KERNEL = """
@T.prim_func
def kernel(A: T.Buffer((32,), "float32"), n: T.int32):
    T.device_entry()
    bx = T.cta_id([{grid}])
    tx = T.thread_id([32])
"""


def simulated(body: str, n: int = 0, *, grid: int = 1, budget: int = BUDGET) -> tuple[tvm.Report, np.ndarray]:
    a = np.zeros(32, np.float32)
    kernel = from_source(KERNEL.format(grid=grid) + textwrap.indent(body, "    "))
    return tvm.simulate(kernel, a, n, budget=budget), a


LOOPS = {
    "a loop": ("for i in range(1 << 30):\n    A[tx] = i", "is about to make 1,073,741,824 more after 200 of all warps"),
    "nested loops": (
        "for i in range(1 << 15):\n    for j in range(1 << 15):\n        A[tx] = j", "make 1,073,774,592 more",
    ),
    "a length that is known at run time": ("for i in range(0, n, 2):\n    A[tx] = i", "make 500,000,000 more"),
    "a loop in a branch": (
        "for i in range(4):\n    if i == 2:\n        for j in range(1 << 28):\n            A[tx] = j",
        "make 268,435,456 more",
    ),
    "a loop of some lanes": ("if tx < 3:\n    for i in range(1 << 30):\n        A[tx] = i", "make 1,073,741,824 more"),
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_beyond_the_budget_is_not_begun(name: str) -> None:
    body, words = LOOPS[name]
    report, _ = simulated(body, 1_000_000_000)
    (finding,) = report.findings
    assert (report.verdict, finding.kind, finding.severity) == ("incomplete", "over-budget", "note")
    assert words in finding.message, finding.message
    assert "0 of 1 CTAs have ended" in str(report) and "--budget" in finding.details["hint"]
    line = next(line for line in body.splitlines()[::-1] if "for " in line) if "branch" in name else "for i"
    assert line.strip() in str(report)


ENDS = {
    "a loop that may end early": "for i in range(1 << 30):\n    if A[tx] < 0.0:\n        break\n    A[tx] = 1.0",
    "a while loop": "i = 0\nwhile i < (1 << 30):\n    i = i + 1\nA[tx] = i",
    "a loop that the lanes leave one by one": "i = 0\nwhile i < (1 << 30) + tx:\n    i = i + 1\nA[tx] = i",
    "a loop of another length in each lane": "for i in range((1 << 28) + tx):\n    A[tx] = i",
}


@pytest.mark.parametrize("name", ENDS)
def test_a_loop_of_unknown_length_ends_at_the_budget(name: str) -> None:
    report, _ = simulated(ENDS[name], budget=3000)
    (finding,) = report.findings
    assert (report.verdict, finding.kind) == ("incomplete", "over-budget"), str(report)
    assert "is still in this loop after 2," in finding.message
    assert "check that it ends" in finding.details["hint"]


def made(body: str, budget: int) -> int:
    """Return the number of iterations that a run makes before its budget ends it."""
    report, a = simulated(body, budget=budget)
    assert report.verdict == "incomplete", str(report)
    return int(a.max())


def test_iterations_count_by_their_cost() -> None:
    plain = made("i = 0\nwhile i < (1 << 30):\n    i = i + 1\n    A[tx] = i", 100_000)
    parted = made("i = 0\nwhile i < (1 << 30) + tx:\n    i = i + 1\n    A[tx] = i", 100_000)
    assert 100_000 / 130 < parted < plain < 100_000 / 75


def test_a_lock_that_is_never_released_is_polled_for_some_time_only() -> None:
    body = (
        'if tx == 0:\n    while T.ptx["atom.relaxed.gpu.global.add.f32"](A.ptr_to([0]), 1.0) >= 0.0:\n'
        '        T.ptx["nanosleep.u32"](20)'
    )
    assert made(body, 100_000) < 100_000 / 150


def test_a_loop_that_counts_is_not_polling() -> None:
    count = made("i = 0\nwhile A[tx] >= 0.0:\n    i = i + 1\n    A[tx] = i", 100_000)
    assert count > 100_000 / 250


def test_the_iterations_of_all_warps_are_counted_together() -> None:
    body = "x = 0.0\nfor i in range(1000):\n    x += 1.0\nif bx == 0:\n    A[tx] = x"
    assert simulated(body, grid=4, budget=4 * 1200)[0].verdict == "ok"
    report, _ = simulated(body, grid=4, budget=4 * 1200 - 1)
    assert report.verdict == "incomplete" and "make 1,000 more after 3,800 of all warps" in str(report), str(report)


def test_a_loop_within_the_budget_runs_to_its_end() -> None:
    body = "total = 0\nfor i in range(100):\n    for j in range(n):\n        total += 1\nA[tx] = total"
    report, a = simulated(body, 7, budget=200 + 100 + 700)
    assert report.verdict == "ok" and (a == 700).all(), str(report)
    assert simulated(body, 7, budget=200 + 100 + 699)[0].verdict == "incomplete"


def test_an_early_end_is_not_counted_for_the_rest_of_the_loop() -> None:
    report, a = simulated("for i in range(1 << 30):\n    A[tx] = i\n    if i == 9:\n        break", budget=1000)
    assert report.verdict == "ok" and (a == 9).all(), str(report)


def test_a_grid_beyond_the_budget_is_not_begun() -> None:
    report, a = simulated("A[tx] = 1.0", grid=1 << 22)
    (finding,) = report.findings
    assert (report.verdict, finding.kind) == ("incomplete", "over-budget") and not a.any()
    assert "the grid has 4,194,304 CTAs" in finding.message and "--budget 2000000000" in finding.details["hint"]


def test_arrays_beyond_the_memory_of_the_simulator_are_not_made() -> None:
    body = "r = T.alloc_local((1 << 16,))\nr[tx] = 1.0\nA[tx] = r[tx]"
    assert simulated(body)[0].verdict == "ok"
    report, _ = simulated(body, grid=10_000)
    (finding,) = report.findings
    assert (report.verdict, finding.kind) == ("incomplete", "over-budget") and "at most 8 GiB" in finding.message
    assert "--sms" in finding.details["hint"]


def test_what_was_found_before_the_budget_ended_is_reported() -> None:
    body = "r = T.alloc_local((2,))\nA[tx] = r[1]\nfor i in range(1 << 30):\n    A[tx] = i"
    report, _ = simulated(body)
    assert report.verdict == "hazard"
    assert [finding.kind for finding in report.findings] == ["uninitialised-register", "over-budget"], str(report)


@pytest.mark.parametrize("name", ["iterations", "steps", "polls", "wid", "w", "tid", "window"])
def test_a_variable_may_have_a_name_that_the_generated_code_has_for_itself(name: str) -> None:
    report, a = simulated(f"{name} = 0\nwhile {name} < 5:\n    {name} = {name} + 2\nA[tx] = {name}")
    assert report.verdict == "ok" and (a == 6).all(), str(report)
