"""Findings and reports: their order, the verdict, and JSON."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.tirx_mini.timings import timing
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
        ([("race", "note")], "ok"),
        ([("race", "warning"), ("not-modelled", "note")], "incomplete"),
        ([("race", "error"), ("not-modelled", "note")], "hazard"),
        ([("deadlock", "error"), ("tmem-not-freed", "error")], "fault"),
    ],
)
def test_only_errors_change_the_verdict(kinds: list[tuple[str, str]], verdict: str) -> None:
    assert verdict_of([finding(*kind) for kind in kinds]) == verdict


def test_notes_come_last() -> None:
    note, warning, race = finding("not-modelled", "note"), finding("race", "warning"), finding("race")
    assert worst_first([note, warning, race]) == (race, warning, note)
    assert Report("hazard", (race, warning, note)).notes == (note,)


def test_a_finding_with_an_order_is_possible_and_any_other_happened() -> None:
    possible = Finding("race", "error", "m", order="if the load lands first")
    assert finding("race").happened and not possible.happened
    assert as_dict(possible)["order"] == "if the load lands first" and as_dict(possible)["happened"] is False
    assert as_dict(finding("race"))["happened"] is True and "order" not in as_dict(finding("race"))


def test_errors_that_are_all_possible() -> None:
    possible = Finding("race", "error", "m", order="if the load lands first")
    assert Report("hazard", (possible, finding("race", "warning"))).only_possible
    assert not Report("hazard", (possible, finding("race"))).only_possible
    assert not Report("ok", (finding("race", "warning"),)).only_possible
    assert not Report("ok").only_possible


def test_a_report_becomes_json() -> None:
    span = Span("kernel.py", 3, 4)
    found = Finding("race", "error", "two writes", span, {"notes": (("here", span),), "buffer": "A"})
    report = Report("hazard", (found,), timing(1.5, cycles=10.0), [1], {"flops": np.float64(2)}, "k", "B200")
    data = json.loads(json.dumps(as_dict(report)))
    assert data["findings"][0]["span"] == "kernel.py:3:5"
    assert data["findings"][0]["details"]["notes"] == [["here", "kernel.py:3:5"]]
    assert data["stats"] == {"flops": 2.0} and "trace" not in data and "tflops" not in data
    assert (data["time_us"], data["cycles"]) == (1.5, 10.0)
