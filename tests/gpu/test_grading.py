"""Grading on a Hopper GPU: kernels run and are timed there, and what is wrong ends with a sentence."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.kernels_ref.skeletons import filled_in
from tirx_mini.grading import Graded, HandIn, Judges, OnGpu, grade, load_rules

pytestmark = pytest.mark.gpu
RULES = load_rules()
FILE = "gemm_kernels_sm90.py"


@pytest.fixture(scope="module")
def judges() -> Iterator[Judges]:
    with Judges(2, RULES.judge) as shared:
        yield shared


@pytest.fixture(scope="module")
def bench(judges: Judges) -> Iterator[OnGpu]:
    with OnGpu(judges) as shared:
        yield shared


def graded(source: str, step: int, judges: Judges, bench: OnGpu) -> Graded:
    return grade(HandIn(FILE, FILE, source), RULES, target="cuda", steps=[step], judges=judges, bench=bench)


@pytest.mark.parametrize("step", [3, 4, 9])
def test_a_reference_earns_its_points(step: int, judges: Judges, bench: OnGpu) -> None:
    found = graded(filled_in("sm90", [step]), step, judges, bench)
    result = found.step(step)
    assert result.score == result.points, [part.said for part in result.parts]
    assert f"measured on {found.gpu}" in result.part("performance").said


def test_a_wrong_kernel_has_a_page(judges: Judges, bench: OnGpu) -> None:
    source = filled_in("sm90", [3]).replace("accum=(k != 0)", "accum=True")
    correctness = graded(source, 3, judges, bench).step(3).part("correctness")
    assert correctness.passed is False and correctness.pages


def test_a_kernel_that_hangs_is_ended_and_explained(judges: Judges, bench: OnGpu) -> None:
    """It waits for a phase that never completes; the next kernel can run."""
    source = filled_in("sm90", [4])
    wrong = source.replace("phase_tma ^ 1", "phase_tma ^ 0", 1)
    assert wrong != source
    correctness = graded(wrong, 4, judges, bench).step(4).part("correctness")
    assert correctness.passed is False and correctness.pages, correctness.said
    assert graded(source, 4, judges, bench).score == 10
