"""What a report says of the orders that were not run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tirx_mini as tvm
from tests.tirx_mini.driver.test_exploring import SMALL, kernel, one_tile
from tirx_mini.diagnose import Proof, Report, as_dict
from tirx_mini.report import plain, report_page

SEVERAL = "no ordering of the recorded events deadlocks or races"
ONE_ROUND = "if warp == 0:\n    bar.arrive(0)\nif warp == 1:\n    bar.wait(0, 0)"
TWO_PRODUCERS = "if warp < 2:\n    bar.arrive(0)"
ABBA = "if warp == 0:\n    bar.wait(0, 0)\n    bar.arrive(1)\nif warp == 1:\n    bar.wait(1, 0)\n    bar.arrive(0)"


def simulated(tmp_path: Path, body: str, **options: Any) -> Report:
    body += "\nif warp == 3:\n    A[0] = 1\n    A[1] = 1"
    return tvm.simulate(kernel(tmp_path, body), np.zeros(2, np.int32), **options)


def test_a_run_without_findings_proves_all_orders(tmp_path: Path) -> None:
    report = simulated(tmp_path, ONE_ROUND)
    assert report.proof == Proof(True) and SEVERAL in str(report) and SEVERAL in plain(report_page(report))
    assert as_dict(report)["proof"] == {"holds": True}


def test_signals_without_an_order_leave_it_open_with_their_place(tmp_path: Path) -> None:
    report = simulated(tmp_path, TWO_PRODUCERS)
    assert report.ok and report.proof is not None and not report.proof.holds
    (text, span), = report.proof.open
    assert text == "signals of bar[0] may count in each other's phases" and span is not None
    assert f"other orders of its events may differ: {text} (line {span.user.line})" in str(report)


@pytest.mark.parametrize("body", [ABBA, "if warp == 0:\n    bar.arrive(0)\n    A[0] = 4"])
def test_nothing_is_said_of_other_orders_of_a_run_that_went_wrong(body: str, tmp_path: Path) -> None:
    report = simulated(tmp_path, body)
    assert not report.ok and report.proof is None and SEVERAL not in str(report)


def test_nothing_is_proved_without_checks(tmp_path: Path) -> None:
    assert simulated(tmp_path, ONE_ROUND, checks=False).proof is None


def test_a_wait_that_another_order_lets_through_a_round_earlier_is_a_race(tmp_path: Path) -> None:
    """The run shows the third round; a warp that comes right after the first knows nothing of it."""
    body = "if warp == 0:\n    bar.arrive(0)\n    bar.arrive(0)\n    A[0] = 1\n    bar.arrive(0)\n"
    body += "if warp == 1:\n    bar.wait(0, 0)\n    A[0] = A[0] + 1"
    found = tvm.explore(kernel(tmp_path, body), np.zeros(2, np.int32)).report
    assert found.verdict == "hazard" and found.findings[0].code == "TX201"


@pytest.mark.parametrize("step", SMALL)
def test_a_reference_is_right_in_every_order(step: int, tmp_path: Path) -> None:
    m, n, k = SMALL[step]
    a, b = (np.zeros(shape, np.float16) for shape in ((m, k), (n, k)))
    report = tvm.simulate(one_tile(step, tmp_path), a, b, np.zeros((m, n), np.float16))
    assert report.ok and report.proof == Proof(True), str(report)
