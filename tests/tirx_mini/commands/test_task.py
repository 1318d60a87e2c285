"""`task`: the text, the file to begin with, and the judgement of a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tasks_ref.edits import reference
from tirx_mini.commands import run_command
from tirx_mini.course import TASKS


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def task(capsys: pytest.CaptureFixture, *arguments: str) -> tuple[int, str]:
    status = run_command("task", list(arguments))
    return status, " ".join(capsys.readouterr().out.split())


def test_without_a_letter_the_tasks_are_listed(capsys: pytest.CaptureFixture) -> None:
    status, said = task(capsys)
    assert status == 0
    assert all(each.title in said and f"within {each.budget_us:g} µs" in said for each in TASKS.values())


def test_a_task_is_printed_until_its_file_is_there(capsys: pytest.CaptureFixture) -> None:
    status, said = task(capsys, "a")
    assert status == 0 and "N of 8" in said and "Your kernel goes into task_a.py" in said
    assert "128x72x128, 256x200x192, and 1024x1000x2048, for which the budget is 17 µs" in said
    assert not Path("task_a.py").exists()
    Path("task_a.py").write_text(reference("a"), encoding="utf-8")
    status, said = task(capsys, "a", "--shape", "128,72,64")
    assert status == 0 and "128x72x64: right," in said and "task a passes for this problem" in said
    assert task(capsys, "a", "--text")[1].startswith("Task a: GEMM with bias and ReLU")


def test_the_broken_kernel_is_written_once(capsys: pytest.CaptureFixture) -> None:
    assert "task_c.py is written." in task(capsys, "c", "--text")[1]
    assert Path("task_c.py").read_text(encoding="utf-8") == TASKS["c"].handed_out
    status, said = task(capsys, "c")
    assert status == 1 and "error[TX202]" in said and said.endswith("256x128x128: the kernel has an error")
    Path("task_c.py").write_text("mine = 1\n", encoding="utf-8")
    assert "is written" not in task(capsys, "c", "--text")[1]
    assert Path("task_c.py").read_text(encoding="utf-8") == "mine = 1\n"


def test_a_file_without_the_kernel_is_bad_input(capsys: pytest.CaptureFixture) -> None:
    assert task(capsys, "b", "nothing.py") == (2, "error: the kernel file nothing.py does not exist")
    Path("mine.py").write_text("def task_a(M, N, K): ...\n", encoding="utf-8")
    status, said = task(capsys, "b", "mine.py")
    assert status == 2 and "mine.py defines no task_b" in said


def test_grade_judges_a_task(capsys: pytest.CaptureFixture) -> None:
    Path("task_b.py").write_text("def task_b(M, N, K):\n    raise ValueError('not yet')\n", encoding="utf-8")
    assert run_command("grade", ["--task", "b", "--own"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "task_b.py, on a modelled B200: 0 of 20 points" in said and "task b, split-K: 0 of 20" in said
    assert "not yet" in said and "python -m tirx_mini task b task_b.py --shape 128,128,256" in said
    assert run_command("grade", ["--task", "b", "--own", "--gpu", "b200"]) == 2
    assert "a task is judged in the simulator" in capsys.readouterr().out
