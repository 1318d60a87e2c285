"""Functions for tests and students: prepare data, run a kernel, check its result and its time.

    kernel = hgemm_v3(1024, 1024, 1024)
    A, B, D = prepare_data(1024, 1024, 1024)
    run = compile_and_run(kernel, A, B, D)          # in the simulator, unless PyTorch finds a Blackwell GPU
    verify(A, B, D, run)
    check_timing(run, reference_kernel, step=3)

Kernels compute D (M, N) = A (M, K) @ B (N, K).T.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

import tirx_mini as tvm
from tirx_mini.arguments import check_room
from tirx_mini.course import (
    LARGEST_TRACED,
    TIME_TOLERANCE,
    Matrix,
    WatchShare,
    matches,
    measured_times,
    shares,
    wrong_finding,
)
from tirx_mini.course import check_shape as check_shape  # kernels import it from here
from tirx_mini.diagnose import Finding, rate_text, us_text
from tirx_mini.hardware import DEFAULT_ARCH, DEFAULT_GPU, gpu_spec, same_generation
from tirx_mini.ir import Buffer, PrimFunc
from tirx_mini.pytorch import pytorch, pytorch_on_gpu, pytorch_or_none
from tirx_mini.report import finding_page, plain, report_page
from tirx_mini.runtime import device_arch
from tirx_mini.sim import numpy_dtype
from tirx_mini.target import Target


def has_gpu(arch: str = DEFAULT_ARCH) -> bool:
    """Return whether the GPU of this machine is of the generation of `arch` ("sm_100a": Blackwell)."""
    here = device_arch()
    return here is not None and same_generation(here, arch)


def default_target() -> str:
    """ "cuda" if this machine has a Blackwell GPU, else "sim"."""
    return "cuda" if has_gpu() else "sim"


def architecture(target: str) -> str:
    """The architecture of `target`, as in "sm_90a": of the simulated GPU, of the named target, or of this machine."""
    chosen = Target(target)
    if chosen.kind == "sim":
        return gpu_spec(chosen.detail or DEFAULT_GPU).arch
    return chosen.detail or device_arch() or DEFAULT_ARCH


def prepare_data(
    M: int,
    N: int,
    K: int,
    dtype: str = "float16",
    target: str | None = None,
    seed: int = 0,
    arrays: bool = False,
) -> tuple[Matrix, Matrix, Matrix]:
    """A (M, K) and B (N, K) with random normal numbers, and D (M, N) filled with NaN, which exposes missing writes.

    They are tensors, on the GPU if the target is "cuda", else in host memory; without PyTorch, those in host memory are
    NumPy arrays. arrays: whether they are arrays in any case.
    """
    kind = numpy_dtype(dtype)
    elements, largest = M * K + N * K + M * N, max(M * K, N * K, M * N)
    check_room(elements * kind.itemsize + 4 * largest, f"a product of {M}x{N}x{K}")
    rng = np.random.default_rng(seed)
    A, B = (rng.standard_normal(shape, dtype=np.float32).astype(kind) for shape in ((M, K), (N, K)))
    D = np.full((M, N), np.nan, kind)
    on_gpu = Target(target or default_target()).kind == "cuda"
    torch = pytorch_on_gpu('target="cuda"') if on_gpu else None if arrays else pytorch_or_none()
    if torch is None:
        return A, B, D
    tensors = (torch.from_numpy(array.astype(np.float32)).to(getattr(torch, dtype)) for array in (A, B, D))
    a, b, d = (tensor.cuda() if on_gpu else tensor for tensor in tensors)
    return a, b, d


@dataclass(frozen=True)
class Run:
    """A finished run of a kernel.

    ms: the time, measured on a GPU or predicted by the simulator.
    report: the report of the simulator; None on a GPU.
    sms: how many multiprocessors were modelled; None for all of them.
    watch, told: who hears of simulations and of finished runs, as in `compile_and_run`.
    """

    kernel: PrimFunc
    target: str
    ms: float | None = None
    report: tvm.Report | None = None
    sms: int | None = None
    watch: WatchShare | None = None
    told: Callable[[Run], None] | None = None

    def __str__(self) -> str:
        """The time, the throughput and the findings, as in "7.5 µs predicted on B200, 143 TFLOPS, no findings"."""
        M, N, K, _ = _shape(self)
        said: list[str] = []
        if self.ms:
            timing = None if self.report is None else self.report.timing
            tflops = (timing and timing.tflops) or 2 * M * N * K / (self.ms * 1e9)
            how = f"predicted on {self.report.gpu}" if self.report is not None else "measured"
            said += [f"{us_text(self.ms * 1000)} {how}", rate_text(tflops)]
        if self.report is not None:
            counts = Counter(map(_named, self.report.findings))
            found = [f"{number} {name}{'s' * (number > 1)}" for name, number in counts.items()]
            said.append(", ".join(found) or "no findings")
        return ", ".join(said) or "right"


def _named(finding: Finding) -> str:
    """As a report counts it: "warning", or "possible error"."""
    possible = finding.severity == "error" and not finding.happened
    return "possible error" if possible else finding.severity


class KernelWarning(UserWarning):
    """A finding that does not fail a kernel, at its line: today's chips forgive it, or `possible` says so."""


