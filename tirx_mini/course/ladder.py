"""The ladder: the kernel of each step at its sizes, simulated and compared with a float64 product."""

from __future__ import annotations

import inspect
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

import ml_dtypes
import numpy as np
import numpy.typing as npt

from tirx_mini.diagnose import BUDGET, Report
from tirx_mini.driver import simulate
from tirx_mini.files import write_whole
from tirx_mini.hardware import DEFAULT_GPU, GpuSpec, gpu_spec
from tirx_mini.ir import PrimFunc, TirxError
from tirx_mini.pool import Lost, run_bounded
from tirx_mini.records import dataclass, replace
from tirx_mini.report import exact_product, product_error

from .check import LARGEST_TRACED
from .constants import Constant, ConstantError
from .kernel_ref import KernelRef
from .kernels import KernelFileError, arch_folder, default_kernels, load_kernels
from .steps import CLOCK_SIZES, STEPS, Shape, shape_text
from .trace import Traced, timeline_form
from .what_if import Assignment, Change, Figures, changes_of

DTYPES: Mapping[str, np.dtype] = MappingProxyType({
    "float16": np.dtype(np.float16), "bfloat16": np.dtype(ml_dtypes.bfloat16),
})  # fmt: skip
"""The element types of the steps."""


@dataclass(frozen=True)
class Task:
    """One row to compute.

    kernels: the file or folder that defines the step's kernel.
    gpu: the modelled GPU.
    schedules: the number of orders of events to try.
    seed: of the data, and of the first schedule.
    sms: the number of modelled multiprocessors of the GPU; None for all of them.
    budget: as in `simulate`.
    why: whether to find out what bounds the kernel.
    constants: other values for constants of the kernel's file, by name.
    timeline: the file to write the run's timeline to, whose suffix is a key of `FORMS`; None for none.
    data: whether values are computed and the product is checked; else the time alone is predicted.
    sampled: whether that time may be worked out from parts of the launch, as in `simulate`.
    """

    kernels: Path
    step: int
    shape: Shape
    gpu: str = DEFAULT_GPU
    dtype: str = "float16"
    schedules: int = 1
    seed: int = 0
    sms: int | None = None
    budget: int = BUDGET
    why: bool = False
    constants: tuple[tuple[str, Constant], ...] = ()
    timeline: Path | None = None
    data: bool = True
    sampled: bool = True

    @property
    def spec(self) -> GpuSpec:
        """The modelled GPU."""
        return gpu_spec(self.gpu).with_sms(self.sms)

    @property
    def problem(self) -> tuple[Shape, str, int]:
        """The parameters of the data: the shape, the dtype and the seed."""
        return self.shape, self.dtype, self.seed

    @property
    def flops(self) -> int:
        """The number of floating-point operations of the product."""
        m, n, k = self.shape
        return 2 * m * n * k

    @property
    def effort(self) -> float:
        """The approximate relative duration of the task."""
        return self.flops if self.data else self.flops * _CLOCK_SHARE


_CLOCK_SHARE = 0.02
"""The approximate duration of a task without data, as a share of the same with data."""
_KEPT = 2048 * 2048
"""The elements of the largest exact product that is kept for the next step, to limit memory."""


@dataclass(frozen=True)
class Row:
    """The outcome of one task.

    verdict: the simulator's; "clock" for a time without values; "wrong" if the result is and no other error happened,
        "refused" if the kernel does not accept the shape, "error" if the file defines no kernel.
    findings: the number of findings, including warnings.
    codes: the distinct codes of the findings, the worst first.
    max_abs_error: of the result, against float64.
    rounding_error: the same for a correctly rounded result.
    time_us: microseconds, as the simulator's clock predicts them.
    tflops: TFLOPS at that time.
    peak_share: these as a share of the GPU's peak.
    wall_s: seconds to build and simulate the kernel.
    detail: the page about what is wrong; empty if nothing is.
    bound, why: the largest term of the time, and the sentence that begins with it; empty if not requested.
    smem_bytes: shared memory of a CTA.
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
    bound: str = ""
    why: str = ""
    smem_bytes: int | None = None
    codes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Return whether no error is known: the product is right, or only the time was predicted."""
        return self.verdict in ("ok", "clock")


