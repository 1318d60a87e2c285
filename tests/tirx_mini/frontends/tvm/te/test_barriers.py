"""Barriers between the blocks of scheduled functions that use one tile of shared memory."""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini import te
from tirx_mini.ir import PrimFunc
from tirx_mini.script import tirx as T

THREADS = 64


@T.prim_func
def overwritten(A: T.Buffer((2, THREADS), "float32"), C: T.Buffer((2, THREADS), "float32")):
    """Each thread writes an element of the tile, then one that another thread wrote, then reads its own."""
    tile = T.alloc_buffer((2, THREADS), "float32", scope="shared")
    for cta in range(2):
        for i in range(THREADS):
            with T.block("straight"):
                m, n = T.axis.remap("SS", [cta, i])
                tile[m, n] = A[m, n] + T.float32(1)
        for i in range(THREADS):
            with T.block("turned"):
                m, n = T.axis.remap("SS", [cta, i])
                tile[m, THREADS - 1 - n] = A[m, n]
        for i in range(THREADS):
            with T.block("read"):
                m, n = T.axis.remap("SS", [cta, i])
                C[m, n] = tile[m, n]


def on_threads(func: PrimFunc) -> PrimFunc:
    """The outermost loop over the CTAs, each other one over the threads of a CTA."""
    schedule = te.TirSchedule(func)
    for name in ("straight", "turned", "read"):
        cta, thread = schedule.get_loops(schedule.get_block(name))
        if name == "straight":
            schedule.bind(cta, "blockIdx.x")
        schedule.bind(thread, "threadIdx.x")
    return schedule.func


@pytest.mark.parametrize("orders", [1, 4])
def test_a_write_over_a_write_of_another_thread_waits_for_it(orders: int) -> None:
    a, c = np.arange(2 * THREADS, dtype=np.float32).reshape(2, THREADS), np.zeros((2, THREADS), np.float32)
    report = tvm.simulate(on_threads(overwritten), a, c, schedules=orders)
    assert report.ok and not report.findings, str(report)
    np.testing.assert_array_equal(c, a[:, ::-1])
