"""The tasks: their problems, their budgets, and what passes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.tasks_ref.edits import NAIVE, ROUNDED, SLOW, Edits, reference
from tirx_mini.course import TASKS, KernelRef, Shape, load_kernel
from tirx_mini.course.tasks import Judgement, KernelTask, compared, judge_task
from tirx_mini.driver import simulate

SECRET = 1
"""The seed of hidden problems, as a grader draws them."""


def judged(task: KernelTask, text: str, problem: Shape, folder: Path) -> Judgement:
    path = folder / task.file
    path.write_text(text, encoding="utf-8")
    return judge_task(task, load_kernel(KernelRef(path, task.factory), shape=problem), problem)


def predicted(task: KernelTask, text: str, folder: Path) -> float:
    """The time of the budget's problem."""
    path = folder / task.file
    path.write_text(text, encoding="utf-8")
    kernel = load_kernel(KernelRef(path, task.factory), shape=task.timed)
    report = simulate(kernel, gpu=task.spec, data=False)
    if report.time_us is None:  # a choice between loads depends on data
        report = simulate(kernel, *task.arrays(task.timed, 0), gpu=task.spec)
    assert report.time_us is not None
    return report.time_us


@pytest.mark.parametrize("letter", TASKS)
def test_hidden_problems_are_drawn_and_new(letter: str) -> None:
    task = TASKS[letter]
    draws = [task.hidden(seed) for seed in range(20)]
    assert task.hidden(3) == draws[3] and len(set(draws)) > 10
    known = {*task.shapes, task.timed}
    for m, n, k in {problem for draw in draws for problem in draw}:
        assert (m, n, k) not in known and m % 128 == 0 and k % 64 == 0 and n % (8 if letter == "a" else 128) == 0
    tiles = max(-(-m // 128) * -(-n // 128) for m, n, _ in draws[0])
    assert tiles > task.spec.sms, "no CTA has a second tile"


def test_hidden_n_of_task_a_are_narrow_and_ragged() -> None:
    for seed in range(20):
        narrow, ragged, _ = (n for _, n, _ in TASKS["a"].hidden(seed))
        assert narrow < 128 < ragged and ragged % 128


@pytest.mark.parametrize("letter", TASKS)
def test_the_reference_passes_public_and_hidden_problems(letter: str, tmp_path: Path) -> None:
    task = TASKS[letter]
    for problem in (*task.shapes, *task.hidden(SECRET)):
        found = judged(task, reference(letter), problem, tmp_path)
        assert not found.said and found.report is not None and not found.report.findings, (problem, found)


@pytest.mark.parametrize("letter", TASKS)
def test_the_budget_separates_the_reference_from_a_right_and_slow_kernel(letter: str, tmp_path: Path) -> None:
    task = TASKS[letter]
    assert predicted(task, reference(letter), tmp_path) <= task.budget_us / 1.05
    assert predicted(task, reference(letter, SLOW[letter]), tmp_path) > task.budget_us * 1.05
    assert not judged(task, reference(letter, SLOW[letter]), task.shapes[0], tmp_path).said


@pytest.mark.parametrize("letter", TASKS)
def test_a_naive_kernel_fails_a_hidden_problem(letter: str, tmp_path: Path) -> None:
    task = TASKS[letter]
    text = reference(letter, NAIVE[letter])
    assert any(judged(task, text, problem, tmp_path).said for problem in task.hidden(SECRET))


@pytest.mark.parametrize("letter", ROUNDED)
def test_a_kernel_that_rounds_the_sums_too_early_fails_the_first_public_problem(letter: str, tmp_path: Path) -> None:
    task = TASKS[letter]
    found = judged(task, reference(letter, ROUNDED[letter]), task.shapes[0], tmp_path)
    assert found.report is not None and found.report.verdict == "ok" and "% of D is wrong, first D[" in found.said


@pytest.mark.parametrize("letter", ROUNDED)
def test_sums_rounded_to_float16_differ_at_every_small_problem(letter: str) -> None:
    """By the arithmetic alone: NumPy in the place of the kernel, with rounded sums."""
    task = TASKS[letter]
    for problem in (*task.shapes, *(hidden for hidden in task.hidden(SECRET) if hidden[0] * hidden[1] < 1 << 20)):
        arrays = task.arrays(problem, 0)
        a, b, column = (array.astype(np.float32) for array in arrays[:3])
        with np.errstate(over="ignore"):  # the sums of task c are beyond float16
            early = (a @ b.T).astype(np.float16).astype(np.float32)
        rest = {"a": lambda s: np.maximum(s + column, 0), "c": lambda s: s * column}[letter]
        assert compared(task, arrays, rest(a @ b.T).astype(np.float16)) == ""
        assert "% of D is wrong" in compared(task, arrays, rest(early).astype(np.float16)), problem


def test_the_file_to_begin_with_is_wrong_and_slow(tmp_path: Path) -> None:
    task = TASKS["c"]
    text = task.handed_out
    assert 180 <= len(text.splitlines()) <= 220
    assert judged(task, text, task.shapes[0], tmp_path).said == "the kernel has an error"
    us = predicted(task, text, tmp_path)
    assert us == pytest.approx(42.1, abs=0.1) and task.budget_us == pytest.approx(us / 2, abs=0.1)
    assert predicted(task, reference("c"), tmp_path) <= us / 2


@pytest.mark.parametrize(
    ("edits", "problem", "said"),
    [
        ([("bias_smem[i * TMEM_LD_N + j]", "Tx.float32(0)")], (128, 72, 128), "% of D is wrong, first D["),
        ([("Tx.if_then_else(n_st + row < N, bias[n_st + row], Tx.float32(0))", "bias[n_st + row]")], (128, 72, 128),
         "the kernel has an error"),
        ([('bias: Tx.Buffer((N,), "float32")', 'bias: Tx.Buffer((N,), "float16")')], (128, 72, 128),
         "the parameters must be A (128, 128) float16, B (72, 128) float16, bias (72,) float32, D (128, 72) float16"),
    ],
)  # fmt: skip
def test_what_is_said_of_a_wrong_kernel(edits: Edits, problem: Shape, said: str, tmp_path: Path) -> None:
    assert said in judged(TASKS["a"], reference("a", edits), problem, tmp_path).said


def test_each_element_counts() -> None:
    task = TASKS["b"]
    arrays = task.arrays((128, 128, 64), 0)
    right = (arrays[0].astype(np.float32) @ arrays[1].astype(np.float32).T).astype(np.float32)
    assert (arrays[2] == 0).all() and compared(task, arrays, right) == ""
    right[5, 7] += 1
    assert compared(task, arrays, right).startswith("0.0% of D is wrong, first D[5, 7]: ")
    right[5, 7] = np.nan
    assert "D[5, 7]: nan instead of" in compared(task, arrays, right)
