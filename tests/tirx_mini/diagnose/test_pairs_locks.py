"""Locks that the lanes of one warp take in turn, judged by the PTX ISA: each kernel once right, once wrong."""

from __future__ import annotations

import pytest

from tests.tirx_mini.diagnose.pairs import Pair, pair, pairs_of
from tirx_mini.ir import PrimFunc
from tirx_mini.script import tirx as T


@pair("TX214", "hazard", isa="release and acquire patterns: lanes are threads", zeros=True, result=lambda L: [32.0])
def a_lock_of_each_lane_after_the_other(wrong: bool) -> PrimFunc:
    order = "relaxed" if wrong else "release"

    @T.prim_func
    def kernel(L: T.Buffer((1,), "uint32"), D: T.Buffer((1,), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        for i in T.serial(32):
            if lane == i:
                while T.ptx.atom(L.ptr_to([0]), T.uint32(1), op="exch", sem="acquire", scope="gpu") != T.uint32(0):
                    T.ptx["nanosleep.u32"](20)
                D[0] = D[0] + 1.0  # wrong
                T.ptx.st(L.ptr_to([0]), T.uint32(0), sem=order, scope="gpu", space="global")

    return kernel


@pair("TX214", "hazard", isa="release and acquire patterns: lanes are threads", zeros=True, result=lambda L: [32.0])
def a_lock_that_any_lane_may_get(wrong: bool) -> PrimFunc:
    order = "relaxed" if wrong else "acquire"

    @T.prim_func
    def kernel(L: T.Buffer((1,), "uint32"), D: T.Buffer((1,), "float32")):
        T.device_entry()
        T.thread_id([32])
        done = T.alloc_local((1,), "int32")
        done[0] = 0
        while done[0] == 0:
            if T.ptx.atom(L.ptr_to([0]), T.uint32(1), op="exch", sem=order, scope="gpu") == T.uint32(0):
                D[0] = D[0] + 1.0  # wrong
                T.ptx.st(L.ptr_to([0]), T.uint32(0), sem="release", scope="gpu", space="global")
                done[0] = 1

    return kernel


@pair("TX214", "hazard", isa="fence: release and acquire patterns", zeros=True, result=lambda L: [32.0])
def a_lock_with_fences(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(L: T.Buffer((1,), "uint32"), D: T.Buffer((1,), "float32")):
        T.device_entry()
        T.thread_id([32])
        done = T.alloc_local((1,), "int32")
        done[0] = 0
        while done[0] == 0:
            if T.ptx.atom(L.ptr_to([0]), T.uint32(1), op="exch", sem="relaxed", scope="gpu") == T.uint32(0):
                if not wrong:
                    T.ptx.fence.acq_rel(scope="cta")
                D[0] = D[0] + 1.0  # wrong
                T.ptx.fence.acq_rel(scope="cta")
                T.ptx.atom(L.ptr_to([0]), T.uint32(0), op="exch", sem="relaxed", scope="gpu")
                done[0] = 1

    return kernel


@pair(("TX201", "TX214"), "hazard", isa="release and acquire patterns: warps and lanes", zeros=True)
def a_lock_of_the_lanes_of_two_warps(wrong: bool) -> PrimFunc:
    order = "relaxed" if wrong else "release"

    @T.prim_func
    def kernel(L: T.Buffer((1,), "uint32"), D: T.Buffer((1,), "float32")):
        T.device_entry()
        tx = T.thread_id([64])
        for i in T.serial(64):
            if tx == i:
                while T.ptx.atom(L.ptr_to([0]), T.uint32(1), op="exch", sem="acquire", scope="gpu") != T.uint32(0):
                    T.ptx["nanosleep.u32"](20)
                D[0] = D[0] + 1.0  # wrong
                T.ptx.st(L.ptr_to([0]), T.uint32(0), sem=order, scope="gpu", space="global")

    return kernel


@pair("TX214", "hazard", isa="release and acquire patterns: what comes before the release", zeros=True)
def a_ticket_that_a_lane_waits_for(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(L: T.Buffer((2,), "uint32"), D: T.Buffer((1,), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        for i in T.serial(32):
            if lane == 31 - i:
                ticket = T.ptx.atom(L.ptr_to([0]), T.uint32(1), op="add", sem="relaxed", scope="gpu")
                while T.ptx.ld(L.ptr_to([1]), sem="acquire", scope="gpu") != ticket:
                    T.ptx["nanosleep.u32"](20)
                if wrong:
                    T.ptx.st(L.ptr_to([1]), ticket + T.uint32(1), sem="release", scope="gpu", space="global")
                D[0] = D[0] + 1.0  # wrong
                if not wrong:
                    T.ptx.st(L.ptr_to([1]), ticket + T.uint32(1), sem="release", scope="gpu", space="global")

    return kernel


PAIRS = pairs_of(globals())


@pytest.mark.parametrize("wrong", [False, True], ids=["right", "wrong"])
@pytest.mark.parametrize("kernel", PAIRS, ids=[p.name for p in PAIRS])
def test_the_verdict_is_the_isas(kernel: Pair, wrong: bool) -> None:
    assert not (said := kernel.disagreement(wrong)), said
