"""Requests for further clusters, and counts of registers, judged by the PTX ISA: each kernel once right, once wrong."""

from __future__ import annotations

from typing import Literal

import pytest

from tests.tirx_mini.diagnose.pairs import Pair, pair, pairs_of
from tirx_mini.ir import PrimFunc
from tirx_mini.script import tirx as T

NONE = 0xFFFFFFFF


def asked(again: Literal["", "same thread", "other warp", "first"]) -> PrimFunc:
    """A CTA asks until no cluster is left. again: who asks once more, after that answer or before anything is seen."""

    @T.prim_func
    def kernel(D: T.Buffer((64,), "int32")):
        T.device_entry()
        T.cta_id([1])
        tx = T.thread_id([64])
        answer = T.alloc_shared((4,), "uint32", align=16)
        second = T.alloc_shared((4,), "uint32", align=16)
        bars = T.alloc_shared((2,), "uint64")
        if tx == 0:
            for i in range(2):
                T.ptx.mbarrier.init(bars.ptr_to([i]), 1)
            T.ptx.fence.mbarrier_init()
        T.cuda.cta_sync()
        if tx == 0:
            T.ptx.mbarrier.arrive.expect_tx(bars.ptr_to([0]), 16)
            T.ptx.clc_try_cancel(answer.ptr_to([0]), bars.ptr_to([0]))
            if again == "first":
                T.ptx.mbarrier.arrive.expect_tx(bars.ptr_to([1]), 16)
                T.ptx.clc_try_cancel(second.ptr_to([0]), bars.ptr_to([1]))
        T.ptx.mbarrier.try_wait(bars.ptr_to([0]), 0)
        tile = T.ptx.clc_query_cancel(answer.ptr_to([0]))
        if tile == T.uint32(NONE):
            D[tx] = 1
        T.cuda.cta_sync()
        if again == "same thread" or again == "other warp":
            if tx == (0 if again == "same thread" else 32):
                T.ptx.mbarrier.arrive.expect_tx(bars.ptr_to([1]), 16)
                T.ptx.clc_try_cancel(second.ptr_to([0]), bars.ptr_to([1]))  # wrong
        if again:
            T.ptx.mbarrier.try_wait(bars.ptr_to([1]), 0)

    return kernel


@pair("TX307", "fault", isa="clusterlaunchcontrol.try_cancel: after a failure that was seen")
def a_request_after_a_failure(wrong: bool) -> PrimFunc:
    return asked("same thread" if wrong else "")


@pair("TX307", "fault", isa="clusterlaunchcontrol.try_cancel: the executing CTA has seen it")
def a_request_by_another_warp_after_a_failure(wrong: bool) -> PrimFunc:
    return asked("other warp" if wrong else "first")


@pair("TX307", "fault", isa="clusterlaunchcontrol.try_cancel: after a failure that was seen")
def a_loop_that_ends_a_request_too_late(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(D: T.Buffer((64, 32), "int32")):
        T.device_entry()
        cta = T.cta_id([64])
        lane = T.thread_id([32])
        answer = T.alloc_shared((4,), "uint32", align=16)
        bar = T.alloc_shared((1,), "uint64")
        if lane == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            T.ptx.fence.mbarrier_init()
        T.cuda.cta_sync()
        D[cta, lane] = 1
        rounds: T.int32 = 0
        tile: T.uint32 = T.uint32(0)
        late: T.int32 = 1 if wrong else 0
        while tile != T.uint32(NONE) or late > 0:
            if tile == T.uint32(NONE):
                late = late - 1
            if lane == 0:
                T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 16)
                T.ptx.clc_try_cancel(answer.ptr_to([0]), bar.ptr_to([0]))  # wrong
            T.ptx.mbarrier.try_wait(bar.ptr_to([0]), rounds % 2)
            tile = T.ptx.clc_query_cancel(answer.ptr_to([0]))
            T.ptx.fence.proxy_async("shared::cta")
            T.cuda.cta_sync()
            rounds = rounds + 1

    return kernel


def counted(first: int, second: int, *, up: bool) -> PrimFunc:
    """A warpgroup gives registers up and then asks for another number."""

    @T.prim_func
    def kernel(A: T.Buffer((128,), "float32"), D: T.Buffer((128,), "float32")):
        T.device_entry()
        tx = T.thread_id([128])
        T.ptx.setmaxnreg.dec(first)
        T.ptx.bar.sync(1, 128)
        if up:
            T.ptx.setmaxnreg.inc(second)  # wrong
        else:
            T.ptx.setmaxnreg.dec(second)  # wrong
        D[tx] = A[tx]

    return kernel


@pair("TX307", "ok", isa="setmaxnreg.inc: not below the current count", result=lambda A: A)
def an_increase_to_less(wrong: bool) -> PrimFunc:
    return counted(96, 88 if wrong else 96, up=True)


@pair("TX307", "fault", isa="setmaxnreg.dec: not above the current count", result=lambda A: A)
def a_decrease_to_more(wrong: bool) -> PrimFunc:
    return counted(96, 104 if wrong else 96, up=False)


PAIRS = pairs_of(globals())


@pytest.mark.parametrize("wrong", [False, True], ids=["right", "wrong"])
@pytest.mark.parametrize("kernel", PAIRS, ids=[p.name for p in PAIRS])
def test_the_verdict_is_the_isas(kernel: Pair, wrong: bool) -> None:
    assert not (said := kernel.disagreement(wrong)), said