def compile_and_run(
    kernel: PrimFunc,
    A: Matrix,
    B: Matrix,
    D: Matrix,
    target: str | None = None,
    schedules: int = 1,
    seed: int = 0,
    possible: Literal["fail", "warn"] = "fail",
    sms: int | None = None,
    watch: WatchShare | None = None,
    told: Callable[[Run], None] | None = None,
    explain_s: float = 60.0,
) -> Run:
    """Run `kernel` once and write D. Raises `SimulationError` with the whole report if the simulator finds an error.

    schedules: the number of event orders that the simulator runs, starting at `seed`; not used on a GPU.
    possible: what to do where errors are possible in another order of events, and none happened in these runs.
    sms: how many multiprocessors of the GPU the simulator models; None for all of them.
    watch: called at the beginning of each simulation, with a function that gives the share of it that is done.
    told: called with the run; on a GPU by `check_timing`, which knows the time.
    explain_s: seconds that the simulator may take to explain a kernel that hangs or faults on a GPU.

    Each finding that does not fail the kernel is issued as a `KernelWarning` at its line.

    A kernel that does not finish on a GPU is stopped, and the simulator explains why. If the problem is too large to
    simulate, `KernelFailure` suggests a smaller one.
    """
    target = target or default_target()
    chosen = Target(target)
    if chosen.kind == "cuda":
        tvm.run(kernel, A, B, D, target=target, explain_s=explain_s)
        return Run(kernel, target, told=told)
    spec = gpu_spec(chosen.detail or DEFAULT_GPU).with_sms(sms)
    report = tvm.simulate(kernel, A, B, D, gpu=spec, schedules=schedules, seed=seed, watch=shares(kernel, watch))
    if report.comparable and not report.ok:
        report = replace(report, right=matches(A, B, D))
    if not report.ok and not (possible == "warn" and report.only_possible):
        raise tvm.SimulationError(report)
    for finding in report.findings:
        _warn(finding)
    run = Run(kernel, target, None if report.time_us is None else report.time_us / 1000, report, sms, watch)
    if told is not None:
        told(run)
    return run


def _warn(finding: Finding) -> None:
    """Issue a finding as a warning of the line that it names."""
    sentence = finding.message if finding.happened else f"{finding.message}; it goes wrong {finding.order}"
    text = f"{'possible error' if finding.severity == 'error' else finding.severity}[{finding.code}]: {sentence}"
    place = finding.span.user if finding.span is not None else None
    file, line = (place.file, place.line) if place is not None else (__file__, 1)
    warnings.warn_explicit(text, KernelWarning, file, line)


class WrongResult(AssertionError):
    """D is not A @ B.T. The message gives the extent, the place and the pattern of the error, in 80 columns.

    finding: the same as an object. report: of the simulator; None where there is none.
    """

    def __init__(self, finding: Finding, report: tvm.Report | None = None) -> None:
        self.finding, self.report = finding, report
        super().__init__(plain(finding_page(finding) if report is None else report_page(report, finding)).rstrip())


def verify(A: Matrix, B: Matrix, D: Matrix, run: Run | None = None) -> None:
    """Check D against torch.matmul on a GPU, else against NumPy's product of float32 values.

    Raises `WrongResult`, with lines of the kernel if `run` is given.
    """
    if matches(A, B, D):
        return
    if run is None:
        raise WrongResult(wrong_finding(A, B, D))
    raise WrongResult(wrong_finding(A, B, D, run.kernel, run.report), run.report)