def ladder_tasks(
    kernels: Path | None = None,
    *,
    steps: Sequence[int] | None = None,
    size: int | None = None,
    large: bool = False,
    full: bool = False,
    gpu: str = DEFAULT_GPU,
    dtype: str = "float16",
    schedules: int = 1,
    seed: int = 0,
    sms: int | None = None,
    budget: int = BUDGET,
) -> list[Task]:
    """Return the rows of a table, in its order.

    kernels: a file or folder; by default the references. steps: by default all defined ones. size: one size for
    each step instead of its own. large: also the sizes that the clock alone predicts, without data. full: these, and
    the step's large shapes with their data. sms, budget: as in `Task`. Raises `KernelFileError` if
    there are no kernels, `TirxError` for a mistake in their file, `ValueError` for an unknown GPU.
    """
    kernels = kernels or default_kernels()
    present = load_kernels(kernels, arch_folder(gpu_spec(gpu).with_sms(sms).arch))
    tasks: list[Task] = []
    for step in (STEPS[number] for number in steps or [number for number in present if number in STEPS]):
        checked = step.all_shapes(full)
        further = step.clock_shapes() if large or full else ()
        shapes = (step.shape(size),) if size else tuple(dict.fromkeys((*checked, *further)))
        for shape in shapes:
            data = shape in checked or (full and bool(size)) or max(shape) < min(CLOCK_SIZES)
            tasks.append(Task(kernels, step.number, shape, gpu, dtype, schedules, seed, sms, budget, data=data))
    return tasks


def with_timelines(tasks: Sequence[Task], folder: Path, suffix: str = ".html") -> list[Task]:
    """Return the tasks with files in `folder` for their timelines: "step07.html", with a shape if there are several.

    A problem larger than `LARGEST_TRACED` has no file, because its timeline is too large for a page.
    """
    rows = Counter(task.step for task in tasks)
    found: list[Task] = []
    for task in tasks:
        shape = "" if rows[task.step] == 1 else f"_{'x'.join(map(str, task.shape))}"
        small = task.flops <= 2 * LARGEST_TRACED**3
        found.append(replace(task, timeline=folder / f"step{task.step:02}{shape}{suffix}" if small else None))
    return found


def what_if_tasks(tasks: Sequence[Task], assignments: Sequence[Assignment]) -> list[tuple[int, Change, Task]]:
    """Return (task index, change, changed task) for the tasks whose kernels read the constants of `assignments`.

    Raises `ConstantError` if none does, or for a value that a constant cannot take.
    """
    found: list[tuple[int, Change, Task]] = []
    problem: ConstantError | None = None
    for index, task in enumerate(tasks):
        factory = load_kernels(task.kernels, arch_folder(task.spec.arch)).get(task.step)
        if factory is None:
            continue
        ref = KernelRef(Path(inspect.unwrap(factory).__code__.co_filename), f"hgemm_v{task.step}")
        for assignment in assignments:
            try:
                (change,) = changes_of(ref, [assignment])
            except ConstantError as error:
                problem = error
                continue
            found.append((index, change, replace(task, constants=tuple(change.then.items()))))
    if problem is not None and not found:
        raise problem
    return found


def figures_of_row(row: Row) -> Figures:
    """Return the figures of a row, for the comparison with a changed kernel."""
    problem = "" if row.ok else next((line for line in row.detail.splitlines() if line), "")
    return Figures(row.verdict, problem, row.time_us, row.bound, row.smem_bytes)


def run_tasks(tasks: Sequence[Task], jobs: int = 1) -> Iterator[tuple[int, Row]]:
    """Yield (task index, row) on completion, with `jobs` tasks at a time, the largest first."""
    order = sorted(range(len(tasks)), key=lambda index: -tasks[index].effort)
    if jobs <= 1 or len(tasks) == 1:
        yield from ((index, run_task(tasks[index], jobs)) for index in order)
        return
    for place, done in run_bounded(_done, [tasks[index] for index in order], jobs=jobs):
        task = tasks[order[place]]
        yield order[place], _ended(task) if isinstance(done, Lost) else _written(task, *done)


def _ended(task: Task) -> Row:
    """Return the row of a task whose process did not finish."""
    detail = "the system ended the process of this row, most likely for its memory: try --jobs 1, or a smaller --size"
    return Row(task.step, task.shape, "error", detail=detail)


def run_task(task: Task, jobs: int = 1) -> Row:
    """Build the kernel, simulate it and judge the result; a mistake of the kernel is reported in the row.

    jobs: the maximum number of processes for partial runs. Raises `OutputError` if the timeline cannot be written.
    """
    return _written(task, *_done(task, jobs))


def _written(task: Task, row: Row, timeline: str) -> Row:
    """Write the timeline in this process, since a child may be ended while writing, and return the row."""
    if task.timeline is not None:
        task.timeline.unlink(missing_ok=True)  # an old one would look like this row's
        if timeline:
            write_whole(task.timeline, timeline)
    return row


