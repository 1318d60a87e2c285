"""Each drill fails as its symptom says, and only the repair of its mistake passes."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import pytest

from tests.tirx_mini.course.drills.hiding import with_barriers, with_one_stage
from tirx_mini.course import DRILLS, KernelFileError, Outcome
from tirx_mini.course.drills import Dealt, Drill, Symptom, attempt, deal, first_finding, observe
from tirx_mini.ir import TirxError

EACH = list(chain.from_iterable(DRILLS.values()))
OUTCOMES = {Symptom.HANGS: Outcome.HANGS, Symptom.WRONG: Outcome.WRONG, Symptom.SLOW: Outcome.RIGHT}
SLOW = 1.2


def named(drill: Drill) -> str:
    return f"{drill.arch}-{drill.step}-{drill.name.replace(' ', '-')}"


@pytest.fixture(params=range(len(EACH)), ids=[named(drill) for drill in EACH])
def dealt(request: pytest.FixtureRequest) -> Dealt:
    return deal(EACH[request.param], request.param % 4)


def test_it_fails_in_the_way_of_its_symptom_and_its_finding_is_the_first(dealt: Dealt, tmp_path: Path) -> None:
    path = tmp_path / "drill.py"
    path.write_text(dealt.text, encoding="utf-8")
    found = observe(dealt, path)
    assert found.outcome is OUTCOMES[dealt.drill.symptom]
    assert first_finding(found.checked) == dealt.drill.first
    if dealt.drill.symptom is Symptom.SLOW:
        assert not found.checked.report.errors and not found.checked.report.warnings
        assert found.factor is not None and found.factor >= SLOW


def test_only_the_repair_passes(dealt: Dealt, tmp_path: Path) -> None:
    assert passes(dealt, dealt.repaired, tmp_path)
    assert not passes(dealt, with_barriers(dealt.text), tmp_path)
    if with_one_stage(dealt.text) != dealt.text:
        assert not passes(dealt, with_one_stage(dealt.text), tmp_path)


def passes(dealt: Dealt, text: str, folder: Path) -> bool:
    path = folder / "drill.py"
    path.write_text(text, encoding="utf-8")
    try:
        return attempt(dealt, path).passed
    except (TirxError, KernelFileError):
        return False
