"""One row of the ladder: a step's kernel at one size, simulated and compared with a float64 reference."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ..diagnose import Report
from ..driver import simulate
from ..hardware import DEFAULT_GPU, gpu_spec
from ..ir import PrimFunc, TirxError
from ..report import product_error
from .kernels import KernelFileError, arch_folder, load_kernels
from .steps import Shape

DTYPES = {"float16": np.dtype(np.float16), "bfloat16": np.dtype(ml_dtypes.bfloat16)}


@dataclass(frozen=True)
class Task:
    """What one row takes: the kernels' file or folder, the step, the shape, the modelled GPU and its schedules."""

    kernels: Path
    step: int
    shape: Shape
    gpu: str = DEFAULT_GPU
    dtype: str = "float16"
    schedules: int = 1
    seed: int = 0

    @property
    def flops(self) -> int:
        m, n, k = self.shape
        return 2 * m * n * k


@dataclass(frozen=True)
class Row:
    """The outcome of one task.

    verdict: the simulator's, "wrong" where it is "ok" and the result is not, "refused" where the kernel does not take
        the shape, "error" where there is no kernel. findings: how many, warnings included. detail: the page about it.
    max_abs_error: against float64, with that of a correctly rounded result in `rounding_error`. time_us, tflops,
        peak_share: predicted by the simulator's clock. wall_s: what this took, parsing and lowering included.
    """

    step: int
    shape: Shape
    verdict: str
    findings: int = 0
    max_abs_error: float | None = None
    rounding_error: float | None = None
    time_us: float | None = None
    tflops: float | None = None
    peak_share: float | None = None
    wall_s: float = 0.0
    detail: str = ""

    @property
    def ok(self) -> bool:
        return self.verdict == "ok"


def run_task(task: Task) -> Row:
    """Build the kernel, simulate it and judge the result. Never raises for what the kernel did wrong."""
    start = time.perf_counter()
    try:
        kernel = _build(task)
    except (TirxError, KernelFileError, ValueError) as error:
        verdict = "fault" if isinstance(error, TirxError) else "refused" if isinstance(error, ValueError) else "error"
        wall = time.perf_counter() - start
        return Row(task.step, task.shape, verdict, int(verdict == "fault"), wall_s=wall, detail=str(error))
    a, b, d = _data(task)
    report = simulate(kernel, a, b, d, gpu=task.gpu, schedules=task.schedules, seed=task.seed)
    wall = time.perf_counter() - start
    return _judge(task, report, a, b, d, wall)


def _build(task: Task) -> PrimFunc:
    kernels = load_kernels(task.kernels, arch_folder(gpu_spec(task.gpu).arch))
    if task.step not in kernels:
        raise KernelFileError(f"{task.kernels} defines no hgemm_v{task.step}")
    return kernels[task.step](*task.shape, dtype=task.dtype)


def _data(task: Task) -> tuple[npt.NDArray, npt.NDArray, npt.NDArray]:
    """A (M, K), B (N, K) of random normal numbers, and D (M, N) full of NaN."""
    m, n, k = task.shape
    kind = DTYPES[task.dtype]
    rng = np.random.default_rng(task.seed)
    a, b = (rng.standard_normal(shape, dtype=np.float32).astype(kind) for shape in ((m, k), (n, k)))
    return a, b, np.full((m, n), np.nan, dtype=kind)


def _judge(task: Task, report: Report, a: npt.NDArray, b: npt.NDArray, d: npt.NDArray, wall: float) -> Row:
    verdict, error, rounding = report.verdict, None, None
    detail = str(report) if report.findings else ""
    if verdict == "ok":
        product = product_error(a, b, d)
        error, rounding = product.largest, product.rounding
        if not product.ok:
            verdict = "wrong"
            detail = f"D differs from A @ B.T by up to {error:.3g}; rounding explains {product.allowed:.3g}"
    tflops = None if report.time_us is None else task.flops / (report.time_us * 1e6)
    peak = gpu_spec(task.gpu).peak_tflops
    return Row(
        step=task.step,
        shape=task.shape,
        verdict=verdict,
        findings=len(report.findings),
        max_abs_error=error,
        rounding_error=rounding,
        time_us=report.time_us,
        tflops=tflops,
        peak_share=None if tflops is None else tflops / peak,
        wall_s=wall,
        detail=detail,
    )
