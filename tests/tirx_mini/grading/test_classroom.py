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
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from subprocess import PIPE

from tirx_mini.grading import (
    NEVER_LATE,
    Class,
    Entry,
    Graded,
    Grader,
    HandIn,
    Late,
    Lateness,
    Likeness,
    Outcome,
    Part,
    Standing,
    StepResult,
    Times,
    entries_of,
    grade_class,
    grades_csv,
    in_threads,
    own_times,
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
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")


def run(
    folder: Path,
    out: Path,
    grader: Grader = outcome,
    settings: str = "a",
    jobs: int = 2,
    watch: Callable[[Standing], None] = lambda standing: None,
    lateness: Lateness = NEVER_LATE,
    times: Times = own_times,
) -> Class:
    entries, _ = entries_of(folder)
    return grade_class(
        entries, out, in_threads(grader, jobs), settings=settings, unreadable=nothing, common={}, lateness=lateness,
        times=times, watch=watch,
    )  # fmt: skip


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
    found = grade_class(entries, Path({out!r}), in_threads(slow, 2), settings="a", unreadable=None, common={{}})
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


# -- times -------------------------------------------------------------------------------------------------------------

DUE = datetime(2026, 12, 1, tzinfo=timezone.utc)
LATENESS = Lateness(DUE, 0.2, 3)


def test_lateness_counts_wherever_a_hand_in_was_graded_and_grades_nothing_again(tmp_path: Path) -> None:
    for name in ("ann.py", "bob.py", "cyd.py"):
        hand_in(tmp_path / "class", name, "# 5")
    hand_in(tmp_path / "class", "dee.tar", "no tar")
    days = {"ann": -1, "bob": 1.5}
    graded: list[str] = []

    def elsewhere(handin: HandIn) -> Outcome:
        graded.append(handin.name)
        late = Late(9, 1.0, "by the time of that machine")
        return Outcome(replace(outcome(handin).graded, late=late, score=0.0))

    def times(entry: Entry, handin: HandIn | None) -> float | None:
        return DUE.timestamp() + days[entry.name] * 86_400 if entry.name in days else None

    for again in (False, True):
        if again:
            days["cyd"] = 9
        found = run(tmp_path / "class", tmp_path / "out", elsewhere, lateness=LATENESS, times=times)
        scores = {name: (each.graded.score, each.graded.late) for name, each in found.outcomes.items()}
        assert scores["ann"] == (5.0, None) and scores["dee"] == (0.0, None)
        assert scores["bob"][0] == 3.0 and scores["bob"][1] is not None and scores["bob"][1].days == 2
        score, late = scores["cyd"]
        assert late is not None and (score, late.days) == ((0.0, 9) if again else (5.0, None))
        assert found.times["dee"] is None and len(graded) == 3


def test_a_hand_in_of_a_folder_has_the_name_of_its_folder(tmp_path: Path) -> None:
    hand_in(tmp_path / "class" / "Zoë", "gemm_kernels.py", "# 5")
    found = run(tmp_path / "class", tmp_path / "out")
    ((name, each),) = found.outcomes.items()
    assert each.graded.name == "Zoë/gemm_kernels.py" and found.files == {name: "Zoë"}
    assert name.isascii() and found.shown(name) == "Zoë"


def test_alike_hand_ins_are_found(tmp_path: Path) -> None:
    for name in ("ann", "bob"):
        hand_in(tmp_path / "class", f"{name}.py", "# 5")
    hand_in(tmp_path / "class", "eve.py", "# 5\n# eve")
    found = run(tmp_path / "class", tmp_path / "out")
    assert found.alike[0] == Likeness("ann", "bob", 1.0, found.alike[0].steps, same_file=True)