def _done(task: Task, jobs: int = 1) -> tuple[Row, str]:
    """Return the row, and the text of its timeline or ""."""
    start = time.perf_counter()
    try:
        kernel = _build(task)
    except (TirxError, KernelFileError, ValueError) as error:
        verdict = "fault" if isinstance(error, TirxError) else "refused" if isinstance(error, ValueError) else "error"
        wall = time.perf_counter() - start
        codes = (error.diagnostic.code,) if isinstance(error, TirxError) else ()
        return Row(task.step, task.shape, verdict, len(codes), wall_s=wall, detail=str(error), codes=codes), ""
    if not task.data:
        report = simulate(kernel, gpu=task.spec, budget=task.budget, data=False, sampled=task.sampled, jobs=jobs)
        return _predicted(task, report, time.perf_counter() - start), ""
    a, b, d = _data(*task.problem)
    report = simulate(kernel, a, b, d, gpu=task.spec, schedules=task.schedules, seed=task.seed, budget=task.budget,
                      trace=task.why or task.timeline is not None)  # fmt: skip
    wall, timeline = time.perf_counter() - start, ""
    if task.timeline is not None and report.trace is not None:
        traced = Traced(replace(report, kernel=f"hgemm_v{task.step}"), task.spec, shape_text(task.shape))
        timeline = timeline_form(traced, task.timeline.suffix)
    return _judge(task, report, a, b, d, wall), timeline


def _predicted(task: Task, report: Report, wall: float) -> Row:
    """Return the row of a run without data."""
    detail = str(report) if report.findings else ""
    row = Row(
        task.step, task.shape, report.verdict, len(report.findings), wall_s=wall, detail=detail, codes=_codes(report)
    )
    return _timed(task, row, report)


def _codes(report: Report) -> tuple[str, ...]:
    return tuple(dict.fromkeys(finding.code for finding in report.findings))


def _timed(task: Task, row: Row, report: Report) -> Row:
    """Return the row with the predicted time and rate; without executed MMAs, the rate is the product's."""
    time_us = report.time_us
    if time_us is None:
        return row
    tflops = report.tflops or task.flops / (time_us * 1e6)
    return replace(row, time_us=time_us, tflops=tflops, peak_share=tflops / task.spec.peak_tflops)


def _build(task: Task) -> PrimFunc:
    kernels = load_kernels(task.kernels, arch_folder(task.spec.arch), sms=task.sms, constants=dict(task.constants))
    if task.step not in kernels:
        raise KernelFileError(f"{task.kernels} defines no hgemm_v{task.step}")
    return kernels[task.step](*task.shape, dtype=task.dtype)


def _data(shape: Shape, dtype: str, seed: int) -> tuple[npt.NDArray, npt.NDArray, npt.NDArray]:
    """Return A (M, K) and B (N, K) with random normal numbers, and D (M, N) full of NaN."""
    m, n, k = shape
    kind = DTYPES[dtype]
    rng = np.random.default_rng(seed)
    a, b = (rng.standard_normal(shape, dtype=np.float32).astype(kind) for shape in ((m, k), (n, k)))
    return a, b, np.full((m, n), np.nan, dtype=kind)


@lru_cache(maxsize=1)
def _exact(shape: Shape, dtype: str, seed: int) -> npt.NDArray[np.float64]:
    """Return the exact product of the data, cached for consecutive tasks that differ only in the step."""
    a, b, _ = _data(shape, dtype, seed)
    return exact_product(a, b)


def _judge(task: Task, report: Report, a: npt.NDArray, b: npt.NDArray, d: npt.NDArray, wall: float) -> Row:
    verdict, error, rounding = report.verdict, None, None
    detail = str(report) if report.findings else ""
    if report.comparable:
        exact = _exact(*task.problem) if d.size <= _KEPT else None
        product = product_error(a, b, d, exact)
        error, rounding = product.largest, product.rounding
        if report.findings:
            detail = str(replace(report, right=product.ok))
        if not product.ok and verdict != "incomplete":
            verdict = "wrong"
            wrong = f"D differs from A @ B.T by up to {error:.3g}; rounding explains {product.allowed:.3g}"
            detail = f"{wrong}\n\n{detail}" if detail else wrong
    bound = None if report.errors else report.bound
    row = Row(
        step=task.step,
        shape=task.shape,
        verdict=verdict,
        findings=len(report.findings),
        max_abs_error=error,
        rounding_error=rounding,
        wall_s=wall,
        detail=detail,
        bound=bound.name if bound is not None else "",
        why=f"{bound.name}{bound.rest}" if bound is not None else "",
        smem_bytes=report.stats.get("smem_bytes"),
        codes=_codes(report),
    )
    return _timed(task, row, report)
