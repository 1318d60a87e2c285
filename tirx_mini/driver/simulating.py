"""`simulate` and `explore`: run a kernel on a simulated GPU."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from tirx_mini.arguments import for_arguments, kernel_of, whole_number, with_tensor_maps
from tirx_mini.diagnose import Finding, Report, failed
from tirx_mini.hardware import DEFAULT_GPU, GpuSpec, gpu_spec
from tirx_mini.ir import COPY_FENCES, TVM, Call, IRModule, PrimFunc, TirxError
from tirx_mini.isa import TABLE
from tirx_mini.passes import lower
from tirx_mini.sim import BUDGET, DEFAULT_LIMIT, Question, Watch

from .answering import answer
from .exploring import Exploration, explored
from .languages import lowered as to_kernel

MOST_JOBS = 4
"""The maximum number of processes for partial runs; there are at most eight parts."""


def explore(
    kernel: IRModule | PrimFunc,
    *args: object,
    gpu: str | GpuSpec = DEFAULT_GPU,
    limit: int = DEFAULT_LIMIT,
    watch: Watch | None = None,
) -> Exploration:
    """Run a small kernel in every order of its events, up to equivalence.

    The report is that of the first run whose verdict is not "ok", or of the deterministic run.
    `tirx_mini.driver.exploring` documents which orders are covered.

    args: as in `simulate`.

    The keywords are fields of `tirx_mini.sim.Question`, which documents them.
    """
    func = for_arguments(kernel_of(kernel, "explore"), args)
    question = Question(gpu_spec(gpu), limit=whole_number("limit", limit), watch=watch, log_barriers=True)
    try:
        return explored(to_kernel(func, question.gpu.arch), args, question)
    except TirxError as error:
        return Exploration(failed(func.name, error, question.gpu.name), 0, 0, False)


def processes(spared: int = 0) -> int:
    """Return how many processes share a large launch by default. spared: the cores that are left to other work."""
    return max(1, min((os.cpu_count() or 1) - spared, MOST_JOBS))


def simulate(
    kernel: IRModule | PrimFunc,
    *args: object,
    gpu: str | GpuSpec = DEFAULT_GPU,
    schedules: int = 1,
    seed: int = 0,
    trace: bool = False,
    log_barriers: bool = False,
    checks: bool = True,
    data: bool = True,
    sampled: bool = False,
    jobs: int | None = None,
    pedantic: bool = False,
    budget: int = BUDGET,
    single: bool = False,
    watch: Watch | None = None,
    functions: Mapping[str, Callable[..., object]] | None = None,
) -> Report:
    """Run a kernel on a simulated GPU and return a report. Results are written into the arguments in place.

    args: PyTorch tensors or NumPy arrays for buffers, numbers for scalars.

    The keywords are fields of `tirx_mini.sim.Question`, which documents them.

    The report contains every mistake of the kernel, including those that prevent lowering. Raises only for arguments
    that do not match the parameters of the kernel (`ArgumentError`), for a kernel that is none (`TypeError`), and for
    options out of range (`ValueError`).
    """
    try:
        func = for_arguments(kernel_of(kernel, "simulate"), args)
    except TirxError as error:
        return failed(kernel_of(kernel, "simulate").name, error, gpu_spec(gpu).name)
    schedules, seed = whole_number("schedules", schedules), whole_number("seed", seed, 0)
    budget = whole_number("budget", budget)
    jobs = processes() if jobs is None else whole_number("jobs", jobs)
    if sampled and data:
        raise ValueError("sampled=True works out the time alone: pass data=False, too")
    try:
        lowered = to_kernel(func, gpu_spec(gpu).arch)
    except TirxError as error:
        return failed(func.name, error, gpu_spec(gpu).name)
    question = Question(
        gpu_spec(gpu), schedules=schedules, seed=seed, trace=trace, log_barriers=log_barriers, checks=checks,
        data=data, sampled=sampled and not trace, jobs=jobs, pedantic=pedantic, budget=budget, single=single,
        watch=watch, functions=functions,
    )  # fmt: skip
    report = answer(lowered, args, question)
    if func.dialect != TVM or not report.ok or not checks or not data:
        return report
    return replace(report, findings=(*report.findings, *_owed_to_our_fences(func, lowered, args, question)))


def predict(
    kernel: IRModule | PrimFunc, *args: object, gpu: str | GpuSpec = DEFAULT_GPU, jobs: int | None = None
) -> Report:
    """Predict the time of a kernel in the cheapest way: sampled, and without data where no course depends on data.

    args, jobs: as in `simulate`. Arguments are written only where the course does depend on data. They may be left out
    where it does not; the report is then "incomplete" where it does.
    """
    report = simulate(kernel, *args, gpu=gpu, data=False, sampled=True, jobs=jobs)
    return simulate(kernel, *args, gpu=gpu) if report.verdict == "incomplete" and args else report


def _owed_to_our_fences(
    func: PrimFunc, lowered: PrimFunc, args: Sequence[Any], question: Question
) -> Iterator[Finding]:
    """Yield notes on hazards that only TVM's compiler would have: our cooperative copies end with a fence, TVM's do
    not."""
    func, args = with_tensor_maps(func, args)
    bare = lower(replace(func, attrs=(*func.attrs, (COPY_FENCES, False))))
    if _fences(bare) == _fences(lowered):
        return
    copies = [arg.clone() if hasattr(arg, "clone") else copy(arg) for arg in args]
    asked = Question(question.gpu, budget=question.budget, functions=question.functions)
    for finding in answer(bare, copies, asked).findings:
        if finding.kind == "missing-proxy-fence":
            ours = "this run is correct because cooperative copies of tirx_mini end with that fence, and TVM's do not"
            notes = ((ours, None), *finding.details.get("notes", ()))
            yield replace(finding, severity="note", details={**finding.details, "notes": notes})


def _fences(func: PrimFunc) -> int:
    """Return the number of proxy fences in a lowered kernel."""
    return sum(isinstance(node, Call) and TABLE[node.op].fence == "proxy" for node in func.nodes)
