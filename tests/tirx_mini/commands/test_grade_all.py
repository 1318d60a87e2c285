"""A class on the command line: a table, files for each hand-in, and nothing graded twice."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import tarfile
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.kernels_ref.skeletons import filled_in
from tirx_mini.commands.grade import main

ROOT = Path(__file__).parents[3]
RULES = """
strict = true
[sizes]
1 = { data = [[128, 128, 64]], timed = [128, 128, 64] }
2 = { data = [64], timed = 64 }
[lateness]
due = 2226-12-01T12:00:00Z
per_day = 0.2
days = 3
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two equal hand-ins with step 1, one of them a tar; an empty skeleton; a file of another kind; rules."""
    made = tmp_path / "class"
    made.mkdir()
    one = filled_in("sm100", [1])
    (made / "ann.py").write_text(one, encoding="utf-8")
    (tmp_path / "gemm_kernels.py").write_text(one, encoding="utf-8")
    with tarfile.open(made / "bob.tar", "w") as archive:
        archive.add(tmp_path / "gemm_kernels.py", "gemm_kernels.py")
    (made / "eve.py").write_text(filled_in("sm100", []), encoding="utf-8")
    (made / "sam.tar").write_text("not a tar", encoding="utf-8")
    (made / "roster.csv").write_text("ann", encoding="utf-8")
    (tmp_path / "grading.toml").write_text(RULES, encoding="utf-8")
    return made


def ends(_: object) -> Generator[None, None, None]:
    """A task of a judge that the system kills."""
    yield
    os.kill(os.getpid(), signal.SIGKILL)


def test_what_the_grader_failed_at_has_no_score_and_is_tried_again(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, rules = folder.parent / "out", str(folder.parent / "grading.toml")
    for name in ("bob.tar", "sam.tar"):
        (folder / name).unlink()
    words = ["--all", str(folder), "--out", str(out), "--rules", rules, "--jobs", "1"]
    monkeypatch.setattr("tirx_mini.grading.judges.judging", ends)
    assert main(words) == 1
    said = "not graded: step 1: the judge's process ended by SIGKILL"
    assert f"ann was {said}" in capsys.readouterr().out
    rows = {row["hand-in"]: row for row in csv.DictReader((out / "grades.csv").open(encoding="utf-8"))}
    assert (rows["ann"]["score"], rows["ann"]["step 1"], rows["ann"]["step 2"]) == ("", "", "0")
    assert rows["ann"]["problem"] == said and rows["eve"]["score"] == "0"
    assert [path.name for path in out.glob("records/*.json")] == ["eve.json"]
    assert main([str(folder / "ann.py"), "--rules", rules, "--steps", "1", "--json", str(out / "ann.json")]) == 1
    assert json.loads((out / "ann.json").read_text(encoding="utf-8"))["score"] is None
    monkeypatch.undo()
    assert main(words) == 0
    rows = {row["hand-in"]: row for row in csv.DictReader((out / "grades.csv").open(encoding="utf-8"))}
    assert rows["ann"]["score"] == "5" and rows["ann"]["problem"] == ""


def test_a_class_has_a_table_reports_and_resumes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = folder.parent / "out"
    words = ["--all", str(folder), "--out", str(out), "--rules", str(folder.parent / "grading.toml"), "--jobs", "2"]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "not hand-ins, and left out: roster.csv" in printed and "4 of 4" in printed
    assert "which students can set: give those of the course system with --submitted" in printed.replace("\n", " ")
    assert "ann and bob: the same file" in printed and max(map(len, printed.splitlines())) <= 80 + len(str(out))
    rows = {row["hand-in"]: row for row in csv.DictReader((out / "grades.csv").open(encoding="utf-8"))}
    assert {name: (row["score"], row["step 1"]) for name, row in rows.items()} == {
        "ann": ("5", "5"), "bob": ("5", "5"), "eve": ("0", "0"), "sam": ("0", "0"),
    }  # fmt: skip
    assert "is not a tar that can be read" in rows["sam"]["problem"]
    for name in rows:
        assert (out / "reports" / f"{name}.html").read_text(encoding="utf-8").startswith("<!doctype html>")
        assert "points" in (out / "reports" / f"{name}.txt").read_text(encoding="utf-8")
    records = {path: path.stat().st_mtime_ns for path in out.glob("records/*.json")}
    table = (out / "grades.csv").read_bytes()
    assert main(words) == 0
    assert {path: path.stat().st_mtime_ns for path in out.glob("records/*.json")} == records
    assert (out / "grades.csv").read_bytes() == table
    record = json.loads((out / "records" / "ann.json").read_text(encoding="utf-8"))
    assert set(record["prints"]) == {"1"} and record["graded"]["score"] == 5
    capsys.readouterr()
    check_times(words, out, capsys)
    assert {path: path.stat().st_mtime_ns for path in out.glob("records/*.json")} == records


def check_times(words: list[str], out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same class with a table of times, which has no time of one hand-in and a name too many."""
    table = out.parent / "times.csv"
    table.write_text("name,time\nann,2226-12-03 11:00\nbob.tar,2226-12-01 12:00\neva,2226-12-01 12:00\n")
    assert main([*words, "--submitted", str(table)]) == 0
    printed = capsys.readouterr().out
    assert "names with a time that no hand-in has: eva" in printed and "3 late" in printed
    assert "when they were handed in is not known, and nothing is deducted from them: eve\n" in printed
    rows = {row["hand-in"]: row for row in csv.DictReader((out / "grades.csv").open(encoding="utf-8"))}
    assert {name: (row["file"], row["score"], row["days late"]) for name, row in rows.items()} == {
        "ann": ("ann.py", "3", "2"), "bob": ("bob.tar", "5", ""), "eve": ("eve.py", "0", "unknown"),
        "sam": ("sam.tar", "0", ""),
    }  # fmt: skip
    assert rows["ann"]["handed in"] == "2226-12-03T11:00:00Z"
    assert "40% of the score\nis lost" in (out / "reports" / "ann.txt").read_text(encoding="utf-8")


