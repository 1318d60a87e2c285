"""``python -m tirx_mini grade``: its page, its files, and bad input."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.kernels_ref.skeletons import ROOT, filled_in
from tirx_mini.__main__ import main
from tirx_mini.grading import Graded


@pytest.fixture
def first_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a hand-in in which step 1 is written."""
    data = filled_in("sm100", [1]).encode()
    member = tarfile.TarInfo("gemm_kernels.py")
    member.size, member.mtime = len(data), 1_764_547_200  # 2025-12-01
    with tarfile.open(tmp_path / "handin.tar", "w") as archive:
        archive.addfile(member, io.BytesIO(data))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_page_and_every_file(first_step: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = "--json g.json --html g.html --gradescope results.json".split()
    assert main(["grade", "handin.tar", "--steps", "1,2", *files]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("handin.tar, on a modelled B200: 5 of 100 points\n")
    assert {"judging step 1", "step 1: 5 of 5 points", "judging step 2", "step 2: 0 of 5 points"} == {*err.splitlines()}
    graded = Graded.from_dict(json.loads(Path("g.json").read_text()))
    assert [step.score for step in graded.steps] == [5, 0]
    assert "handin.tar: 5 of 100 points" in Path("g.html").read_text()
    assert json.loads(Path("results.json").read_text())["score"] == 5


def test_json_on_the_terminal_is_alone(first_step: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["grade", "handin.tar", "--steps", "2", "--json", "-"]) == 0
    captured = capsys.readouterr()
    assert Graded.from_dict(json.loads(captured.out)).score == 0
    assert "0 of 100 points" in captured.err


def test_autolab_has_the_last_line(first_step: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["grade", "handin.tar", "--steps", "2", "--autolab"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {"scores": {"Step 2": 0.0}}


def test_lateness_counts_from_the_time_that_is_given(first_step: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("rules.toml").write_text("[lateness]\ndue = 2025-11-30T12:00:00Z\nper_day = 0.2\n")
    assert main("grade handin.tar --steps 1 --rules rules.toml".split()) == 0
    assert "4 of 100 points" in capsys.readouterr().out
    assert main("grade handin.tar --steps 1 --rules rules.toml --submitted 2025-11-30T11:00:00Z".split()) == 0
    assert "5 of 100 points" in capsys.readouterr().out


def test_a_hand_in_that_cannot_be_read_scores_nothing_and_has_its_files(first_step: Path) -> None:
    Path("broken.tar").write_bytes(b"no archive at all")
    assert main("grade broken.tar --json g.json --gradescope results.json".split()) == 0
    graded = Graded.from_dict(json.loads(Path("g.json").read_text()))
    assert graded.score == 0 and graded.total == 100 and len(graded.steps) == 10 and graded.problem
    assert json.loads(Path("results.json").read_text())["score"] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("nothing.tar", "error: there is no hand-in nothing.tar"),
        ("handin.tar --rules nothing.toml", "error: the file of rules nothing.toml does not exist"),
        ("handin.tar --gpu h100", "error: the kernels in gemm_kernels.py are not for H100: use b200"),
        ("handin.tar --gpu a9000", "error: "),
    ],
)
def test_bad_input_is_one_sentence(
    first_step: Path, arguments: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["grade", *arguments.split()]) == 2
    assert capsys.readouterr().out.startswith(message)


def test_bad_arguments_end_as_argparse_says(first_step: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["grade", "handin.tar", "--submitted", "yesterday"])
    assert ended.value.code == 2
    assert "'yesterday' is not a time; write it as 2026-12-01T23:59:00Z" in capsys.readouterr().err


def test_the_script_at_the_root_is_the_same() -> None:
    run = subprocess.run([sys.executable, "grade.py", "--help"], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0 and run.stdout.startswith("usage: python grade.py")
