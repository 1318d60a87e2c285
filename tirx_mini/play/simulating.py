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
from enum import Enum
from typing import Any, Protocol

import numpy as np
import psutil

from tirx_mini.course import (
    STEPS,
    Checked,
    Filled,
    KernelFileError,
    WatchShare,
    check_kernel,
    load_kernels,
    outcome_of,
    shape_text,
    shares,
    stage_items,
)
from tirx_mini.diagnose import Report
from tirx_mini.driver import processes, simulate
from tirx_mini.hardware import DEFAULT_GPU, GpuSpec, gpu_spec
from tirx_mini.ir import PrimFunc, TirxError
from tirx_mini.records import dataclass, replace
from tirx_mini.report import product_shape
from tirx_mini.resources import resource
from tirx_mini.sandbox import remember_lines
from tirx_mini.saved import SavedKernelError, load_json
from tirx_mini.worker import ProcessEnded, Worker

from .course_runs import DrillFix, fix_event, sealed
from .events import bound_event, failed_event, timeline_event, verdict_event
from .filling import stages_withheld
from .findings import Data
from .inputs import inputs
from .product import product_event
from .spares import Held, Spares

SIMULATE_S = 60.0
MEMORY_MB = 8192
"""The address space of the process, in MiB, on a machine with that much memory."""
PERIOD_S = 0.2
RUNS = frozenset({"findings", "timeline", "bound", "product"})
STAGES = ("tir", "passes", "cuda", "ptx", "sass")
_LONG_S = 5.0
"""The seconds after which a process is not kept, because its memory has grown."""
_SPARES = 3
CLOCK = "clock"
"""The event of a child with the cycles of an execution without data; None if it has no end."""

Tell = Callable[[Data], None]
Work = Callable[[Any], Generator[object, None, None]]
Put = Callable[["Data | BaseException | None"], None]


class Part(Enum):
    """What a process does of a run.

    VERDICT: a check without the timeline, which cheap plans answer. TIME: the timeline and the bound of an execution
    without data, whose times are the same, after the event `CLOCK`. TRACED: the timeline and the bound of a check.
    BOTH: one check for the verdict, the timeline and the bound.
    """

    VERDICT = "verdict"
    TIME = "time"
    TRACED = "traced"
    BOTH = "both"


