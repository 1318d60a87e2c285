"""Each question of the quiz accepts the computed figure, and refuses each listed mistake with its own sentence."""

from __future__ import annotations

import pytest

from tirx_mini.course import FACTOR, QUESTIONS, STEPS, Prediction, Slip, marked

ASKED = [
    (folder, step, number)
    for folder, steps in QUESTIONS.items()
    for step, questions in steps.items()
    for number in range(len(questions))
]


def test_each_step_has_at_least_three_questions() -> None:
    for steps in QUESTIONS.values():
        assert list(steps) == list(STEPS)
        assert min(map(len, steps.values())) >= 3


@pytest.mark.parametrize(("folder", "step", "number"), ASKED)
def test_the_computed_figure_is_right_and_each_listed_mistake_is_named(folder: str, step: int, number: int) -> None:
    question = QUESTIONS[folder][step][number]
    figure = question.figure()
    assert marked(question, figure).right
    assert len(question.slips) >= 3 and len(question.reasons) == 3
    assert len({slip.figure() for slip in question.slips}) == len(question.slips)
    for slip in question.slips:
        mark = marked(question, slip.figure())
        assert not mark.right and mark.figure == figure
        assert mark.said == slip.said


@pytest.mark.parametrize(
    ("factor", "answer", "right", "said"),
    [
        (1.0, 8, True, ""), (1.0, 8.1, False, ""), (1.0, 16, False, "twice"),
        (FACTOR, 9.9, True, ""), (FACTOR, 6.5, True, ""), (FACTOR, 10.1, False, ""), (FACTOR, 15, False, "twice"),
        (FACTOR, -8, False, ""), (FACTOR, 0, False, ""),
    ],
)  # fmt: skip
def test_counts_are_exact_and_measures_are_not(factor: float, answer: float, right: bool, said: str) -> None:
    question = Prediction("?", "", lambda: 8, ("", "", ""), (Slip(lambda: 16, "twice"),), factor)
    mark = marked(question, answer)
    assert (mark.right, mark.said) == (right, said)


def test_a_figure_is_shown_with_its_unit_in_the_singular_where_it_is_one() -> None:
    count, factor = (Prediction("?", unit, lambda: 1, (), (), f) for unit, f in (("phases", 1.0), ("times", FACTOR)))
    assert (count.shown(1), count.shown(2), count.shown(32768)) == ("1 phase", "2 phases", "32,768 phases")
    assert (factor.shown(1), factor.shown(1.25)) == ("1 times", "1.25 times")
