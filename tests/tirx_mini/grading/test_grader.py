"""Whole hand-ins, from their text to their score: the references, the skeletons, and files with mistakes."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timezone
from types import MappingProxyType
from typing import Any

import pytest

from tests.kernels_ref.skeletons import filled_in
from tirx_mini.course import STEPS, Shape
from tirx_mini.grading import (
    Cache,
    Graded,
    HandIn,
    Judges,
    Lateness,
    NotClosed,
    Rules,
    default_gpu,
    grade,
    grade_html,
    grade_page,
    gradescope,
    load_rules,
)
from tirx_mini.grading.drawn import WHOLE
from tirx_mini.report import plain
from tirx_mini.sandbox import find_sandbox

FILES = {"sm100": "gemm_kernels.py", "sm90": "gemm_kernels_sm90.py"}
RULES = load_rules()


def small(*steps: int) -> Rules:
    """The rules with problems that take no time, for tests of what is said."""
    few = {
        number: replace(rule, data=(STEPS[number].shape(256 if number < 9 else 512),), timed=(512, 512, 256))
        for number, rule in RULES.steps.items()
        if number in steps
    }
    return replace(RULES, steps=MappingProxyType({**RULES.steps, **few}))


def handin(steps: Iterable[int], folder: str = "sm100") -> HandIn:
    """A student's file in which these steps are written."""
    source = filled_in(folder, steps)
    return HandIn("handin.tar", FILES[folder], source)


@pytest.fixture(scope="module")
def judges() -> Iterator[Judges]:
    with Judges(2, RULES.judge, Cache()) as shared:
        yield shared


def test_the_references_earn_all_points(judges: Judges) -> None:
    seen: list[int] = []
    found = grade(handin(STEPS), RULES, judges=judges, prints=lambda step, prints: seen.append(step))
    assert found.score == found.total == 100, [part.said for step in found.steps for part in step.parts]
    assert all(part.passed and part.score == 1 and not part.pages for step in found.steps for part in step.parts)
    assert not any(step.reproduce for step in found.steps)
    assert (found.gpu, found.target, found.problem) == ("B200", "sim", "")
    assert sorted(seen) == list(STEPS)
    assert Graded.from_dict(json.loads(json.dumps(found.as_dict()))) == found


def test_the_first_five_steps_earn_40_points(judges: Judges) -> None:
    found = grade(handin(range(1, 6)), RULES, judges=judges)
    assert found.score == 40
    assert [step.score for step in found.steps] == [5, 5, 10, 10, 10, 0, 0, 0, 0, 0]
    sixth = found.step(6)
    assert sixth.part("correctness").said == "step 6 is not written yet"
    assert sixth.part("performance").passed is None and sixth.part("implementation").passed is None


@pytest.mark.parametrize("folder", FILES)
def test_the_skeleton_earns_nothing(folder: str, judges: Judges) -> None:
    found = grade(handin((), folder), RULES, judges=judges)
    assert found.score == 0 and found.total == 100 and found.problem == ""
    assert all(step.part("correctness").said == f"step {step.step} is not written yet" for step in found.steps)


def test_the_hopper_ladder_is_judged_on_a_hopper(judges: Judges) -> None:
    found = grade(handin((4, 9), "sm90"), small(4, 9), judges=judges, steps=(4, 9))
    assert found.gpu == "H100" and found.score == 25
    assert all("predicted on H100" in step.part("performance").said for step in found.steps)


def test_a_wrong_kernel_has_the_page_of_its_finding_and_the_command(judges: Judges) -> None:
    file = handin([3])
    file = replace(file, source=file.source.replace("accum=(k != 0)", "accum=True"))
    found = grade(file, small(3), judges=judges, steps=[3]).step(3)
    correctness = found.part("correctness")
    assert found.score == 0 and correctness.passed is False
    assert correctness.said.startswith("at 256: ") or correctness.said.startswith("at 256x384x512: ")
    (page,) = correctness.pages
    assert "--> gemm_kernels.py:" in page and "accum=True" in page
    assert all(len(line) <= 80 for line in page.splitlines())
    assert found.reproduce.startswith("python -m tirx_mini check gemm_kernels.py:hgemm_v3 --shape 256,")
    assert found.part("implementation").passed is True
    assert found.part("performance").passed is None
    assert "the time of a wrong kernel does not count" in found.part("performance").said


def test_a_teacher_may_score_the_parts_apart(judges: Judges) -> None:
    file = handin([3])
    file = replace(file, source=file.source.replace("accum=(k != 0)", "accum=True"))
    found = grade(file, replace(small(3), strict=False), judges=judges, steps=[3])
    assert found.step(3).score == 2.5 and found.step(3).said == ""


