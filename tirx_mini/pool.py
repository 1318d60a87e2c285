"""Parallel work on items in a few fresh processes; a hang or crash is an outcome, and no process outlives the work."""

from __future__ import annotations

import atexit
import math
import multiprocessing
import pickle
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any

from tirx_mini.records import dataclass

from .ending import as_child, end_group, one_thread_each, signals_held

START_S = 60.0
"""The seconds in which a fresh process must import the modules of its work."""


@dataclass(frozen=True)
class Lost:
    """The outcome of an item without a result. reason: "timeout" or "died"."""

    reason: str


@dataclass(frozen=True)
class _Raised:
    """An exception raised by the work, with its remote traceback."""

    error: Exception
    text: str


@dataclass
class _Worker:
    process: Any
    pipe: Connection
    deadline: float
    item: int | None = None
    """The index of the current item, or None during startup."""

    def end(self) -> None:
        end_group(self.process.pid)
        self.process.join()
        self.pipe.close()


def run_bounded(
    work: Callable[[Any], object], items: Sequence[object], *, jobs: int, bound_s: float = math.inf
) -> Iterator[tuple[int, Any]]:
    """Yield (index, ``work(item)``) in order of completion; `Lost` if the work exceeded `bound_s` or died.

    work: a function at the top level of a module; items and results can be pickled. An exception of the work is raised
    here. A process that is lost is replaced; all are ended when the iterator is.
    """
    if jobs > 1:
        one_thread_each()
    team = _Processes(work, items, bound_s)
    atexit.register(team.end)  # before multiprocessing waits for the processes of an iterator that nobody has ended
    try:
        for _ in range(min(jobs, len(items))):
            team.start()
        yield from team.outcomes()
    finally:
        team.end()
        atexit.unregister(team.end)


def in_order(work: Callable[[Any], object], items: Sequence[object], *, jobs: int) -> Iterator[Any]:
    """Yield ``work(item)`` of all items in their order. Raises `RuntimeError` for a process that died."""
    found: dict[int, Any] = {}
    following = 0
    for index, result in run_bounded(work, items, jobs=jobs):
        if isinstance(result, Lost):
            raise RuntimeError(f"the process for {items[index]} {result.reason}")
        found[index] = result
        while following in found:
            yield found.pop(following)
            following += 1


def spread(work: Callable[..., object]) -> Callable[[Any], Any]:
    """Adapt `work` to items that are tuples of its arguments."""
    return partial(_spread, work)


def _spread(work: Callable[..., object], item: Sequence[object]) -> object:
    return work(*item)


class _Processes:
    """The processes, and the items waiting for one."""

    def __init__(self, work: Callable[[Any], object], items: Sequence[object], bound_s: float) -> None:
        self._work, self._items, self._bound_s = work, items, bound_s
        self._waiting = deque(range(len(items)))
        self._workers: list[_Worker] = []

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        resource_tracker.ensure_running()  # its start would let the signals through again
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(self._work, theirs))
        with signals_held():
            process.start()
        theirs.close()
        self._workers.append(_Worker(process, ours, time.monotonic() + START_S))

    def end(self) -> None:
        while self._workers:
            self._workers.pop().end()

    def outcomes(self) -> Iterator[tuple[int, object]]:
        while self._workers:
            soonest = min(worker.deadline for worker in self._workers)
            left_s = None if soonest == math.inf else max(0.0, soonest - time.monotonic())
            ready = wait([worker.pipe for worker in self._workers], timeout=left_s)
            for worker in list(self._workers):
                if worker.pipe in ready:
                    result = _received(worker.pipe)
                elif time.monotonic() > worker.deadline:
                    result = Lost("timeout")
                else:
                    continue
                item = worker.item
                self._go_on(worker, result)
                if isinstance(result, _Raised):
                    raise result.error from RuntimeError(f"in the process of the work:\n{result.text}")
                if item is not None:
                    yield item, result

    def _go_on(self, worker: _Worker, result: object) -> None:
        """Assign the next item to a process, or end it."""
        lost = isinstance(result, Lost)
        if lost and worker.item is None:
            name = getattr(self._work, "__name__", "the work")
            raise RuntimeError(f"a process for {name} did not start: {result.reason}")
        if not lost and self._waiting:
            worker.item = self._waiting.popleft()
            worker.deadline = time.monotonic() + self._bound_s
            with suppress(OSError):  # it died between two items: to receive from it fails, too
                worker.pipe.send(self._items[worker.item])
            return
        self._workers.remove(worker)
        worker.end()
        if lost and self._waiting:
            self.start()


def _received(pipe: Connection) -> object:
    try:
        return pipe.recv()
    except (EOFError, OSError):
        return Lost("died")


def _serve(work: Callable[[Any], object], pipe: Connection) -> None:
    as_child()
    answer: Any = None  # what `work` needs has been imported
    while True:
        try:
            pipe.send(answer)
        except OSError:  # nobody waits for it
            return
        except Exception as error:  # it cannot be pickled
            pipe.send(_raised(error))
        try:
            answer = work(pipe.recv())
        except EOFError:
            return
        except Exception as error:
            answer = _raised(error)


def _raised(error: Exception) -> _Raised:
    text = traceback.format_exc()
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        error = RuntimeError(f"{type(error).__name__}: {error}")
    return _Raised(error, text)
