"""Tests of mbarriers whose answers decide what comes next, judged by the PTX ISA: each once right, once wrong."""

from __future__ import annotations

import pytest

from tests.tirx_mini.diagnose.pairs import Pair, pair, pairs_of
from tirx_mini.ir import PrimFunc
from tirx_mini.script import tirx as T

MISSING = ("TX111", "TX102", "TX112", "TX107", "TX113", "TX104")


def asked_by_two(*, apart: bool, late: bool = False, at: str = "named") -> PrimFunc:
    """Warps 0 and 1 go to a barrier if a phase that warp 2 completes is complete: each asks for itself, or warp 0 for
    both. late: whether warp 2 has much to do before. at: the barrier: "named", "mbarrier" or "state".
    """

    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((64,), "float32")):
        T.device_entry()
        warp = T.warp_id([3])
        lane = T.lane_id([32])
        told = T.alloc_shared((1,), "int32")
        bars = T.alloc_shared((2,), "uint64")
        if warp == 0 and lane == 0:
            T.ptx.mbarrier.init(bars.ptr_to([0]), 32)
            T.ptx.mbarrier.init(bars.ptr_to([1]), 64)
            told[0] = 0
        T.cuda.cta_sync()
        if warp == 2:
            if late:
                for _ in T.serial(300):
                    T.ptx["nanosleep.u32"](20)
            T.ptx.mbarrier.arrive(bars.ptr_to([0]))
        else:
            go: T.int32 = 0
            if apart:
                if T.ptx.mbarrier.test_wait(bars.ptr_to([0]), 0):
                    go = 1
            else:
                if warp == 0 and lane == 0:
                    if T.ptx.mbarrier.test_wait(bars.ptr_to([0]), 0):
                        told[0] = 1
                T.ptx.bar.sync(2, 64)
                go = told[0]
            if go == 1:
                if at == "named":
                    T.ptx.bar.sync(1, 64)  # wrong
                else:
                    T.ptx.mbarrier.arrive(bars.ptr_to([1]))
                    T.ptx.mbarrier.try_wait(bars.ptr_to([1]), 0)  # wrong
            D[warp * 32 + lane] = 1.0

    return kernel


@pair(MISSING, "deadlock", isa="mbarrier.test_wait: another answer in another warp")
def warps_that_each_ask_before_a_named_barrier(wrong: bool) -> PrimFunc:
    return asked_by_two(apart=wrong)


@pair(MISSING, "deadlock", isa="mbarrier.test_wait: not complete yet in one warp")
def warps_that_each_ask_before_the_phase_is_complete(wrong: bool) -> PrimFunc:
    return asked_by_two(apart=wrong, late=True)


@pair(MISSING, "deadlock", isa="mbarrier.test_wait: another answer in another warp")
def warps_that_each_ask_before_an_mbarrier(wrong: bool) -> PrimFunc:
    return asked_by_two(apart=wrong, at="mbarrier")


@pair(MISSING, "deadlock", isa="mbarrier.try_wait: it may return false after its time", result=lambda A: A + A[::-1])
def a_try_that_decides_who_synchronises(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        warp = T.warp_id([2])
        lane = T.lane_id([32])
        words = T.alloc_shared((32,), "float32")
        bar = T.alloc_shared((1,), "uint64")
        if warp == 0 and lane == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 32)
        T.cuda.cta_sync()
        if warp == 1:
            words[lane] = A[lane]
            T.ptx.mbarrier.arrive(bar.ptr_to([0]))
            if wrong:
                T.ptx.bar.sync(1, 64)  # wrong
        else:
            if T.ptx.mbarrier.try_wait_once(bar.ptr_to([0]), 0, 100):
                if wrong:
                    T.ptx.bar.sync(1, 64)  # wrong
            else:
                T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
            D[lane] = A[lane] + words[31 - lane]

    return kernel


@pair(MISSING, "deadlock", isa="mbarrier.test_wait: a loop that asks until the phase is complete")
def a_loop_that_asks_once(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((64,), "float32")):
        T.device_entry()
        warp = T.warp_id([3])
        lane = T.lane_id([32])
        bar = T.alloc_shared((1,), "uint64")
        if warp == 0 and lane == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 32)
        T.cuda.cta_sync()
        done: T.int32 = 0
        if warp == 2:
            T.ptx.mbarrier.arrive(bar.ptr_to([0]))
        else:
            if wrong:
                for _ in T.serial(3):
                    if T.ptx.mbarrier.test_wait(bar.ptr_to([0]), 0):
                        done = 1
            else:
                while done == 0:
                    if T.ptx.mbarrier.test_wait(bar.ptr_to([0]), 0):
                        done = 1
            if done == 1:
                T.ptx.bar.sync(1, 64)  # wrong
            D[warp * 32 + lane] = 1.0

    return kernel


PAIRS = pairs_of(globals())


@pytest.mark.parametrize("wrong", [False, True], ids=["right", "wrong"])
@pytest.mark.parametrize("kernel", PAIRS, ids=[p.name for p in PAIRS])
def test_the_verdict_is_the_isas(kernel: Pair, wrong: bool) -> None:
    assert not (said := kernel.disagreement(wrong)), said
