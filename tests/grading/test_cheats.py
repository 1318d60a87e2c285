"""Hand-ins that look like what they are not: each has its honest score."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType

import pytest

from tests.grading.cheats import CHEATS, TIMED
from tirx_mini.course import STEPS
from tirx_mini.grading import HandIn, Judges, Rules, grade, load_rules

RULES = load_rules()


def small() -> Rules:
    """The rules with problems that take no time."""
    few = {
        number: replace(rule, data=(STEPS[number].shape(256 if number < 9 else 1024),), timed=TIMED)
        for number, rule in RULES.steps.items()
    }
    return replace(RULES, steps=MappingProxyType({**RULES.steps, **few}))


@pytest.fixture(scope="module")
def judges() -> Iterator[Judges]:
    with Judges(1, RULES.judge) as shared:
        yield shared


def check(name: str, judges: Judges) -> None:
    cheat = CHEATS[name]
    found = grade(HandIn("x.py", cheat.file, cheat.source()), small(), judges=judges, steps=[cheat.step], jobs=1)
    (step,) = found.steps
    said = "\n".join([*(part.said for part in step.parts), found.problem])
    assert found.score == cheat.share * step.points, said
    assert re.search(cheat.said, said), said


@pytest.mark.parametrize("name", CHEATS)
def test_a_hand_in_gets_the_score_that_its_kernel_deserves(name: str, judges: Judges) -> None:
    check(name, judges)


LARGE = ["slow_in_one_cta", "two_warps_free_tensor_memory", "a_course_that_depends_on_data", "one_name_for_all"]


@pytest.mark.parametrize("name", LARGE)
def test_so_it_does_where_a_large_problem_is_timed_in_parts(
    name: str, judges: Judges, monkeypatch: pytest.MonkeyPatch
) -> None:
    """D is compared in clusters that are drawn, and the clock is sampled where that may be."""
    monkeypatch.setattr("tirx_mini.grading.judges.WHOLE", 1)
    check(name, judges)


def test_a_large_problem_that_is_timed_in_parts_is_compared(judges: Judges, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tirx_mini.grading.judges.WHOLE", 1)
    cheat = CHEATS["wrong_where_timed"]
    found = grade(HandIn("x.py", cheat.file, cheat.source()), small(), judges=judges, steps=[3], jobs=1)
    said = found.step(3).part("correctness").said
    assert found.score == 0 and re.search(r"at 512x512x256: D\[\d+:\d+, \d+:\d+\] is wrong", said), said
