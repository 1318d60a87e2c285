"""The two judges of kernels: the simulator, and this machine's GPU."""

from __future__ import annotations

import copy
import secrets
import threading
from collections.abc import Callable, Generator, Mapping
from types import TracebackType
from typing import Any, Protocol

from tirx_mini.course import Shape, measured_times
from tirx_mini.worker import Task, Worker

from .heard import Heard, hearing
from .judges import Judges
from .judging import Inquiry, Judged, Opened, Timed, Tolerance
from .launching import KernelEnded, NoGpu, compiling, gpu_here, launching, measuring
from .lost import Exceeded, Lost

_RUN_S = 20.0
"""The maximum seconds for the launches of one task; a kernel takes milliseconds."""


class Bench(Protocol):
    """A judge of kernels that also times them. how: the start of a sentence that states a time."""

    how: str

    def heard_by(self, judges: Judges, listener: Callable[[str], object]) -> Bench:
        """Return the same bench with these judges, whose listener receives text that kernels print elsewhere."""
        ...

    def judged(self, question: Inquiry, opened: Opened, tolerance: Tolerance) -> Judged:
        """Judge the kernel on newly drawn data."""
        ...

    def timed(self, question: Inquiry, opened: Opened, tolerance: Tolerance) -> Judged:
        """Judge the kernel, and time it."""
        ...

    def good(self, step: int, shape: Shape, dtype: str, gpu: str, tolerance: Tolerance) -> Mapping[str, float]:
        """Return the times of a good kernel of a step in microseconds, by source; the longest counts."""
        ...


class Simulated:
    """The bench of the simulator. gpu: the name of the modelled GPU."""

    def __init__(self, judges: Judges, gpu: str) -> None:
        self._judges, self._gpu = judges, gpu
        self.how = f"predicted on {gpu}"

    def heard_by(self, judges: Judges, listener: Callable[[str], object]) -> Simulated:
        return Simulated(judges, self._gpu)

    def judged(self, question: Inquiry, opened: Opened, tolerance: Tolerance) -> Judged:
        return self._judges.judged(question, opened, tolerance)

    def timed(self, question: Inquiry, opened: Opened, tolerance: Tolerance) -> Judged:
        return self._judges.timed(question, opened, tolerance)

    def good(self, step: int, shape: Shape, dtype: str, gpu: str, tolerance: Tolerance) -> Mapping[str, float]:
        return {"the reference": self._judges.reference_us(step, shape, dtype, gpu, tolerance)}


class OnGpu:
    """The bench of this machine's GPU, which runs one kernel at a time; as a context, it ends the launching process.

    Raises `NoGpu` without a GPU.
    """

    def __init__(self, judges: Judges) -> None:
        self._judges = judges
        self._worker = Worker()
        self._lock = threading.Lock()
        self._listener: Callable[[str], object] = lambda text: None
        self._good: dict[tuple[int, Shape, str], Mapping[str, float]] = {}
        try:
            self.arch, self.name = self._worker.call(gpu_here, None, 120)
        except NoGpu:
            self._worker.close()
            raise
        self.how = f"measured on {self.name}"
        self._table = measured_times(self.name)

    def __enter__(self) -> OnGpu:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._worker.close()

    def heard_by(self, judges: Judges, listener: Callable[[str], object]) -> OnGpu:
        found = copy.copy(self)
        found._judges, found._listener = judges, listener
        return found

    def judged(self, question: Inquiry, opened: Opened, tolerance: Tolerance) -> Judged:
        return self._launch(launching, question, tolerance)

    def timed(self, question: Inquiry, opened: Opened, tolerance: Tolerance) -> Judged:
        timed: Timed = self._launch(measuring, question, tolerance)
        return Judged(timed.us is not None, timed.said, timed.page, timed.us)

    def good(self, step: int, shape: Shape, dtype: str, gpu: str, tolerance: Tolerance) -> Mapping[str, float]:
        """Return the measured time of the reference, and the time in this GPU's table, perhaps at a higher clock."""
        key = step, shape, dtype
        if key not in self._good:
            timed = self._launch(measuring, self._judges.reference(step, shape, dtype, gpu), (0.1, 0.1))
            if timed.us is None:
                raise Lost(f"the reference has no time: {timed.said}")
            found = {"the reference": timed.us}
            ms = self._table.ms(step, shape, dtype) if self._table is not None else None
            if self._table is not None and ms is not None:
                found[self._table.source] = ms * 1000
            self._good[key] = found
        return self._good[key]

    def _launch(self, task: object, question: Inquiry, tolerance: Tolerance) -> Any:
        """Compile in a judge's process, then launch in the GPU's process on data of a secret seed."""
        self._judges.ask(compiling, (question, self.arch))
        with self._lock:
            try:
                given = task, (question, secrets.randbits(63), tolerance)
                heard = self._worker.call(listened, given, _RUN_S)
            except TimeoutError:
                raise Exceeded(f"it did not finish within {_RUN_S:g} s on the GPU and was ended") from None
            except KernelEnded as error:
                raise Exceeded(f"the GPU ended it: {error}") from None
            except (RuntimeError, OSError) as error:
                raise Lost(f"the GPU failed: {str(error).partition(chr(10))[0][:200]}") from None
        if heard.text:
            self._listener(heard.text)
        return heard.result


def listened(asked: tuple[Task, object]) -> Generator[None, None, Heard]:
    """Run a task and capture the output of its kernels, which use the process's C standard output."""
    task, given = asked
    work = task(given)
    next(work)  # until the kernel starts
    yield
    return hearing(work, files=True)