def test_bad_input_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--all", str(tmp_path / "none"), "--out", str(tmp_path / "out")]) == 2
    assert "is not a folder; name the folder that has the hand-ins" in capsys.readouterr().out
    (tmp_path / "a.py").write_text("x = 1\n", encoding="utf-8")
    (tmp_path / "bad.toml").write_text("points = 3\n", encoding="utf-8")
    rules = ["--rules", str(tmp_path / "bad.toml")]
    assert main([f"--all={tmp_path}", "--out", str(tmp_path / "out"), *rules]) == 2
    assert "[points] must be a table" in capsys.readouterr().out
    for when, said in (
        ("none.csv", "the table of times none.csv cannot be read: No such file"),
        ("2026-12-01T23:59Z", "--submitted of a class is a CSV file with a time for each hand-in, or mtime"),
    ):
        assert main(["--all", str(tmp_path), "--out", str(tmp_path.parent / "out"), "--submitted", when]) == 2
        assert said in capsys.readouterr().out
    assert not (tmp_path.parent / "out").exists()


@pytest.mark.parametrize("out", [".", "out", "grades/first", "../class/out"])
def test_the_results_are_not_written_among_the_hand_ins(
    out: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(folder.iterdir())
    link = folder.parent / "link"
    link.symlink_to(folder)
    for handins, results in ((folder, folder / out), (link, folder / out), (folder, link / out)):
        assert main(["--all", str(handins), "--out", str(results)]) == 2
        assert "is in the folder of the hand-ins; name a folder beside it with --out" in capsys.readouterr().out
    assert sorted(folder.iterdir()) == before


def test_the_modelled_gpu_must_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "ann.py").write_text(filled_in("sm100", []), encoding="utf-8")
    assert main(["--all", str(tmp_path / "class"), "--out", str(tmp_path / "out"), "--gpu", "h100"]) == 1
    printed = capsys.readouterr().out
    assert "ann was not graded: ValueError: the kernels in gemm_kernels.py are not for" in printed


def test_without_a_login_the_cloud_grades_nothing_and_says_so(folder: Path) -> None:
    """By Modal's own client, which finds no credentials."""
    words = ["--all", str(folder), "--out", str(folder.parent / "out"), "--modal", "cpu"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder.parent)}
    done = subprocess.run(
        [sys.executable, "grade.py", *words], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    said = "error: you are not logged in to Modal: run `modal setup` once"
    assert done.returncode == 2 and said in done.stdout and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "options, said",
    [
        ("--modal Z80", "--modal has no 'Z80'; write cpu, B200, B200+, B300, H100 or H200"),
        ("--modal cpu --full", "--modal grades as the rules say: leave out --full and --gpu"),
        ("--modal b200 --gpu b300", "--modal grades as the rules say: leave out --full and --gpu"),
    ],
)
def test_what_the_cloud_cannot_do_is_one_sentence(
    options: str, said: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--all", str(folder), "--out", str(folder.parent / "out"), *options.split()]) == 2
    assert f"error: {said}" in capsys.readouterr().out


def test_a_hand_in_for_another_gpu_costs_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "ann.py").write_text("Tx.ptx.wgmma.fence()\n", encoding="utf-8")
    assert main(["--all", str(tmp_path / "class"), "--out", str(tmp_path / "out"), "--modal", "b200"]) == 1
    said = "ann was not graded: ValueError: the kernels in gemm_kernels_sm90.py are not for a B200"
    assert said in capsys.readouterr().out
