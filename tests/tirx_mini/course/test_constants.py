"""Constants of a kernel file: which there are, and the file with other values for them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.kernels_ref.edits import SOURCES
from tirx_mini.course import (
    ConstantError,
    KernelRef,
    constants_of,
    converted,
    lines_of_constants,
    load_kernel,
    load_module,
)
from tirx_mini.course.constants import parameters_of

FILE = """
BLK_M, BLK_N = 128, 64
STAGES: int = 2
SCALE = 1.5
UNREAD = 7
BYTES = BLK_M * STAGES
NAME = "x"
counter = 0
counter = 1


def bytes_of(stages):
    EXTRA = 16
    return BYTES * stages + EXTRA


def factory(M, N, K, dtype="float16", *, swap=False):
    DEPTH = 4
    K_TILES = K // BLK_N
    stage = 0
    stage = 1
    return BLK_M, bytes_of(DEPTH), SCALE, dtype, swap, NAME, counter, stage
"""
TREE = ast.parse(FILE)


def test_a_function_has_the_constants_that_it_reads_itself_and_through_others() -> None:
    assert constants_of(TREE, "factory") == {
        "BLK_M": 128, "BLK_N": 64, "STAGES": 2, "SCALE": 1.5, "NAME": "x", "DEPTH": 4, "EXTRA": 16, "dtype": "float16",
        "swap": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [("DEPTH", "6", 6), ("SCALE", "2", 2.0), ("swap", "True", True), ("dtype", "bfloat16", "bfloat16")],
)
def test_a_value_is_read_as_the_constant_is_written(name: str, text: str, value: object) -> None:
    assert converted(TREE, "factory", name, text) == value


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("DEPHT", "6", r"factory has no constant DEPHT; it has BLK_M = 128, .*, STAGES = 2"),
        ("UNREAD", "6", "factory has no constant UNREAD"),
        ("BYTES", "6", "BYTES is computed from BLK_M, STAGES: change one of these"),
        ("counter", "6", "factory has no constant counter"),
        ("DEPTH", "6.5", "DEPTH takes a whole number, as in DEPTH=4, not '6.5'"),
        ("DEPTH", "True", "DEPTH takes a whole number"),
        ("SCALE", "big", "SCALE takes a number, as in SCALE=1.5, not 'big'"),
        ("swap", "1", "swap takes True or False"),
    ],
)
def test_a_constant_that_there_is_not_and_a_value_of_another_kind_are_refused(
    name: str, text: str, problem: str
) -> None:
    with pytest.raises(ConstantError, match=problem):
        converted(TREE, "factory", name, text)


def test_the_rest_of_the_file_follows_the_changed_constants(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(FILE)
    changes = {"BLK_M": 256, "STAGES": 3, "DEPTH": 1, "EXTRA": 0, "swap": True}
    module = load_module(tmp_path / "mine.py", constants=changes)
    assert module.factory(1, 1, 64) == (256, 256 * 3, 1.5, "float16", True, "x", 1, 1)
    unchanged = load_module(tmp_path / "mine.py")
    assert unchanged.factory(1, 1, 64) == (128, 128 * 2 * 4 + 16, 1.5, "float16", False, "x", 1, 1)


def test_a_kernel_is_built_with_other_values_of_its_constants() -> None:
    ref = KernelRef(SOURCES[7], "hgemm_v7")

    def stages(**changes: int) -> str:
        kernel = load_kernel(ref, size=256, constants=changes)
        return next(line for line in kernel.script().splitlines() if "Asmem =" in line)

    assert "(2, 128, 64)" in stages() and "(4, 128, 64)" in stages(PIPE_DEPTH=4)


def test_constants_have_the_lines_of_their_values() -> None:
    lines = {name: FILE.splitlines()[line - 1] for name, line in lines_of_constants(TREE, "factory").items()}
    assert set(lines) == set(constants_of(TREE, "factory"))
    assert lines["BLK_N"] == "BLK_M, BLK_N = 128, 64" and lines["EXTRA"].strip() == "EXTRA = 16"


def test_items_of_a_tuple_are_constants(tmp_path: Path) -> None:
    text = "TILES = (128, (64, 32))\n\n\ndef host(a, tiles=TILES, sizes=(1, 2)):\n    return tiles, sizes\n"
    tree = ast.parse(text)
    items = {"TILES[0]": 128, "TILES[1][0]": 64, "TILES[1][1]": 32, "sizes[0]": 1, "sizes[1]": 2}
    assert constants_of(tree, "host") == {} and constants_of(tree, "host", items=True) == items
    assert constants_of(tree, "", items=True) == items and parameters_of(tree, "host") == ["a", "tiles", "sizes"]
    assert lines_of_constants(tree, "host", items=True) == {**dict.fromkeys(items, 1), "sizes[0]": 4, "sizes[1]": 4}
    (tmp_path / "mine.py").write_text(text)
    module = load_module(tmp_path / "mine.py", constants={"TILES[1][0]": 16, "sizes[1]": 9})
    assert module.host(0) == ((128, (16, 32)), (1, 9))
    with pytest.raises(ConstantError, match=r"TILES is a tuple: change an item, as TILES\[0\]"):
        converted(tree, "host", "TILES", "1")