@dataclass(frozen=True)
class Task:
    """A kernel to simulate.

    ir: as a sandbox has answered it, with the names of `files` for pages. file: that of the text.
    want: the events, of `RUNS` and `STAGES`. sealed: whether findings are told step by step. fix: of a drill.
    part: of the run. filled: the open TODOs for which the reference's code stands. modules: the texts of other files.
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
    part: Part = Part.BOTH
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

    def run(self, task: object, tell: Tell, limit_s: float = SIMULATE_S, work: Work | None = None) -> None:
        """Tell the events of a run. Raises `TimeoutError`, `ProcessEnded`, or an error of the process.

        work: what the process does for the task; `simulated` for a `Task`.
        """
        worker = self._simulators.take()
        if not self._held.hold(worker):
            self._simulators.give_back(worker)
            raise ProcessEnded(None)
        begun = time.monotonic()
        kept = False
        try:
            worker.call(work or simulated, task, limit_s, tell)
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
        check_kernel(kernel, gpu=spec, trace=False)
        timeline_event(clocked(kernel, spec), spec, "")


def clocked(kernel: PrimFunc, spec: GpuSpec, watch: WatchShare | None = None) -> Report:
    """Return the report of an execution without data, with the timeline and the time of a single launch."""
    return simulate(
        kernel, gpu=spec, data=False, checks=False, trace=True, single=True, watch=shares(kernel, watch)
    )


def simulated(task: Task) -> Generator[object, None, None]:
    """Simulate a kernel, and yield its events, with the progress a few times a second."""
    limit_memory(task.memory_mb)
    for file, text in {**task.modules, task.file: task.text}.items():
        remember_lines(file, text)
    yield None
    yield from told_by(_Run(task))


class Telling(Protocol):
    """The work of a process, whose progress can be asked for meanwhile."""

    def work(self, put: Put) -> None:
        """Do it, and tell events; then an error, if there is one, and None."""
        ...

    def progress(self, seconds: float) -> Data:
        """Return the event on what is being done."""
        ...


def told_by(run: Telling) -> Generator[Data, None, None]:
    """Do some work in a thread, and yield its events, with the progress a few times a second."""
    begun = time.monotonic()
    events: queue.SimpleQueue[Data | BaseException | None] = queue.SimpleQueue()
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


def limit_memory(memory_mb: int) -> None:
    """Limit the address space of this process."""
    with contextlib.suppress(ImportError, OSError, ValueError):  # Windows; a limit that is lower already
        import resource

        most = min(memory_mb << 20, psutil.virtual_memory().total)
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))


class _Run:
    def __init__(self, task: Task) -> None:
        self._task = task
        self._tell: Tell = lambda _: None
        self._share: Callable[[], float] | None = None
        self._doing = "preparing the simulation"

    def progress(self, seconds: float) -> Data:
        share = None if self._share is None else min(1.0, self._share())
        return {"event": "progress", "fraction": share, "seconds": seconds, "text": self._doing}

    def work(self, put: Put) -> None:
        self._tell = put
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
        spec, part = gpu_spec(task.gpu).with_sms(task.sms), task.part
        begun = time.monotonic()
        try:
            if part is Part.TIME:
                checked = self._named(Checked(clocked(kernel, spec, self._watch)))
                self._tell({"event": CLOCK, "cycles": checked.report.cycles})
                if checked.report.cycles is not None:
                    self._tell_time(checked, spec, kernel)
                return
            arguments = inputs().arguments(kernel)
            checked = self._named(check_kernel(
                kernel, gpu=spec, trace=part is not Part.VERDICT, single=part is not Part.VERDICT,
                jobs=processes(spared=1) if part is Part.VERDICT else None, watch=self._watch, arguments=arguments,
                product=inputs().product,
            ))  # fmt: skip
        except (TirxError, ValueError) as error:
            self._tell(failed_event("simulate", str(error).partition("\n")[0], kind="refused"))
            return
        if part is not Part.TRACED:
            self._tell_verdict(checked, kernel, arguments, time.monotonic() - begun)
        if part is not Part.VERDICT:
            self._tell_time(checked, spec, kernel)

    def _tell_verdict(self, checked: Checked, kernel: PrimFunc, arguments: list[np.ndarray], seconds: float) -> None:
        task = self._task
        verdict = verdict_event(checked, task.file, seconds)
        if task.sealed:
            return self._tell_sealed(checked, kernel, arguments, verdict)
        self._tell(verdict)
        product = product_event(kernel, arguments, inputs().product) if "product" in task.want else None
        if product is not None:
            self._tell(product)

    def _tell_sealed(self, checked: Checked, kernel: PrimFunc, arguments: list[np.ndarray], verdict: Data) -> None:
        """Tell what a GPU shows, and what judges the repair of a drill."""
        task, found = self._task, outcome_of(checked, kernel, arguments)
        product = product_event(kernel, arguments, inputs().product)
        self._tell(sealed(found, product, verdict, task.file))
        if product is not None and "product" in task.want:
            self._tell(product)
        if task.fix is not None:
            self._tell(fix_event(task.fix, found))

    def _named(self, checked: Checked) -> Checked:
        """Return the outcome with the names of the text, and of its open TODOs."""
        report = checked.report.named(self._task.kernel)
        return replace(checked, report=report, filled=self._task.filled).told()

    def _watch(self, share: Callable[[], float]) -> None:
        self._share = share
        if self._doing.startswith("preparing"):
            self._doing = "simulating"

    def _tell_time(self, checked: Checked, spec: GpuSpec, kernel: PrimFunc) -> None:
        report, want = checked.report, self._task.want
        self._doing = "drawing the timeline"
        if self._task.sealed and not checked.ok:  # a timeline as a profiler's: without the reasons
            report = replace(report, findings=(), bound=None)
        bound = bound_event(report) if "bound" in want else None
        if bound is not None:
            self._tell(bound)
        shape = product_shape(kernel)
        size = "" if shape is None else shape_text(shape)
        timeline = timeline_event(report, spec, size) if "timeline" in want else None
        if timeline is not None:
            self._tell(timeline)
