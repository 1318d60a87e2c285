"""Runs: a text is built and simulated in two processes, and its events are told as they come."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tirx_mini.course import Filled, LaunchText
from tirx_mini.records import dataclass, replace
from tirx_mini.worker import ProcessEnded

from .asked import RunRequest
from .beside import Beside
from .building import BUILD_S, Build, Builders, Built, Job, NotBuilt
from .course_runs import SEALED, DrillFix
from .events import failed_event
from .filling import codes_of, filled_in, told, without_code
from .findings import Data, syntax_data
from .kernels import NO_PYTHON, constants_in
from .launching import LaunchTask, launched
from .modules import Modules
from .simulating import SIMULATE_S, Part, Simulation, Simulators, Task
from .spares import SparesClosed

MOST_RUNS = 2
"""The maximum number of runs at the same time; a further one ends the oldest."""
_KEPT = 8
"""The number of runs whose events are kept, for pages and for what course mode reveals."""

_TIMED = frozenset({"timeline", "bound"})

Tell = Callable[[Data], None]
Told = Callable[["Data | None"], None]


@dataclass(frozen=True)
class Texts:
    """Where the texts of runs belong.

    path: of their file. modules: those beside it. fill: whether the reference's code stands for open TODOs.
    """

    path: Path
    modules: Modules
    fill: bool = True

    @property
    def file(self) -> str:
        return self.path.name


class Run:
    """One run. `work` executes it in a thread of its own; `cancel` ends its processes from any other thread."""

    def __init__(
        self, number: int, request: RunRequest, build: Build, simulation: Simulation, clock: Simulation,
        source: Texts, fix: DrillFix | None,
    ) -> None:  # fmt: skip
        self.number, self.request = number, request
        self.events: list[Data] = []
        """The events that were told, without progress."""
        self.sealed: Data | None = None
        """The event whose parts course mode reveals step by step."""
        self._build, self._simulation, self._clock = build, simulation, clock
        self._source, self._fix = source, fix
        self._filled: Filled | None = None
        self._modules: Mapping[str, str] = {}
        self._cancelled = False

    def work(self, tell: Tell) -> None:
        """Build and simulate, and tell each event; the last one is "done"."""
        begun = time.monotonic()
        self._tell(tell, {
            "event": "started", "run": self.number, "limits": {"build": BUILD_S, "simulate": SIMULATE_S},
        })  # fmt: skip
        try:
            if self.request.launch is not None:
                self._launched(self.request.launch, tell)
            else:
                self._simulate(self._built(tell), tell)
        except NotBuilt as error:
            finding = told(error.finding, self._filled)
            self._tell(tell, failed_event("build", str(error), finding, error.kind))
        except SparesClosed:
            return
        except Exception as error:
            self._tell(tell, _failure("simulate", error))
        self._tell(tell, {"event": "done", "seconds": time.monotonic() - begun})

    def cancel(self) -> None:
        """End the run and its processes."""
        self._cancelled = True
        self._build.cancel()
        self._simulation.cancel()
        self._clock.cancel()

    def event(self, name: str) -> Data | None:
        """Return the latest event of a name."""
        return next((event for event in reversed(self.events) if event["event"] == name), None)

    def stages(self) -> list[Data]:
        """Return the events of the stages."""
        return [event for event in self.events if event["event"] == "stage"]

    def whole(self, stages: Sequence[Data]) -> list[Data]:
        """Return the events with these stages in the place of the run's own."""
        mine = [event for event in self.events if event["event"] != "stage"]
        return [*mine[:-1], *stages, *mine[-1:]]  # the last one is "done"

    def _launched(self, launch: LaunchText, tell: Tell) -> None:
        """Compile and simulate a text of another language in one process."""
        asked = self.request
        task = LaunchTask(asked.text, self._source.path, asked.kernel, launch, asked.gpu, asked.want)
        self._simulation.run(task, lambda event: self._tell(tell, event), work=launched)

    def _built(self, tell: Tell) -> Built:
        asked, begun = self.request, time.monotonic()
        try:
            constants = constants_in(asked.text, asked.kernel)
        except NO_PYTHON as error:
            raise NotBuilt("parse", syntax_data(error)) from None
        source = self._source
        self._filled = filled_in(asked.text, source.file, asked.kernel) if source.fill and not asked.drill else None
        self._modules = source.modules.opened(asked.text, asked.modules)
        job = Job(
            asked.text, asked.kernel, asked.shape, asked.constants, asked.sms, codes_of(self._filled), self._modules
        )
        built = self._build.made(job)
        seconds = time.monotonic() - begun
        self._tell(tell, {"event": "built", "seconds": seconds, "constants": constants})
        return built

    def _simulate(self, built: Built, tell: Tell) -> None:
        asked = self.request
        task = Task(
            built.ir, built.files, self._source.file, asked.text, asked.kernel, asked.gpu, asked.sms, asked.want,
            sealed=asked.course, fix=self._fix, filled=without_code(self._filled),
            modules={f"{name}.py": text for name, text in self._modules.items()},
        )  # fmt: skip
        if not asked.want:
            return
        if asked.course or not asked.want & _TIMED:
            return self._simulation.run(task, lambda event: self._tell(tell, event))
        self._verdict_then_time(task, lambda event: self._tell(tell, event))

    def _verdict_then_time(self, task: Task, tell: Tell) -> None:
        """Simulate in two processes: the verdict does not wait for the timeline, and the timeline hardly for it."""
        timed = replace(task, part=Part.TIME, want=task.want & _TIMED)
        with Beside(self._clock, timed) as beside:
            self._simulation.run(replace(task, part=Part.VERDICT), tell)
            verdict = self.event("verdict")
            if verdict is None:
                return

            def later(event: Data) -> None:
                if event["event"] == "failed":
                    tell({**event, "what": "timeline"})
                elif event["event"] != "bound" or verdict["timed"]:
                    tell(event)

            try:
                if not beside.told(later, verdict["cycles"]):  # its course depends on data, or it has no end
                    self._simulation.run(replace(timed, part=Part.TRACED), later)
            except (TimeoutError, ProcessEnded) as error:
                tell(_failure("timeline", error))

    def _tell(self, tell: Tell, event: Data) -> None:
        if self._cancelled:
            return
        if event["event"] == SEALED:
            self.sealed, event = event, event["verdict"]
        if event["event"] != "progress":
            self.events.append(event)
        tell(event)