def benchmark(
    kernel: PrimFunc,
    M: int,
    N: int,
    K: int,
    dtype: str = "float16",
    target: str | None = None,
    repeat: int = 30,
    sms: int | None = None,
    watch: WatchShare | None = None,
) -> tuple[float, float]:
    """(milliseconds, TFLOPS) of one launch: the mean of `repeat` launches in a CUDA graph, or the predicted time.

    sms, watch: as in `compile_and_run`.
    """
    target = target or default_target()
    if Target(target).kind == "cuda":
        exe = tvm.compile(tvm.IRModule({"main": kernel}), target=target)
        from tirx_mini.runtime import Executable

        assert isinstance(exe, Executable)
        ms = exe.time_guarded(*prepare_data(M, N, K, dtype, target), repeat=repeat)
    else:
        data = prepare_data(M, N, K, dtype, target, arrays=True)
        ms = _predicted(compile_and_run(kernel, *data, target=target, sms=sms, watch=watch))
    return ms, 2 * M * N * K / (ms * 1e9)


def _predicted(run: Run) -> float:
    if run.ms is None:
        raise ValueError("the simulator predicted no time for this kernel")
    return run.ms


class TooSlow(AssertionError):
    """The kernel takes much longer than the reference."""


def check_timing(
    run: Run, reference: PrimFunc | None, tolerance: float = TIME_TOLERANCE, step: int | None = None
) -> None:
    """Check that the kernel of `run` takes at most `tolerance` longer than a good kernel of its step.

    In the simulator, the bound is the predicted time of `reference`. On a GPU, it is the time for `step` and the shape
    in the table of this GPU (docs/h100.csv, docs/b200.csv), or the measured time of `reference` if that is longer,
    because the clock of this machine may be lower than that of the table. If neither is known, any time passes.

    reference: None if the kernel is itself the reference; only the table can bound it.

    Raises `TooSlow`.
    """
    simulated = Target(run.target).kind == "sim"
    good = _good_times(run, reference, None if simulated else step)
    if not good:
        return
    ms = _predicted(run) if simulated else benchmark(run.kernel, *_shape(run), run.target)[0]
    if run.told is not None:
        run.told(replace(run, ms=ms))
    bound = max(good.values()) * (1 + tolerance)
    if ms > bound:
        how = "predicted" if simulated else "measured"
        known = " and ".join(f"{what} {us_text(good_ms * 1000)}" for what, good_ms in good.items())
        raise TooSlow(
            f"the result is right, but the kernel takes {us_text(ms * 1000)} where {known} "
            f"({how}); at most {tolerance:.0%} more is allowed, that is {us_text(bound * 1000)}"
            + (_bound_of(run) if simulated else "")
        )


def _bound_of(run: Run) -> str:
    """A line that says what bounds a simulated kernel; "" where its timeline is too large to record."""
    if math.prod(_shape(run)[:3]) > LARGEST_TRACED**3:
        return ""
    spec = gpu_spec(Target(run.target).detail or DEFAULT_GPU).with_sms(run.sms)
    found = tvm.simulate(run.kernel, gpu=spec, data=False, trace=True).bound
    return f"\nIt is {found}" if found is not None else ""


def _good_times(run: Run, reference: PrimFunc | None, step: int | None) -> dict[str, float]:
    """The known times for the problem of `run` in milliseconds, by their source."""
    M, N, K, dtype = _shape(run)
    good: dict[str, float] = {}
    if reference is not None:
        good["the reference takes"], _ = benchmark(reference, M, N, K, dtype, run.target, sms=run.sms, watch=run.watch)
    if step is None:
        return good
    torch = pytorch('target="cuda"')
    if (table := measured_times(torch.cuda.get_device_name())) is not None:
        measured = table.ms(step, (M, N, K), dtype)
        if measured is not None:
            good[f"{table.source} has"] = measured
    return good


def _shape(run: Run) -> tuple[int, int, int, str]:
    """M, N, K and the dtype of the kernel."""
    (M, K), (N, _) = (matrix.shape for matrix in run.kernel.params[:2] if isinstance(matrix, Buffer))
    return M, N, K, str(run.kernel.params[0].dtype)
