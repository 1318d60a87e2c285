"""`compile`, `simulate`, `explore` and `run`: the entry points, from a kernel to its execution."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .arguments import for_arguments, kernel_of, whole_number, with_tensor_maps
from .diagnose import BUDGET, DEFAULT_LIMIT, Exploration, Finding, Report, SimulationError, failed
from .diagnose import explore as explore_lowered
from .diagnose import simulate as simulate_lowered
from .hardware import DEFAULT_GPU, GpuSpec, gpu_spec, nearest_gpu
from .ir import COPY_FENCES, TVM, Buffer, Call, IRModule, PrimFunc, TirxError, specialised, symbols, walk
from .isa import TABLE
from .passes import lower
from .sim import Watch
from .target import Target

if TYPE_CHECKING:
    from .cpu import CpuExecutable
    from .runtime import Executable, HostModule


MOST_JOBS = 4
"""Processes that a run of parts starts at most by itself; it has no more than eight parts."""
_UNLIMITED = 1 << 62
"""A budget for runs that a time limit ends."""


@dataclass(frozen=True, eq=False)
class SimulatedExecutable:
    """The result of `compile` for a simulator target. A call runs the kernel on the simulated GPU.

    The call writes results into its arguments and raises `SimulationError` unless the verdict is "ok".

    func: the lowered kernel.
    original: the kernel before lowering.
    gpu: the simulated GPU.
    """

    func: PrimFunc
    original: PrimFunc
    gpu: GpuSpec
    _reports: list[Report] = field(default_factory=list, init=False, repr=False)

    def __call__(self, *args: Any) -> None:
        report = simulate_lowered(self.func, args, self.gpu)
        self._reports[:] = [report]
        if not report.ok:
            raise SimulationError(report)

    @property
    def report(self) -> Report | None:
        """The report of the last call."""
        return self._reports[-1] if self._reports else None

    @cached_property
    def compiled(self) -> Executable:
        """The same kernel, compiled for the simulated GPU."""
        from .runtime import build

        return build(self.func, self.gpu.arch, original=self.original)

    @property
    def mod(self) -> HostModule:
        """TVM's view of the module: ``exe.mod.imports[0].inspect_source()`` is the CUDA C++, and a call simulates."""
        from .runtime import HostModule

        return HostModule.of(self)

    def source(self, stage: str = "cuda", comments: bool = True) -> str:
        """The kernel at a stage: "tir", "lowered", "cuda" (with or without `comments`), "ptx" or "sass"."""
        if stage == "tir":
            return self.original.script()
        if stage == "lowered":
            return self.func.script()
        if stage == "cuda":
            from .runtime import emit

            return emit(self.func, self.gpu.arch, comments=comments).text
        return self.compiled.source(stage, comments)


SHOWN_EXTENT = 1024
"""What symbolic extents are in texts of a kernel that has not been called: a multiple of the tiles of most kernels."""


@dataclass(frozen=True, eq=False)
class SymbolicExecutable:
    """The result of `compile` for a kernel with symbolic extents. It is compiled for the sizes of each call, once.

    original: the kernel.
    target: what it is compiled for.
    """

    original: PrimFunc
    target: Target
    _compiled: dict[tuple[int, ...], SimulatedExecutable | Executable] = field(
        default_factory=dict, init=False, repr=False
    )
    _last: list[SimulatedExecutable | Executable] = field(default_factory=list, init=False, repr=False)

    def __call__(self, *args: Any) -> None:
        self.for_arguments(*args)(*args)

    def for_arguments(self, *args: Any) -> SimulatedExecutable | Executable:
        """The kernel compiled for the sizes of these arguments. Raises `ArgumentError` where they do not agree."""
        return self._for(for_arguments(self.original, args))

    def _for(self, func: PrimFunc) -> SimulatedExecutable | Executable:
        sizes = tuple(n for param in func.params if isinstance(param, Buffer) for n in param.shape)
        if sizes not in self._compiled:
            self._compiled[sizes] = _compiled(func, self.target)
        self._last[:] = [self._compiled[sizes]]
        return self._compiled[sizes]

    @property
    def last(self) -> SimulatedExecutable | Executable:
        """The kernel of the last call; without one, with `SHOWN_EXTENT` for all symbolic extents."""
        if not self._last:
            self._for(specialised(self.original, dict.fromkeys(symbols(self.original), SHOWN_EXTENT)))
        return self._last[0]

    @property
    def func(self) -> PrimFunc:
        """The lowered kernel of the last call."""
        return self.last.func

    @property
    def report(self) -> Report | None:
        """The report of the last call; None on a GPU."""
        return getattr(self.last, "report", None)

    @property
    def mod(self) -> HostModule:
        """As of `SimulatedExecutable`."""
        from .runtime import HostModule

        return HostModule.of(self)

    def source(self, stage: str = "cuda", comments: bool = True) -> str:
        """The kernel of the last call at a stage; "tir" is the kernel with its symbolic extents."""
        return self.original.script() if stage == "tir" else self.last.source(stage, comments)


