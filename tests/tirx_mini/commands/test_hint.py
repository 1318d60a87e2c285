"""``python -m tirx_mini hint``: the list of TODOs, the hints of each level, and bad input."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.copies import copied
from tirx_mini.__main__ import main
from tirx_mini.course import STEPS, code_of, hints_of, todos_in

ROOT = Path(__file__).parents[3]
SKELETON, HOPPER = ROOT / "gemm_kernels.py", ROOT / "gemm_kernels_sm90.py"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the student's two files."""
    for path in (SKELETON, HOPPER):
        shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def line_of(step: int, number: int) -> int:
    return todos_in(SKELETON.read_text(encoding="utf-8"))[step][number - 1].line


def test_the_first_hint_of_the_first_open_todo_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["hint", "5"]) == 0
    out = capsys.readouterr().out
    hints = hints_of(5, "sm100")
    assert out.startswith(f"Step 5, pipeline, in gemm_kernels.py: {len(hints)} of {len(hints)} TODOs open\n")
    assert f">  1  line {line_of(5, 1)}   {hints[0].title}" in out
    assert "TODO 1, hint 1 of 3" in out and "(docs/concepts/mbarriers.md" in out and "](" not in out
    assert out.endswith("more: python -m tirx_mini hint 5 1 --level 2\n")


def test_what_is_filled_in_is_marked_and_passed_over(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "gemm_kernels.py"
    lines = path.read_text(encoding="utf-8").splitlines()
    first = next(n for n in range(line_of(5, 1), len(lines)) if lines[n].strip() == "...")
    lines[first] = "            pool = Tx.PoolAllocator()"
    path.write_text("\n".join(lines))
    assert main(["hint", "5"]) == 0
    out = capsys.readouterr().out
    assert "   1  filled in  Set up as in step 4" in out and ">  2  line" in out and "TODO 2, hint 1 of 3" in out


@pytest.mark.parametrize(("kernels", "arch"), [("gemm_kernels.py", "sm100"), ("gemm_kernels_sm90.py", "sm90")])
def test_the_last_hint_is_the_code_of_the_reference(
    kernels: str, arch: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["hint", "7", "2", "--level", "3", "--kernels", kernels]) == 0
    hints = hints_of(7, arch)
    assert capsys.readouterr().out.endswith("\n\n" + code_of(hints[1], hints, 7, arch) + "\n")


def test_without_a_step_it_is_the_first_with_an_open_todo(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "gemm_kernels.py"
    head, middle, tail = path.read_text(encoding="utf-8").partition("def hgemm_v2(")
    path.write_text(head.replace("            ...\n", "            pass\n") + middle + tail)
    assert main(["hint"]) == 0
    assert capsys.readouterr().out.startswith("Step 2, K loop, in gemm_kernels.py: 5 of 5 TODOs open\n")


def test_a_step_that_is_filled_in_leads_to_its_test(capsys: pytest.CaptureFixture[str]) -> None:
    path = ROOT / "kernels_ref" / "sm100" / "step03_tiling.py"
    assert main(["hint", "3", "--kernels", str(path)]) == 0
    out = capsys.readouterr().out
    assert "0 of 5 TODOs open" in out and "python -m pytest tests/test_step03.py -xvs" in out and "hint 1" not in out
    assert main(["hint", "3", "2", "--kernels", str(path)]) == 0
    assert "TODO 2, hint 1 of 3" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("11", "step 11 does not exist; the steps are 1 to 10"),
        ("five", "step five does not exist; the steps are 1 to 10"),
        ("5 7", "TODO 7 does not exist; step 5 has the TODOs 1 to 6"),
        ("5 0", "TODO 0 does not exist; step 5 has the TODOs 1 to 6"),
        ("5 --level 4", "hint 4 does not exist; there are hints 1 to 3"),
        ("5 --kernels none.py", "the kernel file none.py does not exist"),
        ("5 --kernels .", ". is a folder; name the file that you fill in"),
        ("5 --kernels mine.py", "mine.py defines no hgemm_v5"),
        ("--kernels mine.py", "mine.py defines no hgemm_v1 … hgemm_v10"),
    ],
)
def test_bad_input_is_one_sentence(
    arguments: str, words: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "mine.py").write_text("import nothing\n")
    assert main(["hint", *arguments.split()]) == 2
    assert capsys.readouterr().out == f"error: {words}\n"


@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize("step", STEPS)
def test_lists_and_hints_fit_the_terminal(
    step: int, width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    for number in range(1, len(hints_of(step, "sm100")) + 1):
        assert main(["hint", str(step), str(number), "--level", "2"]) == 0
        assert max(map(len, capsys.readouterr().out.splitlines())) <= min(width, 100)


def test_a_step_that_is_not_filled_in_names_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "gemm_kernels.py:hgemm_v5"]) == 1
    assert "help: for a hint, run python -m tirx_mini hint 5\n" in capsys.readouterr().out
    assert main(["check", "gemm_kernels_sm90.py:hgemm_v5", "--gpu", "h100"]) == 1
    assert "python -m tirx_mini hint 5 --kernels gemm_kernels_sm90.py\n" in capsys.readouterr().out


def test_a_todo_of_no_step_names_no_command(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = SKELETON.read_text(encoding="utf-8").replace("def hgemm_v1(", "def mine(")
    (folder / "mine.py").write_text(text)
    assert main(["check", "mine.py:mine", "--shape", "128,128,64"]) == 1
    assert "is not filled in" in (out := capsys.readouterr().out) and "tirx_mini hint" not in out


def test_the_command_works_in_a_copied_folder(tmp_path: Path) -> None:
    """With the files that a student copies, and nothing of the checkout on the path but the package's place."""
    copy = tmp_path / "copy"
    for name in ("tirx_mini", "kernels_ref", "docs/hints"):
        copied(ROOT / name, copy / name)
    for name in ("gemm_kernels.py", "utils.py"):
        shutil.copy(ROOT / name, copy)
    command = [sys.executable, "-m", "tirx_mini", "hint", "9", "5", "--level"]
    for level, words in (("1", "TODO 5, hint 1 of 3"), ("3", "tma2mma_cta0.arrive(stage, TMA_BYTES)")):
        result = subprocess.run([*command, level], cwd=copy, capture_output=True, text=True)
        assert result.returncode == 0 and words in result.stdout, result.stdout + result.stderr


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
@pytest.mark.parametrize(
    ("variables", "arguments"),
    [
        ("STEP=5", "hint 5"),
        ("STEP=5 TODO=2 LEVEL=3", "hint 5 2 --level 3"),
        ("STEP=7 KERNELS=mine.py", "hint 7 --kernels mine.py"),
    ],
)
def test_make_hint_is_the_command(variables: str, arguments: str) -> None:
    command = ["make", "--no-print-directory", "-n", "hint", *variables.split()]
    alone = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    result = subprocess.run(command, cwd=ROOT, env=alone, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert " ".join(result.stdout.splitlines()[-1].split()).endswith(f"/python -m tirx_mini {arguments}")
