"""Texts that passes are tested by: they are collected, their differences shown, and the files updated."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.texts import SUFFIXES
from tirx_mini.frontends.tile_ir.nv_tileas import IN_ORDER, PRINTING
from tirx_mini.frontends.tilelang.pipeline import PASSES
from tirx_mini.ir import Pass
from tirx_mini.passes import PIPELINE
from tools.texts import COMMENTS, TextError, files, main, read, run

ROOT = Path(__file__).parents[2]
ROOMS = ROOT / "tests" / "tirx_mini"
EXAMPLE = ROOMS / "passes" / "texts" / "vectorize" / "bound_operand.tir"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of a text, in a folder of its own."""
    return Path(shutil.copy2(EXAMPLE, tmp_path))


def passes_of(folder: Path) -> set[str]:
    """The passes that the texts below a folder name."""
    return {name.removeprefix("..") for path in files([folder]) for name in read(path).options["passes"].split()}


def test_each_kind_of_text_is_collected() -> None:
    assert set(COMMENTS) == SUFFIXES


@pytest.mark.parametrize(
    ("folder", "passes"),
    [("passes", PIPELINE), ("frontends/tile_ir", (*IN_ORDER, *PRINTING)), ("frontends/tilelang", PASSES)],
)
def test_each_pass_has_a_text(folder: str, passes: tuple[Pass[Any], ...]) -> None:
    assert {step.name for step in passes} <= passes_of(ROOMS / folder)


def test_files_are_tests_whose_differences_are_shown(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    right = copy.read_text(encoding="utf-8")
    copy.write_text(right.replace("vector[0] = ", "vector[1] = "), encoding="utf-8")
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:hypothesispytest"]
    command = [sys.executable, "-m", "pytest", *options, EXAMPLE.relative_to(ROOT), copy]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "1 failed, 1 passed" in done.stdout, done.stdout
    assert "\n+    vector[0] = Tx.ptx.fma.rn(" in done.stdout
    assert "If this is meant: python -m tools.texts" in done.stdout
    assert main([str(copy)]) == 0
    assert copy.read_text(encoding="utf-8") == right
    assert "+    vector[0] = Tx.ptx.fma.rn(" in capsys.readouterr().out
    assert main([str(copy)]) == 0 and capsys.readouterr().out == ""


def test_a_new_file_needs_no_result(copy: Path) -> None:
    whole = copy.read_text(encoding="utf-8")
    copy.write_text(whole.partition("# -- after\n")[0], encoding="utf-8")
    assert main([str(copy.parent)]) == 0
    assert copy.read_text(encoding="utf-8") == whole


def test_a_program_that_passes_refuse_has_the_error(copy: Path) -> None:
    copy.write_text(copy.read_text(encoding="utf-8").replace("VectorizeLoops", "Simplify PlanSharedMemory"))
    assert run(read(copy)).outcome == "after"
    copy.write_text(copy.read_text(encoding="utf-8").replace("Simplify PlanSharedMemory", "VerifyLowered"))
    text = read(copy).text().replace("O.flat[Tx.threadIdx.x * 16 + i]", "O[0, i]")
    copy.write_text(text, encoding="utf-8")
    result = run(read(copy))
    assert result.outcome == "error" and "an access of O has 2 indices" in result.result


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("passes: VectorizeLoops", "passes: Vectorise", "there is no pass Vectorise; the passes are LowerBlocks, "),
        ("# passes: VectorizeLoops\n", "", "begins with a sentence that says what it shows, then `passes: NAME`"),
        ("# -- before\n", "", "has a section `-- before`"),
        ("y, y)\n# -- after", "y, z)\n# -- after", "the program cannot be read: .*`z` is not defined"),
    ],
)
def test_a_file_that_is_no_test_says_why(
    copy: Path, old: str, new: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    copy.write_text(copy.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    with pytest.raises(TextError, match=message):
        run(read(copy))
    assert main([str(copy)]) == 1 and "bound_operand.tir: " in capsys.readouterr().err