def compile(
    mod: IRModule | PrimFunc, target: str | Target | None = None, tir_pipeline: str = "tirx"
) -> SimulatedExecutable | Executable | CpuExecutable | SymbolicExecutable:
    """Compile a kernel. The result is called with the arguments of the kernel and writes its outputs in place.

    A kernel with symbolic extents is compiled when it is called, once for each combination of sizes.

    mod: a kernel, or a module with a kernel "main".
    target: a target as in `Target`; by default that of the enclosing ``with target:``, else "cuda".

    Raises `TirxError`, at the line of the kernel, if the kernel cannot be lowered.
    """
    if tir_pipeline != "tirx":
        raise ValueError(f"unknown pipeline {tir_pipeline!r}; the only pipeline is 'tirx'")
    chosen = _target(target)
    func = kernel_of(mod, "compile")
    if chosen.kind == "llvm":
        from .cpu import build as build_for_cpu

        return build_for_cpu(func)
    return SymbolicExecutable(func, chosen) if symbols(func) else _compiled(func, chosen)


def _compiled(func: PrimFunc, target: Target) -> SimulatedExecutable | Executable:
    """A kernel without symbolic extents, compiled."""
    lowered = lower(func)
    if target.kind == "sim":
        return SimulatedExecutable(lowered, func, gpu_spec(target.detail or DEFAULT_GPU))
    from .runtime import build

    return build(lowered, target.detail, original=func)


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
        return explore_lowered(lower(func), args, spec, limit=limit, watch=watch)
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
        work the time of the whole out of runs of parts (seconds at 8192³). It is run in full where it is small, or
        where its time does not grow evenly. The report says so (`Report.sampled`). Needs data=False.
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
        lowered = lower(func)
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
    return sum(isinstance(node, Call) and TABLE[node.op].fence == "proxy" for node in walk(func.body))


class GpuRunError(SimulationError):
    """A run on a GPU that did not finish, or that the GPU aborted.

    cause: the failure on the GPU.
    report: the report of the simulator on the same arguments.
    """

    def __init__(self, cause: Exception, report: Report) -> None:
        super().__init__(report)
        self.cause = cause

    def __str__(self) -> str:
        if self.report.ok:
            return f"{self.cause}\n\nOn the same arguments, the simulator finds nothing wrong with it."
        return f"{self.cause}\n\nThis is what the simulator finds on the same arguments:\n\n{self.report}"


def run(
    kernel: IRModule | PrimFunc,
    *args: Any,
    target: str | Target | None = None,
    limit_s: float = 10.0,
    explain_s: float = 60.0,
) -> Report | None:
    """Run a kernel once, guarded, and wait for it. Results are written into the arguments in place.

    For a simulator target, this calls the compiled kernel and returns its report. On a GPU, the kernel runs in a child
    process. If it fails, the simulator runs it on copies of the arguments, and `GpuRunError` reports both results. If
    the simulation takes too long, `KernelFailure` suggests a smaller one. In all cases, this process can still launch
    kernels afterwards.

    limit_s: the time limit of the kernel on a GPU, in seconds.
    explain_s: the time limit of the simulation after a failure, in seconds.
    """
    exe = _compiled(for_arguments(kernel_of(kernel, "run"), args), _target(target))
    if isinstance(exe, SimulatedExecutable):
        exe(*args)
        return exe.report
    from .runtime import Executable, KernelFailure

    if not isinstance(exe, Executable):
        exe(*args)
        return None

    try:
        exe.run_guarded(*args, limit_s=limit_s)
    except KernelFailure as error:
        report = _explanation(exe, args, explain_s)
        if report is None:
            error.advice = _unexplained(exe.func, explain_s)
            raise
        raise GpuRunError(error, report) from error
    return None


def _explanation(exe: Executable, args: Sequence[Any], limit_s: float) -> Report | None:
    """The report of the simulator on a failed run; None if it takes longer than `limit_s` seconds."""
    from .runtime import supervise

    func, args = with_tensor_maps(exe.func, args)
    payload = func, [_host_copy(arg) for arg in args], _model_of(exe.arch).name
    try:
        return supervise(_simulated, payload, limit_s)
    except TimeoutError:
        return None


def _simulated(payload: tuple[PrimFunc, list[Any], str]) -> Generator[None, None, Report]:
    """The simulation, as a task of `supervise`."""
    func, args, gpu = payload
    yield
    return simulate_lowered(func, args, gpu, budget=_UNLIMITED)


def _unexplained(func: PrimFunc, limit_s: float) -> str:
    place = func.span.file if func.span else "FILE.py"
    return (
        f"The simulator found no cause within {limit_s:g} s. Simulate a smaller problem, where the kernel most likely "
        f"fails in the same way: `python -m tirx_mini check {place}:KERNEL --size 1024`"
    )


def _target(target: str | Target | None) -> Target:
    """The given target, or that of the enclosing ``with target:``, or "cuda"."""
    return target if isinstance(target, Target) else Target(target) if target else Target.current() or Target("cuda")


def _model_of(arch: str) -> GpuSpec:
    """The simulated GPU closest to that of this machine, or to those of `arch`."""
    import torch

    return nearest_gpu(arch, torch.cuda.get_device_name() if torch.cuda.is_available() else "")


def _host_copy(arg: Any) -> Any:
    """A copy of a tensor or array in host memory; numbers are returned as they are."""
    if isinstance(arg, np.ndarray):
        return arg.copy()
    return arg.detach().to("cpu", copy=True) if hasattr(arg, "detach") else arg
