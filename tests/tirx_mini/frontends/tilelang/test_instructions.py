"""Builtins in kernels of TileLang, beside tile operations on the same memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirx_mini as tvm
import tirx_mini.tilelang.language as T
from tirx_mini.frontends.tilelang.pipeline import lower
from tirx_mini.ir import PrimFunc


@T.prim_func
def boxed(A: T.Tensor((64, 64), "float16"), O: T.Tensor((32, 64), "float16")):
    """A tile that a TMA load by its operands fills, row by row, and that T.copy stores."""
    with T.Kernel(1, threads=128):
        tile = T.alloc_shared((32, 64), "float16")
        bar = T.alloc_barrier(1)
        rows = T.create_tma_descriptor(6, 2, A.data, 64, 64, 2, 128, 64, 32, 1, 1, 0, 0, 2, 0)
        if T.get_thread_binding() == 0:
            T.mbarrier_expect_tx(bar, 4096)
            T.tma_load(rows, bar[0], T.access_ptr(tile, "w"), 0, 16, 0)
            T.mbarrier_arrive(bar)
        T.mbarrier_wait_parity(bar, 0)
        T.copy(tile, O)


@T.prim_func
def paired(O: T.Tensor((2, 32), "int32")):
    with T.Kernel(2, threads=32, cluster_dims=2):
        bar = T.alloc_cluster_barrier([64])
        rank = T.block_rank_in_cluster()
        T.cluster_sync()
        T.mbarrier_arrive(bar[0], 0)
        T.mbarrier_arrive(bar[0], 1)
        T.mbarrier_wait_parity(bar, 0)
        O[rank, T.get_thread_binding()] = rank + 1
        T.cluster_sync()


@T.prim_func
def summed(X: T.Tensor((8, 128), "float32"), Y: T.Tensor((8,), "float32")):
    with T.Kernel(8, threads=128) as bx:
        t = T.get_thread_binding()
        parts = T.alloc_shared((4,), "float32")
        value = T.alloc_var("float32")
        value = X[bx, t]
        for step in T.unroll(5):
            value += T.shfl_xor(value, 16 >> step)
        if T.get_lane_idx() == 0:
            parts[T.get_warp_idx_sync()] = value
        T.sync_threads()
        if T.shuffle_elect(0):
            Y[bx] = parts[0] + parts[1] + parts[2] + parts[3]


@T.prim_func
def indexed(O: T.Tensor((5,), "int32")):
    with T.Kernel(1, threads=(64, 4)):
        x, y = T.get_thread_binding(0), T.get_thread_binding(1)
        if x == 3:
            if y == 3:
                O[0] = T.get_lane_idx()
                O[1] = T.get_warp_idx()
                O[2] = T.get_warp_group_idx()
                for i in range(9):
                    if i == 4:
                        T.loop_break()
                    O[3] = i
                O[4] = T.get_lane_idx(64)


def floats(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(0).integers(-8, 9, shape).astype(dtype)


A, X = floats(64, 64, dtype=np.float16), floats(8, 128)
PROGRAMS = {
    "boxed": (boxed, (A,), A[16:48]),
    "paired": (paired, (), np.repeat(np.array([[1], [2]], np.int32), 32, 1)),
    "summed": (summed, (X,), X.sum(1)),
    "indexed": (indexed, (), np.array([3, 6, 1, 3, 3], np.int32)),
}


@pytest.mark.parametrize("gpu", ["h100", "b200"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_they_compute_that(name: str, gpu: str) -> None:
    func, inputs, wanted = PROGRAMS[name]
    assert isinstance(func, PrimFunc)
    out = np.zeros_like(wanted)
    kernel = lower(func, {"h100": "sm_90a", "b200": "sm_100a"}[gpu])
    report = tvm.simulate(kernel, *(np.array(each) for each in inputs), out, gpu=gpu, schedules=3)
    assert report.ok and not report.findings, report
    np.testing.assert_array_equal(out, wanted)