def test_a_copied_later_step_scores_nothing_and_is_told_why(judges: Judges) -> None:
    tenth = filled_in("sm100", [10]).replace("hgemm_v4", "old_v4").replace("hgemm_v10", "hgemm_v4")
    found = grade(HandIn("x.py", "gemm_kernels.py", tenth), small(4), judges=judges, steps=[4]).step(4)
    said = found.part("implementation").said
    assert found.score == 0 and found.part("implementation").passed is False
    assert "4 K tiles are loaded before the first MMA ends, in stages, which step 5 introduces" in said
    assert "the grid has 148 CTAs that compute several tiles each, which step 6 introduces" in said
    assert found.part("correctness").said == "at 256: hgemm_v4 needs M to be a multiple of 512, but M is 256"


def test_a_slow_kernel_keeps_its_other_points(judges: Judges) -> None:
    """A step whose allowance is negative is too slow whatever it does."""
    rules = small(3)
    strict = replace(rules.steps[3], slower=-0.5)
    rules = replace(rules, steps=MappingProxyType({**rules.steps, 3: strict}))
    found = grade(handin([3]), rules, judges=judges, steps=[3]).step(3)
    performance = found.part("performance")
    assert found.score == 7.5 and performance.passed is False
    assert "the reference (" in performance.said and "more is allowed" in performance.said
    assert found.reproduce.endswith("hgemm_v3 --shape 512,512,256")


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("def hgemm_v1(:\n", "gemm_kernels.py:1: invalid syntax: def hgemm_v1(:"),
        ("x = 1\n", "gemm_kernels.py defines no hgemm_v1 … hgemm_v10"),
        ("import nothing_of_this_name\n", "nothing_of_this_name cannot be imported"),
        ("from tirx_mini.script import tirx as Tx\nTx.nonsense\n", "gemm_kernels.py:2:"),
        ("import os\nos._exit(3)\n", "the process of the hand-in ended with status 3 in gemm_kernels.py"),
    ],
)
def test_the_problem_of_a_whole_file_is_said_once(source: str, problem: str, judges: Judges) -> None:
    found = grade(HandIn("x.py", "gemm_kernels.py", source), RULES, judges=judges, steps=[1])
    assert found.score == 0 and problem in found.problem
    assert not any(part.pages for part in found.step(1).parts)


def test_a_page_that_every_step_has_is_the_problem_of_the_file(judges: Judges) -> None:
    source = "def hgemm_v1(M, N, K, dtype): return helper()\nhgemm_v2 = hgemm_v1\ndef helper():\n    return nothing\n"
    found = grade(HandIn("x.py", "gemm_kernels.py", source), RULES, judges=judges, steps=[1, 2])
    assert "NameError: name 'nothing' is not defined" in found.problem and "gemm_kernels.py:4" in found.problem
    assert not any(part.pages for step in found.steps for part in step.parts)


def test_what_the_file_prints_is_kept(judges: Judges) -> None:
    file = handin([])
    found = grade(replace(file, source="print('score: 100')\n" + file.source), RULES, judges=judges, steps=[1])
    assert found.log == "score: 100\n" and found.score == 0


def test_late_work_loses_points(judges: Judges) -> None:
    due = datetime(2026, 12, 1, tzinfo=timezone.utc)
    rules = replace(RULES, lateness=Lateness(due, 0.1, 3))
    at = due.timestamp() + 86_400 * 1.5
    found = grade(replace(handin([1]), modified=at), rules, judges=judges, steps=[1])
    assert found.late is not None and (found.late.days, found.late.lost) == (2, 0.2)
    assert found.score == 4
    assert found.late.said == (
        "handed in at 2026-12-02 12:00 UTC, due at 2026-12-01 00:00 UTC: 20% of the score is lost"
    )
    assert grade(replace(handin([1]), modified=at), rules, judges=judges, steps=[1], handed_in=0.0).late is None
    unknown = grade(replace(handin([1]), modified=None), rules, judges=judges, steps=[1])
    assert unknown.score == 5 and unknown.late is not None and unknown.late.days is None
    assert unknown.late.said.startswith("when it was handed in is not known, so nothing is deducted for lateness: ")


def test_a_gpu_of_another_architecture_is_refused(judges: Judges) -> None:
    with pytest.raises(ValueError, match=r"the kernels in gemm_kernels_sm90\.py are not for B200: use h100"):
        grade(handin([], "sm90"), RULES, judges=judges, gpu="b200")
    assert default_gpu(handin([], "sm90")).name == "H100"


def test_a_kernel_without_an_end_costs_its_limit_once(judges: Judges) -> None:
    """Its other runs are not begun."""
    source = filled_in("sm100", [3]).replace("for k in range(K_TILES):", "for k in range(1 << 30):")
    limits = replace(RULES.judge, seconds=4)
    with Judges(1, limits) as strict:
        found = grade(HandIn("x.py", "gemm_kernels.py", source), small(3), judges=strict, steps=[3]).step(3)
    assert found.score == 0
    assert all("does not come to an end within the limits" in part.said for part in found.parts[1:])