def _failure(what: str, error: Exception) -> Data:
    """Return the event on a process without an answer. what: "simulate", or "timeline" where there is a verdict."""
    if isinstance(error, TimeoutError):
        said = f"the simulation took longer than {SIMULATE_S:g} s: try smaller sizes, or fewer SMs"
        return failed_event(what, said, kind="time")
    if isinstance(error, ProcessEnded):
        said = f"the process that simulates ended, perhaps for want of memory (status {error.status})"
        return failed_event(what, said, kind="ended")
    return failed_event(what, f"the simulator failed: {type(error).__name__}: {error}", kind="failed")


class Runs:
    """The runs of a server, by number from 1."""

    def __init__(self, builders: Builders, simulators: Simulators, source: Texts) -> None:
        self._builders, self._simulators, self._source = builders, simulators, source
        self._lock = threading.Lock()
        self._last = 0
        self._live: OrderedDict[int, Run] = OrderedDict()
        self._kept: OrderedDict[int, Run] = OrderedDict()

    def start(self, request: RunRequest, tell: Told, fix: DrillFix | None = None) -> Run:
        """Start a run in a thread; its events are told there, and None after the last one."""
        with self._lock:
            self._last += 1
            run = self._new(self._last, request, fix)
            oldest = [self._live.popitem(last=False)[1] for _ in range(len(self._live) - MOST_RUNS + 1)]
            self._live[run.number] = self._kept[run.number] = run
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        for each in oldest:
            each.cancel()
        threading.Thread(target=self._work, args=(run, tell), daemon=True).start()
        return run

    def finished(self, request: RunRequest) -> Run:
        """Return a run that was executed in this thread, for its events."""
        run = self._new(0, request, None)
        run.work(lambda _: None)
        return run

    def run(self, number: object) -> Run | None:
        """Return a run, also one that has ended, unless many have followed it."""
        return self._kept.get(number) if isinstance(number, int) else None

    def close(self) -> None:
        """End all runs."""
        with self._lock:
            live, self._live = self._live, OrderedDict()
        for run in live.values():
            run.cancel()

    def _new(self, number: int, request: RunRequest, fix: DrillFix | None) -> Run:
        simulation, clock = Simulation(self._simulators), Simulation(self._simulators)
        return Run(number, request, Build(self._builders), simulation, clock, self._source, fix)

    def _work(self, run: Run, tell: Told) -> None:
        try:
            run.work(tell)
        finally:
            tell(None)
            with self._lock:
                self._live.pop(run.number, None)
