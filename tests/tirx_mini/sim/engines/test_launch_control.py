"""clusterlaunchcontrol: running CTAs take over the work of those that have not begun."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.hardware import B200
from tirx_mini.ir import PrimFunc
from tirx_mini.script import tirx as T

TILES = 40


def persistent(wait: bool = True) -> PrimFunc:
    """Each tile gets its number and one more, from whichever CTA works on it."""

    @T.prim_func
    def kernel(O: T.Buffer((TILES, 32), "int32"), count: T.Buffer((1,), "int32")):
        T.device_entry()
        bx = T.cta_id([TILES])
        tx = T.thread_id([32])
        answer = T.alloc_shared((4,), "uint32", align=16)
        room = T.alloc_shared((160 * 256,), "float32")
        bar = T.alloc_shared((1,), "uint64")
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            T.ptx.fence.mbarrier_init()
        T.cuda.cta_sync()
        tile: T.uint32 = T.Cast("uint32", bx)
        phase: T.int32 = 0
        while tile != T.uint32(0xFFFFFFFF):
            if tx == 0:
                T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 16)
                T.ptx.clc_try_cancel(answer.ptr_to([0]), bar.ptr_to([0]))
            O[T.Cast("int32", tile), tx] = T.Cast("int32", tile) + 1
            if wait:
                T.ptx.mbarrier.try_wait(bar.ptr_to([0]), phase)
            phase = phase ^ 1
            tile = T.ptx.clc_query_cancel(answer.ptr_to([0]))
            T.ptx.fence.proxy_async("shared::cta")
            T.cuda.cta_sync()
        if tx == 0:
            T.ptx.red(count.ptr_to([0]), 1, op="add")

    return kernel


def test_ctas_take_over_what_has_not_begun() -> None:
    gpu = dataclasses.replace(B200, sms=4)
    out, count = np.zeros((TILES, 32), np.int32), np.zeros(1, np.int32)
    report = tvm.simulate(persistent(), out, count, gpu=gpu)
    assert report.verdict == "ok" and not report.findings, report
    np.testing.assert_array_equal(out, np.arange(1, TILES + 1)[:, None] + np.zeros(32, np.int32))
    assert 4 <= count[0] < TILES


def test_an_answer_that_nobody_waits_for_is_a_race() -> None:
    report = tvm.simulate(persistent(wait=False), np.zeros((TILES, 32), np.int32), np.zeros(1, np.int32), gpu="b200")
    assert {"TX201", "TX207"} & {finding.code for finding in report.findings}


@pytest.mark.compiler
def test_it_assembles() -> None:
    ptx = tvm.compile(tvm.IRModule({"main": persistent()}), target="cuda:sm_100a").source("ptx")
    assert "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes" in ptx
    assert "multicast::cluster::all" in ptx
    assert "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128" in ptx
