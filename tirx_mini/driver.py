"""`compile`, `simulate` and `run`: the whole way of a kernel, from the front end's function to a run."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .diagnose import DEFAULT_LIMIT, Exploration, Report, SimulationError, failed
from .diagnose import explore as explore_lowered
from .diagnose import simulate as simulate_lowered
from .hardware import DEFAULT_GPU, GpuSpec, gpu_spec, nearest_gpu
from .ir import IRModule, PrimFunc, TirxError
from .passes import lower
from .target import Target

if TYPE_CHECKING:
    from .runtime import Executable, HostModule


@dataclass(frozen=True, eq=False)
class SimulatedExecutable:
    """What `compile` returns for a simulator target: called like the compiled kernel, it runs on the modelled GPU.

    The call writes results into its arguments and raises `SimulationError` where the verdict is not "ok". `report` is
    that of the last call.
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
        return self._reports[-1] if self._reports else None

    @cached_property
    def compiled(self) -> Executable:
        """The same kernel compiled for the GPU that is modelled."""
        from .runtime import build

        return build(self.func, self.gpu.arch, original=self.original)

    @property
    def mod(self) -> HostModule:
        """TVM's view of the module: ``exe.mod.imports[0].inspect_source()`` is the CUDA C++."""
        return self.compiled.mod

    def source(self, stage: str = "cuda") -> str:
        """The kernel at a stage: "tir", "lowered", "cuda", "ptx" or "sass"."""
        if stage == "tir":
            return self.original.script()
        return self.func.script() if stage == "lowered" else self.compiled.source(stage)


def compile(
    mod: IRModule | PrimFunc, target: str | Target | None = None, tir_pipeline: str = "tirx"
) -> SimulatedExecutable | Executable:
    """A kernel ready to be called with its arguments, which it writes in place.

    mod: a kernel, or a module whose function "main" is one. target: as `Target` reads it; by default that of the
    enclosing ``with target:``, else "cuda". Raises `TirxError` for what cannot be lowered, at the line of the kernel.
    """
    if tir_pipeline != "tirx":
        raise ValueError(f"unknown pipeline {tir_pipeline!r}; the only pipeline is 'tirx'")
    chosen = _target(target)
    func = mod.main if isinstance(mod, IRModule) else mod
    lowered = lower(func)
    if chosen.kind == "sim":
        return SimulatedExecutable(lowered, func, gpu_spec(chosen.detail or DEFAULT_GPU))
    from .runtime import build

    return build(lowered, chosen.detail, original=func)


def explore(
    kernel: IRModule | PrimFunc, *args: Any, gpu: str | GpuSpec = DEFAULT_GPU, limit: int = DEFAULT_LIMIT
) -> Exploration:
    """Run a small kernel in every order of its events, up to equivalence; `limit` bounds the number of runs.

    The report is that of the first run that is not "ok", else of the deterministic one. What is covered is written in
    `tirx_mini.diagnose.explore`. Arguments are as in `simulate`.
    """
    func = kernel.main if isinstance(kernel, IRModule) else kernel
    spec = gpu_spec(gpu)
    try:
        return explore_lowered(lower(func), args, spec, limit=limit)
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
) -> Report:
    """Run a kernel on a modelled GPU and report what it did; results are written into the arguments in place.

    args: PyTorch tensors or NumPy arrays for its buffers, numbers for its scalars.
    gpu: a name in `hardware.GPUS`, as "h100", or a `GpuSpec`.
    schedules: how many orders of events to try, from `seed` on (0 is the deterministic one).
    checks: look for hazards; without, a run is up to twice as fast, and only faults and deadlocks are found.

    Whatever the kernel does wrong is in the report, also what keeps it from being lowered. Raises for arguments that
    do not fit the kernel.
    """
    func = kernel.main if isinstance(kernel, IRModule) else kernel
    try:
        lowered = lower(func)
    except TirxError as error:
        return failed(func.name, error, gpu_spec(gpu).name)
    return simulate_lowered(
        lowered, args, gpu, schedules=schedules, seed=seed, trace=trace, log_barriers=log_barriers, checks=checks
    )


class GpuRunError(SimulationError):
    """A run on a GPU that did not finish or that the GPU ended. cause: what was seen there. report: the simulator's."""

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
    """Run a kernel once, in safety, and wait for it; results are written into the arguments in place.

    In the simulator that is a call of what `compile` returns, and the report is returned. On a GPU the kernel runs in a
    child process: where it does not finish within `limit_s` seconds, or the GPU ends it, the simulator runs it on
    copies of the arguments and `GpuRunError` says what both found. Where that takes longer than `explain_s` seconds,
    `KernelFailure` says what to simulate instead. This process can launch again in every case.
    """
    exe = compile(kernel if isinstance(kernel, IRModule) else IRModule({"main": kernel}), _target(target))
    if isinstance(exe, SimulatedExecutable):
        exe(*args)
        return exe.report
    from .runtime import KernelFailure

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
    """What the simulator says of a run; None where it needs longer than `limit_s` seconds, as for a large problem."""
    from .runtime import supervise

    payload = exe.func, [_host_copy(arg) for arg in args], _model_of(exe.arch).name
    try:
        return supervise(_simulated, payload, limit_s)
    except TimeoutError:
        return None


def _simulated(payload: tuple[PrimFunc, list[Any], str]) -> Generator[None, None, Report]:
    """A task of `supervise`."""
    func, args, gpu = payload
    yield
    return simulate_lowered(func, args, gpu)


def _unexplained(func: PrimFunc, limit_s: float) -> str:
    place = func.span.file if func.span else "FILE.py"
    return (
        f"The simulator found no cause within {limit_s:g} s. Simulate a smaller problem, where the kernel most likely "
        f"fails in the same way: `python -m tirx_mini check {place}:KERNEL --size 1024`"
    )


def _target(target: str | Target | None) -> Target:
    """The target that is meant: the given one, that of the enclosing ``with target:``, "cuda"."""
    return target if isinstance(target, Target) else Target(target) if target else Target.current() or Target("cuda")


def _model_of(arch: str) -> GpuSpec:
    """The modelled GPU that is most like this machine's, or like those that `arch` is for."""
    import torch

    return nearest_gpu(arch, torch.cuda.get_device_name() if torch.cuda.is_available() else "")


def _host_copy(arg: Any) -> Any:
    """A copy in main memory of a tensor or array; a number is itself."""
    if isinstance(arg, np.ndarray):
        return arg.copy()
    return arg.detach().to("cpu", copy=True) if hasattr(arg, "detach") else arg
