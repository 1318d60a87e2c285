"""Work on many items in a few processes, each item within a bound of time: what hangs or dies is an outcome too."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

START_S = 60.0
"""What a fresh process may take to import what the work needs, before it has its first item."""


@dataclass(frozen=True)
class Lost:
    """What became of an item that gave no result. reason: "timeout" or "died"."""

    reason: str


@dataclass
class _Worker:
    process: Any
    pipe: Connection
    deadline: float
    item: int | None = None
    """The index of what it works on; None while it starts."""


def run_bounded(
    work: Callable[[Any], Any], items: Sequence[Any], *, jobs: int, bound_s: float
) -> Iterator[tuple[int, Any]]:
    """(index, ``work(item)``) of all items, as they are done; `Lost` where the work exceeded `bound_s` or died.

    work: a function at the top level of a module; items and results can be pickled. A process that is lost is replaced.
    """
    context = multiprocessing.get_context("spawn")
    # Each process works alone: threads of BLAS would only fight over the cores.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    waiting = deque(range(len(items)))
    workers: list[_Worker] = []

    def give(worker: _Worker) -> bool:
        if not waiting:
            worker.pipe.send(None)
            return False
        worker.item = waiting.popleft()
        worker.deadline = time.monotonic() + bound_s
        worker.pipe.send(items[worker.item])
        return True

    def start() -> None:
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(work, theirs), daemon=True)
        process.start()
        theirs.close()
        workers.append(_Worker(process, ours, time.monotonic() + START_S))

    try:
        for _ in range(min(jobs, len(items))):
            start()
        while workers:
            ready = wait([worker.pipe for worker in workers], timeout=max(0.0, _next(workers) - time.monotonic()))
            for worker in list(workers):
                if worker.pipe in ready:
                    try:
                        result = worker.pipe.recv()
                    except EOFError:
                        result = Lost("died")
                elif time.monotonic() > worker.deadline:
                    result = Lost("timeout")
                else:
                    continue
                if worker.item is None and isinstance(result, Lost):
                    raise RuntimeError(f"a process for {work.__name__} did not start: {result.reason}")
                if worker.item is not None:
                    yield worker.item, result
                if isinstance(result, Lost):
                    worker.process.kill()
                    workers.remove(worker)
                    if waiting:
                        start()
                elif not give(worker):
                    workers.remove(worker)
    finally:
        for worker in workers:
            worker.process.kill()


def _next(workers: Sequence[_Worker]) -> float:
    return min(worker.deadline for worker in workers)


def _serve(work: Callable[[Any], Any], pipe: Connection) -> None:
    pipe.send(None)  # what `work` needs has been imported
    while (item := pipe.recv()) is not None:
        pipe.send(work(item))
