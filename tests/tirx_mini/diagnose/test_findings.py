"""Findings and reports: their order, the verdict, and JSON."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tirx_mini.diagnose import Finding, Report, as_dict, verdict_of, worst_first
from tirx_mini.ir import Span


def finding(kind: str, severity: str = "error", message: str = "m") -> Finding:
    return Finding(kind, severity, message)  # type: ignore[arg-type]


def test_the_worst_finding_comes_first() -> None:
    race, late, hang = finding("race"), finding("race", message="later"), finding("deadlock")
    warning, fault = finding("missing-tcgen05-fence", "warning"), finding("out-of-bounds")
    assert worst_first([warning, race, late, hang, fault]) == (fault, hang, race, late, warning)


@pytest.mark.parametrize(
    ("kinds", "verdict"),
    [
        ([], "ok"),
        ([("race", "warning")], "ok"),
        ([("race", "error"), ("deadlock", "warning")], "hazard"),
        ([("race", "error"), ("deadlock", "error")], "deadlock"),
        ([("deadlock", "error"), ("tmem-not-freed", "error")], "fault"),
    ],
)
def test_only_errors_change_the_verdict(kinds: list[tuple[str, str]], verdict: str) -> None:
    assert verdict_of([finding(*kind) for kind in kinds]) == verdict


def test_a_report_becomes_json() -> None:
    span = Span("kernel.py", 3, 4)
    found = Finding("race", "error", "two writes", span, {"notes": (("here", span),), "buffer": "A"})
    report = Report("hazard", (found,), 1.5, None, 10.0, [1], {"flops": np.float64(2)}, "k", "B200")
    data = json.loads(json.dumps(as_dict(report)))
    assert data["findings"][0]["span"] == "kernel.py:3:5"
    assert data["findings"][0]["details"]["notes"] == [["here", "kernel.py:3:5"]]
    assert data["stats"] == {"flops": 2.0} and "trace" not in data and "tflops" not in data
