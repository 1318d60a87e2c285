"""A new step is one line of `STEPS` and its files: everything that concerns all steps then includes it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.copies import copied
from tirx_mini.course import STEPS

ROOT = Path(__file__).parents[3]
LAST, NEW = max(STEPS), max(STEPS) + 1
LINE = f'        Step({NEW}, "one step more", _cubes(512), tiles={dict(STEPS[LAST].tiles)}),\n'
END_OF_STEPS = "    )\n})  # fmt: skip\n"


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with a step more, whose kernels are those of the last one."""
    folder = tmp_path_factory.mktemp("course")
    for name in ("kernels_ref", "tests", "tirx_mini", "tools"):
        copied(ROOT / name, folder / name)
    for path in (*ROOT.glob("*.py"), ROOT / "pyproject.toml"):
        shutil.copy2(path, folder)
    table = folder / "tirx_mini" / "course" / "steps.py"
    before, end, after = table.read_text(encoding="utf-8").partition(END_OF_STEPS)
    table.write_text(before + LINE + end + after, encoding="utf-8")
    for architecture in ("sm100", "sm90"):
        (reference,) = (folder / "kernels_ref" / architecture).glob(f"step{LAST:02}_*.py")
        text = reference.read_text(encoding="utf-8")
        reference.with_name(f"step{NEW:02}_more.py").write_text(renumbered(text), encoding="utf-8")
    for skeleton in folder.glob("gemm_kernels*.py"):
        text = skeleton.read_text(encoding="utf-8")
        skeleton.write_text(text + "\n\n" + renumbered(text[text.index(f"def hgemm_v{LAST}(") :]), encoding="utf-8")
    test = (folder / "tests" / f"test_step{LAST:02}.py").read_text(encoding="utf-8")
    (folder / "tests" / f"test_step{NEW:02}.py").write_text(test.replace(str(LAST), str(NEW)), encoding="utf-8")
    return folder


def renumbered(text: str) -> str:
    return text.replace(f"hgemm_v{LAST}", f"hgemm_v{NEW}")


def run(course: Path, *arguments: str, status: int = 0) -> str:
    """What Python prints with these arguments in the copy."""
    command = [sys.executable, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(course), "COLUMNS": "200"}
    done = subprocess.run(command, cwd=course, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


COMMANDS = f"""
from tirx_mini.__main__ import main

assert main(["ladder", "--steps", "{NEW}", "--size", "512", "--jobs", "1"]) == 0
assert main(["ladder", "--steps", "{NEW}", "--size", "512", "--jobs", "1", "--gpu", "h100"]) == 0
assert main(["check", "kernels_ref/sm100/step{NEW}_more.py:hgemm_v{NEW}"]) == 0
assert main(["inspect", "{NEW}", "512"]) == 2
assert main(["inspect", "{NEW}", "512", "--reference"]) == 0
main(["ladder", "--steps", "{NEW + 1}"])
"""


def test_the_commands_take_a_new_step(course: Path) -> None:
    said = run(course, "-c", COMMANDS, status=2)
    assert len(re.findall(rf"(?m)^ *{NEW} +512 +ok +0 ", said)) == 2
    assert f"hgemm_v{NEW}: ok" in said
    assert f"error: step {NEW} of gemm_kernels.py is not written yet; --reference shows the reference" in said
    assert f"step {NEW + 1} does not exist; the steps are 1 to {NEW}" in said


def test_the_tests_take_a_new_step(course: Path) -> None:
    """Its own test, and those that are derived from the table."""
    tests = (
        f"tests/test_step{NEW:02}.py",
        "tests/tirx_mini/course/test_steps.py",
        f"tests/kernels_ref/test_sm100.py::test_bfloat16_is_right[{NEW}]",
        f"tests/kernels_ref/test_sm90.py::test_bfloat16_is_right[{NEW}]",
        f"tests/kit/test_kit.py::test_shapes_that_are_not_whole_tiles_are_rejected[{NEW}-kernels_ref-sm90]",
        f"tests/tools/test_mutants.py::test_the_references_themselves_survive[{NEW}]",
    )
    options = ("--kernels", "kernels_ref", "--target", "sim", "-p", "no:cacheprovider", "-p", "no:xdist")
    said = run(course, "-m", "pytest", "-q", *options, *tests)
    assert re.search(r"(?m)^\d+ passed", said), said


def test_progress_lists_the_step_and_hint_says_that_it_has_none(course: Path) -> None:
    table = run(course, "-m", "tirx_mini", "progress").splitlines()
    assert [line.split() for line in table if "one step more" in line] == [
        [str(NEW), "one", "step", "more", "not", "begun"]
    ]
    said = run(course, "-m", "tirx_mini", "hint", str(NEW), status=2)
    assert said == f"error: there are no hints for step {NEW}\n"
