"""Loops of MMAs that are known again: everything is as if each thread executed them."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.course import STEPS, default_kernels, load_kernels, make_arguments
from tirx_mini.script import from_source
from tirx_mini.sim import Gpu
from tirx_mini.sim.engines import WarpWgmma


@pytest.mark.parametrize(("step", "data"), [(3, True), (9, False)])
def test_the_report_and_the_results_are_the_same(step: int, data: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = load_kernels(default_kernels())[step](*STEPS[step].shape(512))
    a, b, d = make_arguments(kernel)
    other = d.copy()
    found: list[bool] = []
    known = Gpu.series

    def observed(gpu: Any, w: Any, key: Any) -> Any:
        times = known(gpu, w, key)
        found.append(times is not None)
        return times

    monkeypatch.setattr(Gpu, "series", observed)
    one = tvm.simulate(kernel, a, b, d, data=data, jobs=1)
    monkeypatch.setattr(Gpu, "series", lambda gpu, w, key: None)
    assert tvm.simulate(kernel, a, b, other, data=data, jobs=1) == one
    assert d.tobytes() == other.tobytes()
    assert sum(found) > len(found) / 2 > 0


def test_a_series_of_a_warpgroup_is_the_same_too(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = load_kernels(default_kernels(), "sm90")[8](*STEPS[8].shape(512))
    a, b, d = make_arguments(kernel)
    other = d.copy()
    found: list[bool] = []
    known = WarpWgmma.again

    def observed(wgmma: Any, key: Any, arrays: Any) -> bool:
        found.append(known(wgmma, key, arrays))
        return found[-1]

    monkeypatch.setattr(WarpWgmma, "again", observed)
    one = tvm.simulate(kernel, a, b, d, gpu="h100", jobs=1)
    monkeypatch.setattr(WarpWgmma, "again", lambda wgmma, key, arrays: False)
    assert tvm.simulate(kernel, a, b, other, gpu="h100", jobs=1) == one
    assert d.tobytes() == other.tobytes()
    assert sum(found) > len(found) / 2 > 0


DESCRIPTORS = """
from tirx_mini.layout import SwizzleMode, tma_shared_layout

@T.prim_func(tirx=True)
def kernel(A: T.Buffer((128, 64), "float16"), D: T.Buffer((8, 2, 128, 32), "float32")):
    with T.kernel():
        bx = T.cta_id([8], parent="kernel")
        wg_id = T.warpgroup_id([1], parent="cta")
        warp_id = T.warp_id([4], parent="warpgroup")
        lane_id = T.thread_id([32], parent="warp")
        pool = T.PoolAllocator()
        layout = tma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (128, 64))
        smem = pool.alloc((128, 64), "float16", layout=layout)
        pool.commit()
        acc = T.alloc_local((32,), "float32")
        steps = T.alloc_local((4,), "uint64")
        with T.cta():
            T.copy(smem[:, :], A[:, :])
        T.cuda.cta_sync()
        for half in range(2):
            with T.warpgroup():
                T.ptx.wgmma.encode_matrix_descriptor(T.address_of(steps[0]), smem.ptr_to([half * 64, 0]), 1, 64, 3)
                for j in range(1, 4):
                    steps[j] = steps[0] + T.cast(2 * j, "uint64")
                T.ptx.wgmma.fence()
                for k in range(4):
                    T.ptx.wgmma.mma_async(acc.ptr_to([0]), steps[k], steps[k], k != 0, n=64)
                T.ptx.wgmma.commit_group()
                T.ptx.wgmma.wait_group(0)
            for i in T.unroll(32):
                D[bx, half, warp_id * 32 + i, lane_id] = acc[i]
"""


def test_descriptors_from_an_array_are_read_each_time() -> None:
    a = np.random.default_rng(0).integers(-3, 4, (128, 64)).astype(np.float16)
    d = np.zeros((8, 2, 128, 32), np.float32)
    report = tvm.simulate(from_source(textwrap.dedent(DESCRIPTORS)), a, d, gpu="h100", jobs=1)
    assert report.verdict == "ok"
    assert (d == d[0]).all()  # of clusters that are alike, the first one is checked
    halves = a.astype(np.float64).reshape(2, 64, 64)
    assert d[0].sum(axis=(1, 2)).tolist() == (halves @ halves.transpose(0, 2, 1)).sum(axis=(1, 2)).tolist()
