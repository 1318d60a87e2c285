"""`simulate` and `explore`: a kernel on a simulated GPU, with its arguments."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from tirx_mini.arguments import for_arguments, kernel_of, whole_number, with_tensor_maps
from tirx_mini.diagnose import BUDGET, DEFAULT_LIMIT, Exploration, Finding, Report, failed
from tirx_mini.diagnose import explore as explore_lowered
from tirx_mini.diagnose import simulate as simulate_lowered
from tirx_mini.hardware import DEFAULT_GPU, GpuSpec, gpu_spec
from tirx_mini.ir import COPY_FENCES, TVM, Call, IRModule, PrimFunc, TirxError
from tirx_mini.isa import TABLE
from tirx_mini.passes import lower
from tirx_mini.sim import Watch

from .languages import lowered as to_kernel

MOST_JOBS = 4
"""Processes that a run of parts starts at most by itself; it has no more than eight parts."""


def explore(
    kernel: IRModule | PrimFunc,
    *args: Any,
    gpu: str | GpuSpec = DEFAULT_GPU,
    limit: int = DEFAULT_LIMIT,
    watch: Watch | None = None,
) -> Exploration:
    """Run a small kernel in every order of its events, up to equivalence.

    The report is that of the first run whose verdict is not "ok", or of the deterministic run.
    `tirx_mini.diagnose.explore` documents which orders are covered.

    args, gpu, watch: as in `simulate`.
    limit: the maximum number of runs.
    """
    func = for_arguments(kernel_of(kernel, "explore"), args)
    limit = whole_number("limit", limit)
    spec = gpu_spec(gpu)
    try:
        return explore_lowered(to_kernel(func, spec.arch), args, spec, limit=limit, watch=watch)
    except TirxError as error:
        return Exploration(failed(func.name, error, spec.name), 0, 0, False)


def simulate(
    kernel: IRModule | PrimFunc,
    *args: Any,
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
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> Report:
    """Run a kernel on a simulated GPU and return a report. Results are written into the arguments in place.

    args: PyTorch tensors or NumPy arrays for buffers, numbers for scalars.
    gpu: a name in `hardware.GPUS`, such as "h100", or a `GpuSpec`.
    schedules: the number of event orders to run.
    seed: the first of these orders; 0 is the deterministic one.
    trace: whether to record a timeline.
    log_barriers: whether to record the events of every barrier.
    checks: whether to detect hazards. Without it, a run is up to twice as fast but only detects faults and deadlocks.
    data: whether to compute values. Without, a run is several times as fast and predicts the same time. It finds faults
        and deadlocks but no hazards, reads and writes no argument (each may be None, or all of them left out), and its
        verdict is "clock" where it finds nothing. A kernel whose control flow depends on data is refused.
    sampled: whether a run without data may leave out most waves of CTAs and most iterations of the longest loops, and
        work the time of the whole out of runs of parts (seconds at 8192³). It is run in full where it is small, where
        its time does not grow evenly, and where CTAs or iterations may differ. The report says so (`Report.sampled`).
        Needs data=False.
    jobs: how many processes execute these parts, or, with data and checks, the clusters of a large launch; by default
        as many as the machine has cores, up to four. Clusters that synchronise or exchange data are executed in one.
    pedantic: whether to note what only the letter of the ISA demands, and what kernels in production omit.
    budget: the iterations of loops that a run may make, all warps together; a CTA counts as 200. A run that would make
        more ends there, and its verdict is "incomplete".
    single: whether to predict, besides the time in a row of launches, that of one by itself (`Report.single_us`). It
        costs another run without data where the arguments fit in the L2.
    watch: called at the beginning of each run, with an object whose `share()` says how far that is; another thread may
        ask it. It costs the run nothing.
    functions: what functions of CUDA C++ compute that the kernel calls with `T.cuda.func_call`, by their names: NumPy
        functions of the values in 32 threads, without an effect on memory. A call of any other makes the verdict
        "incomplete".

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
    jobs = min(os.cpu_count() or 1, MOST_JOBS) if jobs is None else whole_number("jobs", jobs)
    if sampled and data:
        raise ValueError("sampled=True works out the time alone: pass data=False, too")
    try:
        lowered = to_kernel(func, gpu_spec(gpu).arch)
    except TirxError as error:
        return failed(func.name, error, gpu_spec(gpu).name)
    report = simulate_lowered(
        lowered, args, gpu, schedules=schedules, seed=seed, trace=trace, log_barriers=log_barriers, checks=checks,
        data=data, sampled=sampled, jobs=jobs, pedantic=pedantic, budget=budget, single=single,
        watch=watch, functions=functions,
    )  # fmt: skip
    if func.dialect != TVM or not report.ok or not checks or not data:
        return report
    owed = _owed_to_our_fences(func, lowered, args, gpu, budget, functions)
    return replace(report, findings=(*report.findings, *owed))


def _owed_to_our_fences(
    func: PrimFunc,
    lowered: PrimFunc,
    args: Sequence[Any],
    gpu: str | GpuSpec,
    budget: int,
    functions: Mapping[str, Callable[..., Any]] | None,
) -> Iterator[Finding]:
    """Notes on hazards that a kernel for TVM has there: our cooperative copies end with a fence, TVM's do not."""
    func, args = with_tensor_maps(func, args)
    bare = lower(replace(func, attrs=(*func.attrs, (COPY_FENCES, False))))
    if _fences(bare) == _fences(lowered):
        return
    copies = [arg.clone() if hasattr(arg, "clone") else copy(arg) for arg in args]
    for finding in simulate_lowered(bare, copies, gpu, budget=budget, functions=functions).findings:
        if finding.kind == "missing-proxy-fence":
            ours = "this run is correct because cooperative copies of tirx_mini end with that fence, and TVM's do not"
            notes = ((ours, None), *finding.details.get("notes", ()))
            yield replace(finding, severity="note", details={**finding.details, "notes": notes})


def _fences(func: PrimFunc) -> int:
    """How many proxy fences a lowered kernel has."""
    return sum(isinstance(node, Call) and TABLE[node.op].fence == "proxy" for node in func.nodes)
