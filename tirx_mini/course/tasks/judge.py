"""The judgement of a task's kernel for one problem: no error, the specified result, and for one problem the budget."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tirx_mini.diagnose import Report
from tirx_mini.driver import simulate
from tirx_mini.ir import Buffer, PrimFunc
from tirx_mini.records import dataclass

from ..result import TOLERANCES
from ..steps import Shape, shape_text
from .task import Array, KernelTask

TOLERANCE = TOLERANCES["float16"]
"""(rtol, atol) of the results of tasks, whose inputs are float16."""


@dataclass(frozen=True)
class Judgement:
    """The judgement of a kernel for one problem. report: of the run. said: what is wrong, in a sentence, or ""."""

    report: Report | None
    said: str = ""


def judge_task(task: KernelTask, kernel: PrimFunc, problem: Shape, seed: int = 0) -> Judgement:
    """Judge a kernel on random data."""
    wrong = mismatch(task, kernel, problem)
    if wrong:
        return Judgement(None, wrong)
    arrays = task.arrays(problem, seed)
    given = [array.copy() for array in arrays]
    report = simulate(kernel, *given, gpu=task.spec, trace=problem == task.timed).named(task.factory)
    if report.errors:
        return Judgement(report, "the kernel has an error")
    if not report.comparable or report.verdict == "incomplete":
        return Judgement(report, f"the run ended as {report.verdict}")
    wrong = compared(task, arrays, given[-1])
    if not wrong and problem == task.timed and (report.time_us is None or report.time_us > task.budget_us):
        wrong = f"{report.time_us:.1f} µs are predicted, and the budget is {task.budget_us:g} µs"
    return Judgement(report, wrong)


def mismatch(task: KernelTask, kernel: PrimFunc, problem: Shape) -> str:
    """Return in what the parameters of a kernel differ from the task's, as a sentence, or ""."""
    wanted = [(each.shape(problem), each.dtype) for each in task.parameters]
    found = [(each.shape, str(each.dtype)) for each in kernel.params if isinstance(each, Buffer)]
    if found == wanted and len(kernel.params) == len(wanted):
        return ""
    names = ", ".join(f"{each.name} {each.shape(problem)} {each.dtype}" for each in task.parameters)
    return f"the parameters must be {names} for {shape_text(problem)}"


def compared(
    task: KernelTask, arrays: Sequence[Array], result: Array, tolerance: tuple[float, float] = TOLERANCE
) -> str:
    """Return where a result differs from the specified one, as a sentence, or "". arrays: those before the launch."""
    *inputs, output = arrays
    want = task.expected(*(each.astype(np.float32) for each in inputs)).astype(output.dtype).astype(np.float32)
    got = result.astype(np.float32)
    right = np.isclose(got, want, *tolerance)
    if right.all():
        return ""
    row, column = (int(index[0]) for index in np.nonzero(~right))
    name, share = task.parameters[-1].name, np.count_nonzero(~right) / right.size
    return (
        f"{share:.1%} of {name} is wrong, first {name}[{row}, {column}]: {got[row, column]:.4g} instead of "
        f"{want[row, column]:.4g}"
    )