def test_after_the_time_of_a_hand_in_no_step_is_begun(judges: Judges) -> None:
    rules = replace(RULES, judge=replace(RULES.judge, total_s=0))
    found = grade(handin([1]), rules, judges=judges, steps=[1])
    assert found.score is None and found.step(1).score is None
    assert found.why_not == "step 1: the judge's time for one hand-in was over before this step"


def ends(_: object) -> Generator[None, None, None]:
    """A task of a judge that the system kills."""
    yield
    os.kill(os.getpid(), signal.SIGKILL)


WRONG_KERNEL = ("accum=(k != 0)", "accum=True")


@pytest.mark.parametrize(
    ("task", "replaced", "score"),
    [
        ("judging", ("", ""), None),
        ("timing", ("", ""), None),
        ("observing", ("", ""), None),
        ("timing", WRONG_KERNEL, 0.0),
    ],
)
def test_a_judge_that_is_killed_costs_no_points(
    task: str, replaced: tuple[str, str], score: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong kernel scores 0 whatever else is found, so that is final."""
    monkeypatch.setattr(f"tirx_mini.grading.judges.{task}", ends)
    monkeypatch.setattr("tirx_mini.grading.judges.WHOLE", 1 if task == "timing" else WHOLE)
    file = handin([3])
    with Judges(1, RULES.judge) as judges:
        found = grade(replace(file, source=file.source.replace(*replaced)), small(3), judges=judges, steps=[3])
    assert found.step(3).score == score and found.score == score
    lost = [part for part in found.step(3).parts if part.lost]
    assert lost and all(part.passed is None and part.said == KILLED for part in lost)
    assert found.why_not == ("" if score == 0 else "step 3: the judge's process ended by SIGKILL")


KILLED = "not graded: the judge's process ended by SIGKILL"


def test_a_hand_in_is_graded_only_where_it_is_closed_off_or_is_ones_own(judges: Judges) -> None:
    bare = find_sandbox(bubblewrap=False, locks=())
    with pytest.raises(NotClosed, match="neither bubblewrap nor seccomp"):
        grade(handin([1]), RULES, judges=judges, steps=[1], sandbox=bare)
    assert grade(handin([1]), RULES, judges=judges, steps=[1], sandbox=bare, own=True).score == 5


def test_what_a_kernel_prints_is_in_the_report_as_text(judges: Judges, capfd: pytest.CaptureFixture[str]) -> None:
    source = handin([3]).source
    place = "            bx, by = Tx.cta_id("
    end = source.index("\n", source.index(place, source.index("def hgemm_v3"))) + 1
    printing = '            Tx.cuda.printf("%c]0;owned%c%c[2Jscore: 100 %d\\n", 27, 7, 27, bx)\n'
    found = grade(
        HandIn("x.py", "gemm_kernels.py", source[:end] + printing + source[end:]), small(3), judges=judges, steps=[3]
    )
    printed = found.step(3).printed
    assert printed.startswith("\\x1b]0;owned\\x07\\x1b[2Jscore: 100 0\n") and len(printed) < 8000
    assert all(c.isprintable() or c == "\n" for c in printed)
    assert capfd.readouterr() == ("", "")
    assert printed.splitlines()[0] in plain(grade_page(found))
    assert "\\x1b[2Jscore" in grade_html(found) and "\\x1b[2Jscore" in gradescope(found)["tests"][0]["output"]


class NoChip:
    """Stands for a GPU: what it would run, the judges simulate."""

    arch, name, how = "sm_100a", "NVIDIA B200", "measured on NVIDIA B200"

    def __init__(self, judges: Judges) -> None:
        self._judges = judges
        self.judged, self.timed = judges.judged, judges.timed

    def heard_by(self, judges: Judges, listener: Callable[[str], object]) -> NoChip:
        return NoChip(judges)

    def good(self, step: int, shape: Shape, dtype: str, gpu: str, tolerance: tuple[float, float]) -> dict[str, float]:
        return {"the reference": self._judges.reference_us(step, shape, dtype, gpu, tolerance)}


@pytest.mark.parametrize(("wrong", "score"), [(0, 5), (512, 0), (4096, 0)])
def test_a_hand_in_on_a_gpu_is_judged_there_and_looked_at_in_the_simulator(
    wrong: int, score: float, judges: Judges
) -> None:
    """512 is the problem that shows what the second step does, 4096 the largest that is timed."""
    source = filled_in("sm100", [2])
    head, _, tail = source.rpartition("accum=(k != 0)")
    file = HandIn("x.py", "gemm_kernels.py", f"{head}accum=(k > K * (K == {wrong})){tail}")
    bench: Any = NoChip(judges)
    found = grade(file, RULES, judges=judges, bench=bench, target="cuda", steps=[2])
    assert (found.target, found.gpu, found.score) == ("cuda", "NVIDIA B200", score)
