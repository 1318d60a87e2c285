"""Work on many items in a few processes, each item within a bound of time: what hangs or dies is an outcome too."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

START_S = 60.0
"""What a fresh process may take to import what the work needs, on top of the first item's bound."""


@dataclass(frozen=True)
class Lost:
    """What became of an item that gave no result. reason: "timeout" or "died"."""

    reason: str


@dataclass
class _Worker:
    process: Any
    pipe: Connection
    item: int
    deadline: float
    fresh: bool = True


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
    waiting = iter(range(len(items)))
    workers: list[_Worker] = []

    def give(worker: _Worker) -> bool:
        item = next(waiting, None)
        if item is None:
            worker.pipe.send(None)
            return False
        worker.item = item
        worker.deadline = time.monotonic() + bound_s + (START_S if worker.fresh else 0)
        worker.pipe.send(items[item])
        return True

    def start() -> None:
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(work, theirs), daemon=True)
        process.start()
        theirs.close()
        worker = _Worker(process, ours, -1, 0.0)
        if give(worker):
            workers.append(worker)

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
                yield worker.item, result
                if isinstance(result, Lost):
                    worker.process.kill()
                    workers.remove(worker)
                    start()
                else:
                    worker.fresh = False
                    if not give(worker):
                        workers.remove(worker)
    finally:
        for worker in workers:
            worker.process.kill()


def _next(workers: Sequence[_Worker]) -> float:
    return min(worker.deadline for worker in workers)


def _serve(work: Callable[[Any], Any], pipe: Connection) -> None:
    while (item := pipe.recv()) is not None:
        pipe.send(work(item))
