"""A run leaves no garbage in cycles: the collector, which is disabled here, would find none."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import psutil
import pytest

from tirx_mini.course import default_kernels, load_kernels, make_arguments
from tirx_mini.driver import explore, simulate
from tirx_mini.hardware import gpu_spec
from tirx_mini.script import tirx as T

Run = Callable[[], Any]


def ladder(step: int, size: int, gpu: str = "b200", **options: Any) -> Run:
    """A run of a reference, whose report is printed."""
    kernel = load_kernels(default_kernels(), gpu_spec(gpu).architecture.kernels)[step](size, size, size)
    args = make_arguments(kernel)
    return lambda: str(simulate(kernel, *args, gpu=gpu, **{"jobs": 1, **options}))


def stuck() -> Run:
    """A deadlock: half of the warps wait at a barrier that counts all, the others for an mbarrier."""

    @T.prim_func
    def kernel(A: T.Buffer((128,), "float32")):
        T.device_entry()
        tx = T.thread_id([128])
        bar = T.alloc_shared((1,), "uint64")
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 2)
        T.cuda.cta_sync()
        if tx < 64:
            T.ptx.bar.sync(1, 128)
        else:
            T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
        A[tx] = 1.0

    return lambda: str(simulate(kernel, np.zeros(128, np.float32)))


def racing() -> Run:
    """A hazard, whose finding looks at the barriers of the cluster."""

    @T.prim_func
    def kernel(A: T.Buffer((64,), "float32")):
        T.device_entry()
        tx = T.thread_id([64])
        line = T.alloc_shared((64,), "float32")
        line[tx] = 1.0
        A[tx] = line[63 - tx]

    return lambda: str(simulate(kernel, np.zeros(64, np.float32)))


def explored() -> Run:
    kernel = load_kernels(default_kernels())[4](128, 128, 128)
    args = make_arguments(kernel)
    return lambda: explore(kernel, *args, limit=4)


RUNS: dict[str, Callable[[], Run]] = {
    "checked": lambda: ladder(9, 512),
    "checked on Hopper, in three orders": lambda: ladder(5, 512, "h100", schedules=3),
    "of few clusters for all": lambda: ladder(4, 512),
    "recorded": lambda: ladder(7, 512, trace=True, log_barriers=True),
    "for the time": lambda: ladder(7, 512, data=False, single=True),
    "sampled": lambda: ladder(4, 1024, data=False, sampled=True),
    "of several clusters at a time": lambda: ladder(6, 512),
    "in two processes": lambda: ladder(6, 512, jobs=2),
    "stuck": stuck,
    "racing": racing,
    "explored": explored,
}


@contextmanager
def uncollected() -> Iterator[list[Any]]:
    """Collect the objects that became garbage in cycles during the block.

    Older objects stay frozen, also when a run ends, which unfreezes them: the collector would go through the millions
    of pytest each time.
    """
    found: list[Any] = []
    gc.disable()
    gc.freeze()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        with pytest.MonkeyPatch.context() as patch:
            for name in ("freeze", "unfreeze"):
                patch.setattr(gc, name, lambda: None)
            yield found
        gc.collect()
        found += gc.garbage
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.unfreeze()
        gc.enable()


def test_garbage_is_found() -> None:
    def run() -> None:
        cycle: list[Any] = []
        cycle.append(cycle)

    with uncollected() as garbage:
        run()
        gc.freeze()  # as a run does
        run()
        gc.unfreeze()
    assert [type(each) for each in garbage] == [list, list]


@pytest.mark.parametrize("kind", RUNS)
def test_a_run_leaves_no_cycles(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if kind in ("of several clusters at a time", "in two processes"):  # large launches alone are executed so
        for name in ("batched.WORTH_BATCHES", "kernel.WORTH_BYTES", "sharded.WORTH_TWINS"):
            monkeypatch.setattr(f"tirx_mini.sim.plans.{name}", 0)
    run = RUNS[kind]()
    run()  # what is made once stays
    with uncollected() as garbage:
        run()
    assert Counter(f"{type(each).__module__}.{type(each).__qualname__}" for each in garbage) == {}


def test_a_process_keeps_its_size() -> None:
    """Twenty runs, of which each took more when its machine was left to the collector."""
    run, process = ladder(9, 512), psutil.Process()
    sizes: list[int] = []
    for _ in range(20):
        run()
        sizes.append(process.memory_info().rss >> 20)
    assert sizes[-1] - sizes[1] <= 20, sizes
