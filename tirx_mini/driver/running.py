"""`run`: a single guarded execution of a kernel; the simulator explains failures on a GPU."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tirx_mini.arguments import for_arguments, kernel_of, with_tensor_maps
from tirx_mini.diagnose import Report, SimulationError
from tirx_mini.hardware import GpuSpec, gpu_spec, nearest_gpu
from tirx_mini.ir import IRModule, PrimFunc
from tirx_mini.sim import Question
from tirx_mini.target import Target

from .answering import answer
from .compiling import SimulatedExecutable, compiled, target_of

if TYPE_CHECKING:
    from tirx_mini.runtime import Executable

_UNLIMITED = 1 << 62
"""The budget of runs that are bounded by a time limit."""


class GpuRunError(SimulationError):
    """A failed run on a GPU: it did not finish, or the GPU aborted it.

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
    *args: object,
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
    exe = compiled(for_arguments(kernel_of(kernel, "run"), args), target_of(target))
    if isinstance(exe, SimulatedExecutable):
        exe(*args)
        return exe.report
    from tirx_mini.runtime import Executable, KernelFailure

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


def _explanation(exe: Executable, args: Sequence[object], limit_s: float) -> Report | None:
    """Return the simulator's report on a failed run; None if it takes longer than `limit_s` seconds."""
    from tirx_mini.runtime import supervise

    func, args = with_tensor_maps(exe.func, args)
    payload = func, [_host_copy(arg) for arg in args], _model_of(exe.arch).name
    try:
        return supervise(_simulated, payload, limit_s)
    except TimeoutError:
        return None


def _simulated(payload: tuple[PrimFunc, list[Any], str]) -> Generator[None, None, Report]:
    """Simulate a kernel as a task of `supervise`."""
    func, args, gpu = payload
    yield
    return answer(func, args, Question(gpu_spec(gpu), budget=_UNLIMITED))


def _unexplained(func: PrimFunc, limit_s: float) -> str:
    place = func.span.file if func.span else "FILE.py"
    return (
        f"The simulator found no cause within {limit_s:g} s. Simulate a smaller problem, where the kernel most likely "
        f"fails in the same way: `python -m tirx_mini check {place}:KERNEL --size 1024`"
    )


def _model_of(arch: str) -> GpuSpec:
    """Return the simulated GPU closest to this machine's GPU, or to one of `arch`."""
    import torch

    return nearest_gpu(arch, torch.cuda.get_device_name() if torch.cuda.is_available() else "")


def _host_copy(arg: Any) -> object:
    """Return a copy of a tensor or array in host memory; numbers are returned unchanged."""
    if isinstance(arg, np.ndarray):
        return arg.copy()
    return arg.detach().to("cpu", copy=True) if hasattr(arg, "detach") else arg
