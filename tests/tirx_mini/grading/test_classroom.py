"""A class: every hand-in is in the tables, whatever it is, and an interrupted run is gone on with."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE

import pytest

from tirx_mini.grading import (
    Class,
    Entry,
    Graded,
    Grader,
    HandIn,
    HandInError,
    Likeness,
    Outcome,
    Part,
    Standing,
    StepResult,
    alike_csv,
    entries_of,
    grade_class,
    grades_csv,
    in_threads,
)

ROOT = Path(__file__).parents[3]


def outcome(handin: HandIn) -> Outcome:
    """One step, whose score is the number that the file's first line says."""
    score = float(handin.source.splitlines()[0].removeprefix("# "))
    step = StepResult(1, 5.0, score, (Part("correctness", score > 0, 1.0, "said"),))
    graded = Graded(handin.name, handin.digest, "sim", "b200", (step,), score, 5.0, seconds=time.monotonic())
    return Outcome(graded, {1: frozenset(range(100))})


def nothing(name: str, problem: str) -> Graded:
    return Graded(name, "", "sim", "", (), 0.0, 5.0, problem=problem)


def hand_in(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")


def run(
    folder: Path,
    out: Path,
    grader: Grader = outcome,
    settings: str = "a",
    jobs: int = 2,
    watch: Callable[[Standing], None] = lambda standing: None,
) -> Class:
    entries, _ = entries_of(folder)
    return grade_class(
        entries, out, in_threads(grader, jobs), settings=settings, not_graded=nothing, common={}, watch=watch
    )


def names(folder: Path) -> list[str]:
    return [entry.name for entry in entries_of(folder)[0]]


# -- what is a hand-in -------------------------------------------------------------------------------------------------


def test_files_and_folders_are_hand_ins_and_others_are_named(tmp_path: Path) -> None:
    hand_in(tmp_path, "ann.py", "# 1")
    hand_in(tmp_path, "roster.csv", "ann")
    hand_in(tmp_path, ".hidden.py", "")
    hand_in(tmp_path / "bob", "gemm_kernels.py", "# 2")
    entries, others = entries_of(tmp_path)
    assert entries == [Entry("ann", tmp_path / "ann.py"), Entry("bob", tmp_path / "bob")] and others == ["roster.csv"]


def test_names_are_unique_and_fit_for_files(tmp_path: Path) -> None:
    for name in ("ann.py", "ann.tar", "Ann.tgz", "a b.py", "a_b.py", "zoë.py"):
        hand_in(tmp_path, name, "")
    found = names(tmp_path)
    assert len({name.lower() for name in found}) == 6
    assert {"ann.py", "ann.tar", "Ann.tgz", "a_b"} <= set(found)
    assert all(name.isascii() and "/" not in name and " " not in name for name in found)


def test_a_folder_without_hand_ins_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(HandInError, match=r"has no hand-ins: files that end in \.py"):
        entries_of(tmp_path)
    with pytest.raises(HandInError, match="is not a folder; name the folder"):
        entries_of(tmp_path / "none")


# -- grading -----------------------------------------------------------------------------------------------------------


def test_every_hand_in_is_in_the_table(tmp_path: Path) -> None:
    hand_in(tmp_path / "class", "ann.py", "# 5")
    hand_in(tmp_path / "class", "bob.py", "# 0")
    hand_in(tmp_path / "class", "eve.tar", "no tar")
    hand_in(tmp_path / "class", "sum.py", "# not a number")
    seen: list[Standing] = []
    found = run(tmp_path / "class", tmp_path / "out", watch=seen.append)
    rows = list(csv.DictReader(io.StringIO(grades_csv(found, [1]))))
    assert [(row["hand-in"], row["score"], row["step 1"]) for row in rows] == [
        ("ann", "5", "5"), ("bob", "0", "0"), ("eve", "0", ""), ("sum", "", ""),
    ]  # fmt: skip
    assert "eve.tar is not a tar that can be read" in rows[2]["problem"]
    assert rows[3]["problem"].startswith("not graded: ValueError: could not convert")
    assert [standing.done for standing in seen] == [1, 2, 3, 4] and all(standing.among == 4 for standing in seen)


def test_what_is_known_is_not_graded_again(tmp_path: Path) -> None:
    for index in range(4):
        hand_in(tmp_path / "class", f"s{index}.py", f"# {index}")
    graded: list[str] = []

    def counted(handin: HandIn) -> Outcome:
        graded.append(handin.name)
        return outcome(handin)

    first = run(tmp_path / "class", tmp_path / "out", counted)
    assert run(tmp_path / "class", tmp_path / "out", counted).outcomes == first.outcomes and len(graded) == 4
    hand_in(tmp_path / "class", "s2.py", "# 5")
    run(tmp_path / "class", tmp_path / "out", counted)
    assert graded[4:] == ["s2.py"]
    (tmp_path / "out" / "records" / "s1.json").write_text("{", encoding="utf-8")
    run(tmp_path / "class", tmp_path / "out", counted)
    assert graded[5:] == ["s1.py"]
    run(tmp_path / "class", tmp_path / "out", counted, settings="b")
    assert sorted(graded[6:]) == ["s0.py", "s1.py", "s2.py", "s3.py"]


def test_an_error_of_the_grader_is_no_record(tmp_path: Path) -> None:
    hand_in(tmp_path / "class", "ann.py", "# 5")

    def broken(handin: HandIn) -> Outcome:
        raise MemoryError("no memory")

    found = run(tmp_path / "class", tmp_path / "out", broken)
    assert found.failed == {"ann": "MemoryError: no memory"} and not found.outcomes
    assert run(tmp_path / "class", tmp_path / "out").outcomes["ann"].graded.score == 5


def test_several_are_graded_at_a_time(tmp_path: Path) -> None:
    for index in range(3):
        hand_in(tmp_path / "class", f"s{index}.py", f"# {index}")
    together = threading.Barrier(3, timeout=20)

    def meets(handin: HandIn) -> Outcome:
        together.wait()
        return outcome(handin)

    assert len(run(tmp_path / "class", tmp_path / "out", meets, jobs=3).outcomes) == 3


SCRIPT = """
import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from tirx_mini.grading import Graded, Outcome, entries_of, grade_class, grades_csv, in_threads

def slow(handin):
    time.sleep(0.02)
    return Outcome(Graded(handin.name, handin.digest, "sim", "b200", (), float(handin.source[2:]), 5.0))

def grade():
    entries, _ = entries_of(Path({folder!r}))
    found = grade_class(entries, Path({out!r}), in_threads(slow, 2), settings="a", not_graded=None, common={{}})
    Path({out!r}, "grades.csv").write_text(grades_csv(found, []))

for _ in sys.stdin:
    child = os.fork()
    if child == 0:
        try:
            grade()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""
"""For each line that it reads, a process of its own grades the class; its number and, when it ends, its status follow.
The package is imported once, before there are processes."""


def is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_class_that_is_killed_again_and_again_ends_with_the_same_table(tmp_path: Path) -> None:
    for index in range(40):
        hand_in(tmp_path / "class", f"s{index:02}.py", f"# {index % 6}")
    want = grades_csv(run(tmp_path / "class", tmp_path / "whole"), [])
    script, out = tmp_path / "script.py", tmp_path / "out"
    script.write_text(SCRIPT.format(folder=str(tmp_path / "class"), out=str(out)), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    draw, known, killed = random.Random(0), 0, 0
    with subprocess.Popen([sys.executable, script], env=environment, stdin=PIPE, stdout=PIPE, text=True) as starter:
        assert starter.stdin is not None and starter.stdout is not None
        for _ in range(20):
            print(file=starter.stdin, flush=True)
            child = int(starter.stdout.readline())
            while is_there(child) and len(list(out.glob("records/*.json"))) == known:
                time.sleep(0.002)
            time.sleep(draw.random() * 0.02)
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            killed += os.WIFSIGNALED(int(starter.stdout.readline()))
            known = len(list(out.glob("records/*.json")))
        assert 20 <= known <= 40 and killed
        print(file=starter.stdin, flush=True)
        starter.stdout.readline()
        assert starter.stdout.readline() == "0\n"
    assert (out / "grades.csv").read_text(encoding="utf-8") == want


# -- tables ------------------------------------------------------------------------------------------------------------


def test_no_cell_is_a_formula(tmp_path: Path) -> None:
    hand_in(tmp_path / "class", "=cmd.py", "# 5")
    hand_in(tmp_path / "class", "@sum.py", "# 5")
    found = run(tmp_path / "class", tmp_path / "out")
    cells = [cell for row in csv.reader(io.StringIO(grades_csv(found, [1]))) for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))] and "'@sum" in cells


def test_alike_hand_ins_are_listed(tmp_path: Path) -> None:
    for name in ("ann", "bob"):
        hand_in(tmp_path / "class", f"{name}.py", "# 5")
    hand_in(tmp_path / "class", "eve.py", "# 5\n# eve")
    found = run(tmp_path / "class", tmp_path / "out")
    assert found.alike[0] == Likeness("ann", "bob", 1.0, found.alike[0].steps, same_file=True)
    assert alike_csv(found.alike).splitlines()[1].startswith("ann,bob,1.00,yes")
