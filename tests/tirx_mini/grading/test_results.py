"""A grade as JSON and back."""

from __future__ import annotations

import json

import pytest

from tirx_mini.grading import Graded, Late, Part, StepResult, points_text

PARTS = (
    Part("correctness", True, 1.0, "right at 3 sizes"),
    Part("performance", None, 0.0, "not timed"),
    Part("implementation", False, 0.0, "no TMA load", ("a page\nof two lines",)),
)
GRADE = Graded(
    "handin.tar", "ab" * 32, "sim", "B200", (StepResult(4, 10.0, 5.0, PARTS, reproduce="python -m …"),), 4.5, 10.0,
    Late(1, 0.1, "a day late"), ("no seccomp",), log="hello",
)  # fmt: skip


@pytest.mark.parametrize("late", [GRADE.late, None])
def test_a_grade_survives_json(late: Late | None) -> None:
    grade = Graded(**{**vars(GRADE), "late": late})
    assert Graded.from_dict(json.loads(json.dumps(grade.as_dict()))) == grade


@pytest.mark.parametrize("damage", [{"format": "other"}, {"version": 1}, {"steps": [{"step": 1}]}, {"late": 3}])
def test_anything_else_is_refused(damage: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="this "):
        Graded.from_dict({**GRADE.as_dict(), **damage})


def test_a_missing_field_is_named() -> None:
    data = GRADE.as_dict()
    del data["score"]
    with pytest.raises(ValueError, match="score"):
        Graded.from_dict(data)


def test_parts_and_steps_are_found_by_name() -> None:
    assert GRADE.step(4).part("implementation").pages == ("a page\nof two lines",)


def test_a_grade_without_a_score_says_why_and_survives_json() -> None:
    lost = Part("performance", None, 0.0, "not graded: the judge's process ended by SIGKILL", lost=True)
    step = StepResult(4, 10.0, None, (PARTS[0], lost, PARTS[2]), printed="hello")
    grade = Graded(**{**vars(GRADE), "steps": (*GRADE.steps, step), "score": None})
    assert grade.not_graded == (step,) and GRADE.not_graded == () and GRADE.why_not == ""
    assert grade.why_not == "step 4: the judge's process ended by SIGKILL"
    assert json.loads(json.dumps(grade.as_dict()))["score"] is None
    assert Graded.from_dict(json.loads(json.dumps(grade.as_dict()))) == grade


def test_points_have_no_needless_digits() -> None:
    assert [points_text(points) for points in (15.0, 3.75, 0.0, None)] == ["15", "3.75", "0", "not graded"]
