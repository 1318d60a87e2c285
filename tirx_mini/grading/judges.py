"""The processes that judge kernels: a few, which many hand-ins share."""

from __future__ import annotations

import importlib
import os
import queue
from collections.abc import Callable, Generator
from dataclasses import asdict
from types import TracebackType
from typing import Any, TypeVar

from ..course import Shape
from ..worker import Worker
from .cache import Cache
from .facts import Facts
from .judging import (
    Grid,
    Judged,
    Opened,
    Question,
    Timed,
    Unusable,
    bounding,
    gridding,
    judging,
    limit_memory,
    observing,
    opening,
    timing,
)
from .references import References
from .rules import JudgeLimits

T = TypeVar("T")
Task = Callable[[Any], Generator[None, None, Any]]


class Lost(Exception):
    """A kernel that could not be judged within the limits; the message is a sentence."""


class Judges:
    """So many processes at a time, with limits; as a context, it ends them. For threads.

    cache: of results without findings, which name no lines of a file. full: whether kernels are judged at all sizes.
    """

    def __init__(self, jobs: int, limits: JudgeLimits, cache: Cache | None = None, full: bool = False) -> None:
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            os.environ.setdefault(name, "1")  # each process has one core's share
        self.jobs = jobs
        self._references = References()
        self._memory_mb = limits.memory_mb
        self._seconds = limits.full_seconds if full else limits.seconds
        self._cache = cache or Cache()
        self._free: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        self._all = [Worker() for _ in range(jobs)]
        for worker in self._all:
            self._free.put(worker)

    def __enter__(self) -> Judges:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        for worker in self._all:
            worker.close()

    def opened(self, question: Question) -> Opened:
        """Whether the kernel can be lowered, and its key."""
        return self.ask(opening, question)

    def judged(self, question: Question, opened: Opened, seed: int, tolerance: tuple[float, float]) -> Judged:
        """The kernel on data of a seed."""
        key = self._key("data", question, opened, *tolerance)
        found = self._shared(
            key, lambda: self.ask(judging, (question, seed, tolerance)), asdict, lambda judged: judged.clean
        )
        return found if isinstance(found, Judged) else Judged(**found)

    def timed(self, question: Question, opened: Opened) -> Timed:
        """The predicted time of the kernel."""
        key = self._key("time", question, opened)
        found = self._shared(key, lambda: self.ask(timing, question), asdict, lambda timed: timed.us is not None)
        return found if isinstance(found, Timed) else Timed(**found)

    def facts(self, question: Question, opened: Opened) -> Facts:
        """What the kernel does."""
        key = self._key("facts", question, opened)
        found = self._shared(key, lambda: self.ask(observing, question), Facts.as_dict, lambda facts: facts.ended)
        return found if isinstance(found, Facts) else Facts.from_dict(found)

    def reference(self, step: int, shape: Shape, dtype: str, gpu: str) -> Question:
        """The reference of a step."""
        return self._references.question(step, shape, dtype, gpu)

    def reference_us(self, step: int, shape: Shape, dtype: str, gpu: str) -> float:
        """The predicted time of the reference of a step, in microseconds."""
        question = self.reference(step, shape, dtype, gpu)
        timed = self.timed(question, self.opened(question))
        assert timed.us is not None, timed.said
        return timed.us

    def grid(self, question: Question) -> Grid:
        """The grid of the kernel."""
        return self.ask(gridding, question)

    def bound(self, question: Question) -> str:
        """What bounds the kernel; "" where it takes too long to find out."""
        try:
            return self.ask(bounding, question)
        except Lost:
            return ""

    def _key(self, what: str, question: Question, opened: Opened, *more: object) -> str:
        """Of a result: all that it depends on."""
        shape = "x".join(map(str, question.shape))
        parts = (kit_version(), what, question.gpu, question.sms or "all", shape, question.dtype, *more)
        return f"{opened.key}-{'-'.join(map(str, parts))}"

    def _shared(
        self, key: str, make: Callable[[], T], to_json: Callable[[T], Any], keep: Callable[[T], bool]
    ) -> T | dict[str, Any]:
        """What the cache has; else what is made, which is kept for others as JSON where that is allowed."""
        made: list[T] = []

        def value() -> tuple[Any, bool]:
            made.append(make())
            return to_json(made[0]), keep(made[0])

        found = self._cache.value(key, value)
        return made[0] if made else found

    def ask(self, task: Task, asked: Any) -> Any:
        """The result of a task in one of the processes. Raises `Lost`, and `Unusable` for what is no kernel."""
        worker = self._free.get()
        try:
            return worker.call(_limited, (task, asked, self._memory_mb), self._seconds)
        except TimeoutError:
            raise Lost(f"the judge ended it after {self._seconds:g} s") from None
        except MemoryError:
            raise Lost(f"it needs more than {self._memory_mb} MiB of memory to be judged") from None
        except Unusable:
            raise
        except Exception as error:  # whatever a kernel does to the judge, the next one is judged
            said = str(error).partition("\n")[0][:200]
            raise Lost(f"the judge could not run it: {type(error).__name__}: {said}") from None
        finally:
            self._free.put(worker)


def kit_version() -> str:
    """Of the package, whose next version may predict other times."""
    return importlib.import_module("tirx_mini").__version__


def _limited(payload: tuple[Task, Any, int]) -> Generator[None, None, Any]:
    """A task within the limits of a judge, all of whose time counts."""
    task, asked, memory_mb = payload
    limit_memory(memory_mb)
    yield
    work = task(asked)
    while True:
        try:
            next(work)
        except StopIteration as done:
            return done.value



