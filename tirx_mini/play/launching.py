"""The process that compiles and simulates a text of another project's language, which a launch describes.

It executes nobody's Python, but its compiler has no sandbox: it reads what the text includes. So a text runs only when
the user asks for it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

from tirx_mini.course import Checked, KernelFileError, LaunchedFiles, LaunchText, shares
from tirx_mini.hardware import DEFAULT_GPU, gpu_spec
from tirx_mini.ir import TirxError
from tirx_mini.records import dataclass, replace
from tirx_mini.runtime import ToolchainError

from .events import bound_event, failed_event, timeline_event, verdict_event
from .findings import Data
from .languages import LANGUAGES, programs_at
from .simulating import MEMORY_MB, RUNS, STAGES, Put, Tell, limit_memory, told_by

_REFUSED = (KernelFileError, ToolchainError, ValueError)


@dataclass(frozen=True)
class LaunchTask:
    """A kernel to compile and to simulate.

    path: of the file whose text this is; what it includes may lie beside it. want: the events, of `RUNS` and `STAGES`.
    """

    text: str
    path: Path
    kernel: str
    launch: LaunchText
    gpu: str
    want: frozenset[str]
    memory_mb: int = MEMORY_MB


def launched(task: LaunchTask) -> Generator[object, None, None]:
    """Compile and simulate a kernel, and yield its events, with the progress a few times a second."""
    programs = programs_at(task.path)
    limit_memory(task.memory_mb)
    yield None
    folder = f"{task.path.resolve().parent}{os.sep}"
    for event in told_by(_Launch(task, programs)):
        yield _without(folder, event)


def _without(folder: str, value: Any) -> Any:
    """Return an event without the folder of the file in its sentences."""
    if isinstance(value, str):
        return value.replace(folder, "")
    if isinstance(value, dict):
        return {name: each if name == "data" else _without(folder, each) for name, each in value.items()}
    return [_without(folder, each) for each in value] if isinstance(value, list) else value


class _Launch:
    def __init__(self, task: LaunchTask, programs: LaunchedFiles) -> None:
        self._task, self._programs = task, programs
        self._program = f"{task.path}:{task.kernel}"
        self._tell: Tell = lambda _: None
        self._share: Callable[[], float] | None = None
        self._begun = time.monotonic()
        self._doing = "compiling the text"

    def progress(self, seconds: float) -> Data:
        share = None if self._share is None else min(1.0, self._share())
        return {"event": "progress", "fraction": share, "seconds": seconds, "text": self._doing}

    def work(self, put: Put) -> None:
        self._tell = put
        try:
            self._work()
        except MemoryError:
            put(failed_event("simulate", f"the run needs more than {self._task.memory_mb} MiB", kind="memory"))
        except BaseException as error:
            put(error)
        put(None)

    def _work(self) -> None:
        want = self._task.want
        if want & RUNS:
            self._simulate()
        for stage in STAGES:
            if stage in want:
                self._doing = f"making the stage {stage}"
                self._tell({"event": "stage", "stage": stage, **self._stage(stage)})

    def _simulate(self) -> None:
        task = self._task
        try:
            checked = self._programs.launched(
                self._program, task.launch, task.gpu, source=task.text, trace=True, single=True,
                watch=shares(None, self._watch),
            )  # fmt: skip
        except _REFUSED as error:
            self._tell(failed_event("simulate", self._said(error), kind="refused"))
            return
        self._tell_report(checked)

    def _watch(self, share: Callable[[], float]) -> None:
        if self._share is None:  # the text is compiled
            self._doing = "simulating"
            self._tell({"event": "built", "seconds": time.monotonic() - self._begun, "constants": {}})
        self._share = share

    def _tell_report(self, checked: Checked) -> None:
        task = self._task
        spec = gpu_spec(task.gpu or DEFAULT_GPU)
        checked = replace(checked, report=checked.report.named(task.kernel))
        self._tell(verdict_event(checked, task.path.name, time.monotonic() - self._begun))
        self._doing = "drawing the timeline"
        bound = bound_event(checked.report) if "bound" in task.want else None
        timeline = timeline_event(checked.report, spec, "") if "timeline" in task.want else None
        for event in (bound, timeline):
            if event is not None:
                self._tell(event)

    def _stage(self, stage: str) -> Data:
        task, programs = self._task, self._programs
        if stage not in programs.stages:
            return {"missing": f"{LANGUAGES[task.path.suffix]} has no such stage here"}
        try:
            return {"items": [programs.item(self._program, stage, task.launch, task.gpu, task.text)]}
        except TirxError as error:
            return {"missing": error.diagnostic.message}
        except _REFUSED as error:
            return {"missing": self._said(error)}

    def _said(self, error: Exception) -> str:
        return str(error).replace(self._program, self._task.kernel or self._task.path.name)
