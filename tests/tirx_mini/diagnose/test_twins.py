"""One mistake is one finding: what A and B show alike is said once, with both names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tirx_mini.diagnose import Finding, together
from tirx_mini.ir import Span

SOURCE = """\
load(Asmem[0], A[m_st : m_st + BLK_M])
load(Bsmem[0], B[n_st : n_st + BLK_N])
store(Dsmem[0])
"""


@pytest.fixture
def source(tmp_path: Path) -> str:
    path = tmp_path / "kernel.py"
    path.write_text(SOURCE)
    return str(path)


def race(source: str, buffer: str, line: int, stage: int = 0, severity: str = "error") -> Finding:
    where = f"{buffer}[{stage}, 0] to {buffer}[{stage}, 63]"
    span = Span(source, line, 0, line, len(SOURCE.splitlines()[line - 1]))
    details = {"buffer": buffer, "where": where, "count": 2, "notes": (("the barrier is here", Span(source, 3, 0)),)}
    message = f"the TMA load writes {where} while it may be read by the MMA"
    assert severity in ("error", "warning")
    return Finding("race", severity, message, span, details, order="if the TMA load writes it before the MMA reads it")


def test_a_and_b_are_one_finding_at_the_first_line(source: str) -> None:
    other = race(source, "Dsmem", 3)
    first, last = together([race(source, "Bsmem", 2), other, race(source, "Asmem", 1)])
    both = "Asmem[0, 0] to Asmem[0, 63] and Bsmem[0, 0] to Bsmem[0, 63]"
    assert first.message == f"the TMA load writes {both} while they may be read by the MMA"
    assert first.order == "if the TMA load writes them before the MMA reads them"
    assert first.span is not None and first.span.line == 1
    assert (first.details["buffer"], first.details["count"]) == ("Asmem and Bsmem", 4)
    notes = [(text, span.line) for text, span in first.details["notes"]]
    assert notes == [("and the same with Bsmem here", 2), ("the barrier is here", 3)]
    assert last is other


def test_one_line_that_is_inlined_twice_is_one_finding(source: str) -> None:
    (one,) = together([race(source, "Asmem", 1), race(source, "Asmem", 1)])
    assert one.message == race(source, "Asmem", 1).message and one.details["count"] == 4


@pytest.mark.parametrize("change", [{"kind": "missing-proxy-fence"}, {"severity": "warning"}, {"order": None}])
def test_other_mistakes_stay_apart(source: str, change: dict[str, str | None]) -> None:
    findings = [race(source, "Asmem", 1), replace(race(source, "Bsmem", 2), **change)]
    assert together(findings) == findings


def test_other_lines_and_other_stages_stay_apart(source: str) -> None:
    findings = [race(source, "Asmem", 1), race(source, "Bsmem", 3), race(source, "Asmem", 1, stage=1)]
    assert together(findings) == findings


def test_stages_are_paired_with_stages(source: str) -> None:
    lines = {"Asmem": 1, "Bsmem": 2}
    found = together([race(source, name, lines[name], stage) for name in lines for stage in (0, 1)])
    assert [finding.details["where"] for finding in found] == [
        f"Asmem[{stage}, 0] to Asmem[{stage}, 63] and Bsmem[{stage}, 0] to Bsmem[{stage}, 63]" for stage in (0, 1)
    ]
