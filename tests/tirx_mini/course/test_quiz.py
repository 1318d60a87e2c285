"""Each question of the quiz accepts the computed figure, and refuses each listed mistake with its own sentence."""

from __future__ import annotations

import pytest

from tirx_mini.course import FACTOR, QUIZZES, STEPS, Prediction, Slip, marked

ASKED = [
    (folder, step, number)
    for folder, steps in QUIZZES.items()
    for step, questions in steps.items()
    for number in range(len(questions))
]


def test_each_step_has_at_least_three_questions() -> None:
    for steps in QUIZZES.values():
        assert list(steps) == list(STEPS)
        assert min(map(len, steps.values())) >= 3


@pytest.mark.parametrize(("folder", "step", "number"), ASKED)
def test_the_computed_figure_is_right_and_each_listed_mistake_is_named(folder: str, step: int, number: int) -> None:
    question = QUIZZES[folder][step][number]
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
