"""Multicasts whose CTAs are computed at run time: tiles and commits come to the CTAs of the mask, and to no other."""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.ir import PrimFunc, structural_equal
from tirx_mini.script import from_source
from tirx_mini.script import tirx as T


def columns(others: int) -> PrimFunc:
    """Each CTA of a 2 × 2 cluster loads half of a tile for its column; a commit tells the CTAs of its row.

    others: added to the masks; 1 turns them to the wrong CTAs.
    """

    @T.prim_func
    def kernel(A: T.Buffer((2, 64, 64), "float16"), D: T.Buffer((4, 64, 64), "float16")):
        T.device_entry()
        bx, by = T.cta_id([2, 2])
        x, y = T.cta_id_in_cluster([2, 2])
        tx = T.thread_id([64])
        full = T.alloc_shared((1,), "uint64")
        told = T.alloc_shared((1,), "uint64")
        tile = T.alloc_shared((64, 64), "float16", align=128)
        if tx == 0:
            T.ptx.mbarrier.init(full.ptr_to([0]), 1)
            T.ptx.mbarrier.init(told.ptr_to([0]), 2)
            T.ptx.fence.mbarrier_init()
        T.cuda.cluster_sync()
        if tx == 0:
            T.ptx.mbarrier.arrive.expect_tx(full.ptr_to([0]), 8192)
            with T.thread():
                T.copy_async(
                    tile[y * 32 : y * 32 + 32, :], A[x, y * 32 : y * 32 + 32, :], dispatch="tma",
                    mbar=full.ptr_to([0]), cta_mask=(5 << x) + others,
                )  # fmt: skip
            T.ptx.tcgen05.commit(told.ptr_to([0]), cta_group=1, cta_mask=(3 << (y * 2)) + others)
        T.ptx.mbarrier.try_wait(full.ptr_to([0]), 0)
        T.ptx.mbarrier.try_wait(told.ptr_to([0]), 0)
        for i in T.serial(64):
            D[x + 2 * y, i, tx] = tile[i, tx]
        T.cuda.cluster_sync()

    return kernel


def test_tiles_and_commits_come_to_the_ctas_of_the_mask() -> None:
    kernel = columns(0)
    assert structural_equal(kernel, from_source(kernel.script()))
    a = np.arange(2 * 64 * 64).reshape(2, 64, 64).astype(np.float16)
    d = np.zeros((4, 64, 64), np.float16)
    report = tvm.simulate(kernel, a, d)
    assert report.verdict == "ok" and not report.findings, str(report)
    assert (d == a[[0, 1, 0, 1]]).all()


def test_a_mask_of_other_ctas_leaves_some_waiting() -> None:
    report = tvm.simulate(columns(1), np.zeros((2, 64, 64), np.float16), np.zeros((4, 64, 64), np.float16))
    assert report.verdict in ("deadlock", "fault")


@pytest.mark.compiler
def test_the_mask_is_a_register() -> None:
    ptx = tvm.compile(tvm.IRModule({"main": columns(0)}), target="cuda:sm_100a").source("ptx")
    for form in ("complete_tx::bytes.multicast::cluster", "shared::cluster.multicast::cluster.b64"):
        assert form in ptx
