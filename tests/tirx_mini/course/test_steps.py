"""The table of steps: their sizes, their tiles, and lists of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tirx_mini.course import STEPS, load_kernels, parse_steps, shape_text, steps_from

ROOT = Path(__file__).parents[3]
REFERENCES = ROOT / "kernels_ref"


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("3", (3,)),
        ("1-3", (1, 2, 3)),
        ("7,1-2,2", (1, 2, 7)),
        (f"{min(STEPS)}-{max(STEPS)}", tuple(STEPS)),
    ],
)
def test_a_list_of_steps_is_sorted_without_repetitions(text: str, steps: tuple[int, ...]) -> None:
    assert parse_steps(text) == steps


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "'' is not a list of steps"),
        ("x", "write for example 1-3"),
        ("3-", "is not a list of steps"),
        ("1;2", "is not a list of steps"),
        ("0", "step 0 does not exist; the steps are 1 to"),
        (str(max(STEPS) + 1), f"does not exist; the steps are 1 to {max(STEPS)}$"),
        ("1-999999999999", "step 999999999999 does not exist"),
        ("3-1", "3-1 is an empty range; write 1-3"),
    ],
)
def test_a_wrong_list_of_steps_is_explained(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_steps(text)


def test_a_size_sets_the_dimensions_that_a_step_leaves_free() -> None:
    assert STEPS[1].shape(512) == (128, 128, 64)
    assert STEPS[2].shape(512) == (128, 128, 512)
    assert STEPS[3].shape(512) == (512, 512, 512)


def test_a_shape_in_tiles_covers_whole_tiles_of_the_architecture() -> None:
    assert STEPS[1].in_tiles(2, 3, 4) == (128, 128, 64)
    assert STEPS[2].in_tiles(2, 3, 4) == (128, 128, 256)
    assert STEPS[9].in_tiles(2, 3, 4) == (512, 768, 256)
    assert STEPS[9].in_tiles(2, 3, 4, "sm90") == (512, 384, 256)


def test_steps_are_numbered_without_a_gap() -> None:
    assert list(STEPS) == list(range(1, len(STEPS) + 1))
    assert steps_from(1) == tuple(STEPS) and steps_from(len(STEPS)) == (len(STEPS),)


def test_the_shapes_are_those_of_the_assignment() -> None:
    assert [shape[2] for shape in STEPS[2].shapes] == [64, 512, 1024, 4096]
    assert [shape_text(shape) for shape in STEPS[3].shapes] == ["256", "512", "1024", "2048"]
    assert [shape_text(shape) for shape in STEPS[10].all_shapes(full=True)] == ["1024", "2048", "4096", "8192"]


@pytest.mark.parametrize(
    ("kernels", "arch"),
    [("kernels_ref", "sm100"), ("kernels_ref", "sm90"), ("gemm_kernels.py", "sm100"), ("gemm_kernels_sm90.py", "sm90")],
)
def test_references_and_skeletons_have_every_step(kernels: str, arch: str) -> None:
    assert list(load_kernels(ROOT / kernels, arch)) == list(STEPS)


@pytest.mark.parametrize("step", STEPS)
def test_every_step_has_its_test(step: int) -> None:
    assert f"\nSTEP = {step}\n" in (ROOT / "tests" / f"test_step{step:02}.py").read_text(encoding="utf-8")
