"""Tasks in hand-ins: graded on public and hidden problems, and against the budget."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.tasks_ref.edits import NAIVE, reference
from tirx_mini.course import TASKS
from tirx_mini.grading import (
    Cache,
    Graded,
    HandIn,
    Judges,
    autolab,
    grade_html,
    grade_page,
    grade_task,
    gradescope,
    load_rules,
)
from tirx_mini.report import plain

RULES = load_rules()


@pytest.fixture(scope="module")
def judges() -> Iterator[Judges]:
    with Judges(1, RULES.judge, Cache()) as shared:
        yield shared


def graded(letter: str, source: str, judges: Judges) -> Graded:
    return grade_task(HandIn("handin.py", "gemm_kernels.py", source), letter, RULES, judges=judges)


def test_the_reference_earns_all_points_in_each_format(judges: Judges) -> None:
    found = graded("b", reference("b"), judges)
    (task,) = found.steps
    assert found.score == found.total == 20, [part.said for part in task.parts]
    assert (task.name, task.title, task.reproduce) == ("task b", "split-K", "")
    assert task.part("correctness").said == "D is right at 6 sizes"
    assert "µs at 256x256x16384, with a budget of 12 µs" in task.part("performance").said
    assert Graded.from_dict(json.loads(json.dumps(found.as_dict()))) == found
    assert "split-K" in plain(grade_page(found)) and "Task b, split-K: 20 of 20" in grade_html(found)
    assert gradescope(found)["tests"][0]["name"] == "Task b: split-K"
    assert json.loads(autolab(found).splitlines()[-1]) == {"scores": {"Task b": 20}}


def test_a_kernel_that_fails_a_hidden_problem_scores_nothing(judges: Judges) -> None:
    found = graded("b", reference("b", NAIVE["b"]), judges)
    (task,) = found.steps
    assert found.score == 0 and task.part("correctness").passed is False and task.part("performance").passed is None
    problem = task.reproduce.rpartition(" ")[2]
    assert task.reproduce == f"python -m tirx_mini task b task_b.py --shape {problem}"
    assert f"at {problem.replace(',', 'x')}: " in task.part("correctness").said


def test_the_hidden_problems_are_those_of_the_cache() -> None:
    first, second = Cache(), Cache()
    with Judges(1, RULES.judge, first) as one, Judges(1, RULES.judge, first) as same:
        seed = one.drawn("task b")
        assert same.drawn("task b") == seed != one.drawn("task a")
    with Judges(1, RULES.judge, second) as other:
        assert TASKS["b"].hidden(other.drawn("task b")) != TASKS["b"].hidden(seed)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("def hgemm_v1(M, N, K): ...\n", "task_a.py defines no task_a"),
        ("def task_a(M, N, K):\n    return 7\n", "task_a does not make a kernel: it returned int"),
        ("def task_a(M, N, K):\n    raise ValueError('N is odd')\n", "N is odd"),
        (reference("a", [('bias: Tx.Buffer((N,), "float32")', "bias: Tx.Buffer((N,), dtype)")]),
         "the parameters must be A (128, 128) of float16, B (72, 128) of float16, bias (72,) of float32 and D"),
        (reference("a", [("Dreg[j] + bias_smem[i * TMEM_LD_N + j]", "Dreg[j]")]), "% of D is wrong, first D["),
        (reference("a", [("n_st + row < N, bias[n_st + row]", "n_st + row <= N, bias[n_st + row]")]), "TX301"),
    ],
)  # fmt: skip
def test_what_is_said_of_a_file(source: str, said: str, judges: Judges) -> None:
    found = graded("a", source, judges)
    (task,) = found.steps
    part = task.part("correctness")
    assert found.score == 0 and said in part.said, part
    assert "gemm_kernels" not in part.said and not any("gemm_kernels" in page for page in part.pages)


def test_a_kernel_may_not_write_its_inputs_or_read_an_output_that_holds_nothing(judges: Judges) -> None:
    added = "            if wg_id == 1:\n                if warp_id == 3:\n"
    text = reference("a", [(added, f"            if bx == 0:\n                bias[0] = Tx.float32(0)\n{added}")])
    assert "the kernel writes to bias, which is an input" in graded("a", text, judges).steps[0].parts[0].said
    text = reference("a", [("Dreg[j] + bias_smem[i * TMEM_LD_N + j]", "Dreg[j] + Tx.float32(D[0, 0])")])
    assert "the kernel reads D, which is an output" in graded("a", text, judges).steps[0].parts[0].said
