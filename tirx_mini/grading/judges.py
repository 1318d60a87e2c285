"""The pool of processes that judge kernels, shared by many hand-ins."""

from __future__ import annotations

import copy
import hmac
import math
import queue
import signal
import time
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import asdict
from types import TracebackType
from typing import Any

from tirx_mini.course import Shape
from tirx_mini.ending import one_thread_each
from tirx_mini.worker import ProcessEnded, Worker, signal_name

from .cache import Cache
from .drawn import WHOLE
from .facts import Facts
from .heard import Heard, hearing
from .judging import (
    Grid,
    Inquiry,
    Judged,
    Opened,
    Tolerance,
    Unusable,
    bounding,
    gridding,
    judging,
    judging_task,
    observing,
    opening,
    timing,
)
from .lost import Exceeded, Lost
from .references import References
from .rules import JudgeLimits
from .version import kit_version

Task = Callable[[Any], Generator[None, None, Any]]


PATIENCE, GRACE_S = 5, 30.0
"""A judge counts as lost after so many times its limit of CPU time on the clock, and so many seconds: a busy machine
may take as long."""


class Judges:
    """A fixed number of limited processes for threads; as a context, it ends them.

    cache: the results without findings, which contain no line numbers. full: whether kernels are judged at all sizes.
    """

    def __init__(self, jobs: int, limits: JudgeLimits, cache: Cache | None = None, full: bool = False) -> None:
        one_thread_each()
        self.jobs = jobs
        self._references = References()
        self._memory_mb = limits.memory_mb
        self._seconds = limits.full_seconds if full else limits.seconds
        self._cache = cache or Cache()
        self._listener: Callable[[str], object] = lambda text: None
        self._free: queue.SimpleQueue[Worker] = queue.SimpleQueue()
        self._all = [Worker() for _ in range(jobs)]
        for worker in self._all:
            self._free.put(worker)

    def __enter__(self) -> Judges:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the processes, even during requests of other threads, which then raise `Lost`."""
        for worker in self._all:
            worker.close()

    def heard_by(self, listener: Callable[[str], object]) -> Judges:
        """Return the same processes with a listener that receives the output of kernels in its tasks."""
        found = copy.copy(self)
        found._listener = listener
        return found

    def opened(self, question: Inquiry) -> Opened:
        """Return whether the kernel can be lowered, and its key."""
        return self.ask(opening, question)

    def judged(self, question: Inquiry, opened: Opened, tolerance: Tolerance) -> Judged:
        """Return the judgement of the kernel on secret data, and its predicted time."""
        task = judging_task if question.task else judging
        return self._judged("data", task, question, opened, tolerance)

    def timed(self, question: Inquiry, opened: Opened, tolerance: Tolerance) -> Judged:
        """Return the judgement with a time; a large D is compared in parts, and the time may be extrapolated."""
        if math.prod(question.shape) <= WHOLE:
            return self.judged(question, opened, tolerance)
        return self._judged("time", timing, question, opened, tolerance)

    def _judged(
        self, what: str, task: Task, question: Inquiry, opened: Opened, tolerance: Tolerance
    ) -> Judged:
        key = self._key(what, question, opened, *tolerance)
        asked = question, self._seed(key), tolerance
        found = self._shared(key, task, asked, asdict, lambda judged: judged.clean)
        return found if isinstance(found, Judged) else Judged(**found)

    def facts(self, question: Inquiry, opened: Opened, right: bool = True) -> Facts:
        """Return the facts about the kernel. right: whether its D is; otherwise all work counts."""
        key = self._key("facts", question, opened, right)
        asked = question, self._seed(key), right
        found = self._shared(key, observing, asked, Facts.as_dict, lambda facts: facts.ended)
        return found if isinstance(found, Facts) else Facts.from_dict(found)

    def grid(self, question: Inquiry, opened: Opened, tolerance: Tolerance | None) -> Grid:
        """Return the grid of the kernel, with D compared in parts, or not at all without a tolerance."""
        key = self._key("grid", question, opened, tolerance)
        asked = question, self._seed(key), tolerance
        found = self._shared(key, gridding, asked, asdict, lambda grid: not grid.wrong)
        return found if isinstance(found, Grid) else Grid(**found)

    def reference(self, step: int, shape: Shape, dtype: str, gpu: str) -> Inquiry:
        """Return the reference of a step."""
        return self._references.question(step, shape, dtype, gpu)

    def reference_us(self, step: int, shape: Shape, dtype: str, gpu: str, tolerance: Tolerance) -> float:
        """Return the predicted time of the reference of a step, in microseconds."""
        question = self.reference(step, shape, dtype, gpu)
        try:
            timed = self.timed(question, self.opened(question), tolerance)
        except Exceeded as error:
            timed = Judged(False, str(error))
        if timed.us is None:
            raise Lost(f"the reference has no time: {timed.said}")
        return timed.us

    def bound(self, question: Inquiry) -> str:
        """Return the bound of the kernel, or "" if it takes too long to compute."""
        try:
            return self.ask(bounding, question)
        except (Exceeded, Lost):
            return ""

    def _key(self, what: str, question: Inquiry, opened: Opened, *more: object) -> str:
        """Return a digest of all inputs of a result: the kernel, the GPU, the rules, and the judge."""
        limits = self._seconds, self._memory_mb
        asked = question.task, question.shape, question.dtype, question.spec
        parts = kit_version(), what, opened.key, asked, limits, more
        return hmac.digest(self._cache.secret, repr(parts).encode(), "sha256").hex()

    def drawn(self, what: str) -> int:
        """Return a seed for a purpose: equal for all hand-ins that share the results, and not predictable by one."""
        return self._seed(hmac.digest(self._cache.secret, what.encode(), "sha256").hex())

    @staticmethod
    def _seed(key: str) -> int:
        """Return the data seed of a result, equal for equal kernels, and not predictable by a hand-in."""
        return int(key[:15], 16)

    def _shared(
        self, key: str, task: Task, asked: object, to_json: Callable[[Any], object], keep: Callable[[Any], bool]
    ) -> Any:
        """Return the cached result, or else the result of the task, cached as JSON if permitted.

        Printed output is not cached, so the result of a printing kernel is not cached either.
        """
        made: list[Any] = []

        def value() -> tuple[Any, bool]:
            heard = self._call(task, asked)
            made.append(heard.result)
            return to_json(heard.result), keep(heard.result) and not heard.text

        found = self._cache.value(key, value)
        return made[0] if made else found

    def ask(self, task: Task, asked: object) -> Any:
        """Return the result of a task in one of the processes.

        Raises `Exceeded`, `Lost`, or `Unusable` for an invalid kernel."""
        return self._call(task, asked).result

    def _call(self, task: Task, asked: object) -> Heard:
        worker, clock_s = self._free.get(), PATIENCE * self._seconds + GRACE_S
        try:
            heard = worker.call(_limited, (task, asked, self._memory_mb, self._seconds), clock_s)
        except Unusable:
            raise
        except MemoryError:
            raise Exceeded(f"it needs more than {self._memory_mb} MiB of memory to be judged") from None
        except TimeoutError:
            raise Lost(f"the judge came to no end within {clock_s:g} s on this machine") from None
        except ProcessEnded as error:
            if error.status == -_OUT_OF_TIME:
                raise Exceeded(f"it takes more than {self._seconds:g} s of CPU time to be judged") from None
            raise Lost(_ended(error.status)) from None
        except Exception as error:  # whatever happens to a judge, the next kernel is judged
            said = str(error).partition("\n")[0][:200]
            raise Lost(f"the judge failed: {type(error).__name__}: {said}") from None
        finally:
            self._free.put(worker)
        if heard.text:
            self._listener(heard.text)
        return heard


def _ended(status: int | None) -> str:
    how = f"by {signal_name(-status)}" if status is not None and status < 0 else f"with status {status}"
    return f"the judge's process ended {how}"


_OUT_OF_TIME = int(getattr(signal, "SIGXCPU", 0))


def _limited(payload: tuple[Task, object, int, float]) -> Generator[None, None, Heard]:
    """Run a task within a judge's limits of memory and CPU time, which are independent of the machine."""
    task, asked, memory_mb, seconds = payload
    whole = limit(memory_mb, seconds)
    yield
    try:
        return hearing(task(asked))
    except MemoryError:
        if whole:
            raise
        raise RuntimeError(f"this machine gives a process less than the {memory_mb} MiB of memory of a judge") from None


def limit(memory_mb: int, seconds: float) -> bool:
    """Limit this process's address space, and its further CPU time, if the system supports it.

    Return whether the system permits so much memory.
    """
    try:
        import resource
    except ImportError:  # Windows
        return True
    address_space, cpu = resource.RLIMIT_AS, resource.RLIMIT_CPU
    _, most = resource.getrlimit(address_space)
    wanted = memory_mb << 20
    whole = most in (-1, resource.RLIM_INFINITY) or wanted <= most
    _, most_s = resource.getrlimit(cpu)
    until = math.ceil(time.process_time() + seconds)
    with suppress(OSError, ValueError):  # macOS does not limit the address space
        resource.setrlimit(address_space, (wanted if whole else most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    resource.setrlimit(cpu, (until if most_s == resource.RLIM_INFINITY else min(until, most_s), most_s))
    return whole
