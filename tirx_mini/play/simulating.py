"""The process that simulates: it loads IR, in which nobody's Python is left, and tells events as JSON types.

It is a child of `tirx_mini.worker`: a fresh process, which has imported the simulator before the first run.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import field
from math import prod
from typing import Any

import psutil

from tirx_mini.course import (
    STEPS,
    Checked,
    Filled,
    KernelFileError,
    Shape,
    check_kernel,
    load_kernels,
    make_arguments,
    outcome_of,
    shape_text,
    stage_items,
)
from tirx_mini.hardware import DEFAULT_GPU, GpuSpec, gpu_spec
from tirx_mini.ir import PrimFunc, TirxError
from tirx_mini.records import dataclass, replace
from tirx_mini.report import product_shape
from tirx_mini.resources import resource
from tirx_mini.sandbox import remember_lines
from tirx_mini.saved import SavedKernelError, load_json
from tirx_mini.worker import Worker

from .course_runs import DrillFix, fix_event, sealed
from .events import bound_event, failed_event, timeline_event, verdict_event
from .filling import stages_withheld
from .findings import Data
from .product import product_event
from .spares import Held, Spares

SIMULATE_S = 60.0
MEMORY_MB = 8192
"""The address space of the process, in MiB, on a machine with that much memory."""
PERIOD_S = 0.2
RUNS = frozenset({"findings", "timeline", "bound", "product"})
STAGES = ("tir", "passes", "cuda", "ptx", "sass")
_QUICK = 1024**3
"""The largest product, as M · N · K, that is run once; a larger one has its verdict before it runs for the timeline."""
_LONG_S = 5.0
"""The seconds after which a process is not kept, because its memory has grown."""
_SPARES = 2

Tell = Callable[[Data], None]


@dataclass(frozen=True)
class Task:
    """A kernel to simulate.

    ir: as a sandbox has answered it, with the names of `files` for pages. file: that of the text.
    want: the events, of `RUNS` and `STAGES`. sealed: whether findings are told step by step. fix: of a drill.
    filled: the open TODOs for which the reference's code stands. modules: texts beside the file's, by file.
    """

    ir: str
    files: Mapping[str, str]
    file: str
    text: str
    kernel: str
    gpu: str
    sms: int | None
    want: frozenset[str]
    sealed: bool = False
    fix: DrillFix | None = None
    filled: Filled | None = None
    modules: Mapping[str, str] = field(default_factory=dict)
    memory_mb: int = MEMORY_MB


class Simulators:
    """Processes that simulate; spare ones have imported all they need."""

    def __init__(self) -> None:
        self._spares: Spares[Worker] = Spares(_warmed, _SPARES)

    def start(self) -> None:
        """Start the spare processes that are missing."""
        self._spares.start()

    def close(self) -> None:
        self._spares.close()

    def take(self) -> Worker:
        return self._spares.take()

    def give_back(self, worker: Worker) -> None:
        self._spares.give_back(worker)


class Simulation:
    """The simulation of one kernel, which another thread may cancel."""

    def __init__(self, simulators: Simulators) -> None:
        self._simulators = simulators
        self._held: Held[Worker] = Held()

    def run(self, task: Task, tell: Tell, limit_s: float = SIMULATE_S) -> None:
        """Tell the events of a run. Raises `TimeoutError`, `ProcessEnded`, or an error of the process."""
        worker = self._simulators.take()
        if not self._held.hold(worker):
            worker.close()
        begun = time.monotonic()
        kept = False
        try:
            worker.call(simulated, task, limit_s, tell)
            kept = time.monotonic() - begun < _LONG_S
        finally:
            if self._held.release() and kept:
                self._simulators.give_back(worker)
            else:
                worker.close()

    def cancel(self) -> None:
        """End the process, even during the run."""
        self._held.cancel()


def _warmed() -> Worker:
    worker = Worker()
    worker.call(warm_up, None, SIMULATE_S)
    return worker


# -- in the process ----------------------------------------------------------------------------------------------------


def warm_up(_: None) -> Generator[None, None, None]:
    """Check the reference of step 1, since the first run of a process takes longer than the others."""
    yield
    with contextlib.suppress(KernelFileError):  # where there are no references
        spec = gpu_spec(DEFAULT_GPU)
        kernel = load_kernels(resource("kernels_ref"))[1](*STEPS[1].shapes[0])
        timeline_event(check_kernel(kernel, gpu=spec, trace=True).report, spec, "")


def simulated(task: Task) -> Generator[Any, None, None]:
    """Simulate a kernel, and yield its events, with the progress a few times a second."""
    _limit_memory(task.memory_mb)
    for file, text in {**task.modules, task.file: task.text}.items():
        remember_lines(file, text)
    yield None
    begun = time.monotonic()
    events: queue.SimpleQueue[Data | BaseException | None] = queue.SimpleQueue()
    run = _Run(task, events.put)
    threading.Thread(target=run.work, args=(events.put,), daemon=True).start()
    while True:
        try:
            event = events.get(timeout=PERIOD_S)
        except queue.Empty:
            event = run.progress(time.monotonic() - begun)
        if event is None:
            return
        if isinstance(event, BaseException):
            raise event
        yield event


def _limit_memory(memory_mb: int) -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):  # Windows; a limit that is lower already
        import resource

        most = min(memory_mb << 20, psutil.virtual_memory().total)
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))


class _Run:
    def __init__(self, task: Task, tell: Tell) -> None:
        self._task, self._tell = task, tell
        self._share: Callable[[], float] | None = None
        self._doing = "preparing the simulation"

    def progress(self, seconds: float) -> Data:
        share = None if self._share is None else min(1.0, self._share())
        return {"event": "progress", "fraction": share, "seconds": seconds, "text": self._doing}

    def work(self, put: Callable[[Data | BaseException | None], None]) -> None:
        try:
            self._work()
        except MemoryError:
            put(failed_event("simulate", f"the simulation needs more than {self._task.memory_mb} MiB", kind="memory"))
        except SavedKernelError as error:
            put(failed_event("build", f"the process of the text answered what is no kernel: {error}", kind="not IR"))
        except BaseException as error:
            put(error)
        put(None)

    def _work(self) -> None:
        task = self._task
        kernel = load_json(task.ir, task.files)
        if task.want & RUNS:
            self._simulate(kernel)
        for stage in STAGES:
            if stage in task.want:
                self._doing = f"making the stage {stage}"
                self._tell({"event": "stage", "stage": stage, **self._stage(kernel, stage)})

    def _stage(self, kernel: PrimFunc, stage: str) -> Data:
        task = self._task
        if task.filled is not None:
            return {"missing": stages_withheld(task.filled)}
        return stage_items(kernel, stage, gpu_spec(task.gpu).arch, task.file)

    def _simulate(self, kernel: PrimFunc) -> None:
        task = self._task
        spec = gpu_spec(task.gpu).with_sms(task.sms)
        shape = product_shape(kernel)
        quick = shape is None or prod(shape) <= _QUICK
        traced = bool(task.want & {"timeline", "bound"}) or task.sealed or task.fix is not None
        begun = time.monotonic()
        try:
            arguments = make_arguments(kernel)
            checked = self._check(kernel, spec, arguments, quick and traced)
        except (TirxError, ValueError) as error:
            self._tell(failed_event("simulate", str(error).partition("\n")[0], kind="refused"))
            return
        seconds = time.monotonic() - begun
        if task.sealed:
            self._tell_sealed(checked, kernel, arguments, verdict_event(checked, task.file, seconds))
        else:
            self._tell(verdict_event(checked, task.file, seconds))
        product = product_event(kernel, arguments) if "product" in task.want and not task.sealed else None
        if product is not None:
            self._tell(product)
        if traced and not quick and checked.report.trace is None:
            self._doing = "recording the timeline"
            checked = self._check(kernel, spec, make_arguments(kernel), True)
        self._tell_time(checked, spec, shape)

    def _tell_sealed(self, checked: Checked, kernel: PrimFunc, arguments: list[Any], verdict: Data) -> None:
        """Tell what a GPU shows, and what judges the repair of a drill."""
        task, found = self._task, outcome_of(checked, kernel, arguments)
        product = product_event(kernel, arguments)
        self._tell(sealed(found, product, verdict, task.file))
        if product is not None and "product" in task.want:
            self._tell(product)
        if task.fix is not None:
            self._tell(fix_event(task.fix, found))

    def _check(self, kernel: PrimFunc, spec: GpuSpec, arguments: list[Any], trace: bool) -> Checked:
        checked = check_kernel(
            kernel, name=self._task.kernel, gpu=spec, trace=trace, watch=self._watch, arguments=arguments
        )
        return replace(checked, filled=self._task.filled).told()

    def _watch(self, share: Callable[[], float]) -> None:
        self._share = share
        if self._doing.startswith("preparing"):
            self._doing = "simulating"

    def _tell_time(self, checked: Checked, spec: GpuSpec, shape: Shape | None) -> None:
        report, want = checked.report, self._task.want
        if self._task.sealed and not checked.ok:  # a timeline as a profiler's: without the reasons
            report = replace(report, findings=(), bound=None)
        bound = bound_event(report) if "bound" in want else None
        if bound is not None:
            self._tell(bound)
        size = "" if shape is None else shape_text(shape)
        timeline = timeline_event(report, spec, size) if "timeline" in want else None
        if timeline is not None:
            self._tell(timeline)
