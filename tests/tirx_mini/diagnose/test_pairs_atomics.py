"""Atomic operations and flags, judged by the PTX ISA: each kernel once right, once wrong in one detail."""

from __future__ import annotations

import pytest

from tests.tirx_mini.diagnose.pairs import Pair, pair, pairs_of
from tirx_mini.ir import PrimFunc
from tirx_mini.script import tirx as T


@pair("TX201", "hazard", isa="red has no result, so it acquires nothing", zeros=True)
def a_histogram_read_by_one_of_its_warps(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(D: T.Buffer((32,), "float32")):
        T.device_entry()
        warp = T.warp_id([2])
        lane = T.lane_id([32])
        counts = T.alloc_shared((32,), "uint32")
        if warp == 0:
            counts[lane] = T.uint32(0)
        T.cuda.cta_sync()
        T.ptx.red(counts.ptr_to([lane // 4]), T.uint32(1), op="add", space="shared", scope="cta")
        if wrong:
            T.cuda.warp_sync()
        else:
            T.cuda.cta_sync()
        if warp == 0:
            D[lane] = T.float32(counts[lane])  # wrong

    return kernel


@pair("TX201", "hazard", isa="observation order is that of one execution", zeros=True)
def a_count_that_nobody_looks_at(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(N: T.Buffer((1,), "uint32"), D: T.Buffer((2,), "uint32")):
        T.device_entry()
        cta = T.cta_id([2])
        lane = T.thread_id([32])
        if lane == 0:
            old = T.ptx.atom(N.ptr_to([0]), T.uint32(1), op="add", sem="acq_rel", scope="gpu")
            D[cta] = old
            if wrong:
                if cta == 1:
                    D[cta] = N[0]  # wrong
            else:
                if old == T.uint32(1):
                    D[cta] = N[0]

    return kernel


@pair("TX201", "hazard", isa="ld.acquire synchronises with the release that it reads", zeros=True)
def a_flag_that_is_read_once(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(F: T.Buffer((1,), "uint32"), X: T.Buffer((1,), "float32"), D: T.Buffer((2,), "float32")):
        T.device_entry()
        cta = T.cta_id([2])
        lane = T.thread_id([32])
        if lane == 0:
            if cta == 0:
                X[0] = 1.0
                T.ptx.st(F.ptr_to([0]), T.uint32(1), sem="release", scope="gpu", space="global")
            else:
                for _ in T.serial(200):
                    D[1] = 0.0
                seen = T.ptx.ld(F.ptr_to([0]), sem="acquire", scope="gpu")
                if wrong:
                    D[0] = T.float32(seen)
                    D[1] = X[0]  # wrong
                else:
                    if seen == T.uint32(1):
                        D[1] = X[0]

    return kernel


@pair("TX201", "hazard", isa="fence.acq_rel after a relaxed read that decides nothing", zeros=True)
def a_fence_behind_a_count_that_nobody_looks_at(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(N: T.Buffer((1,), "uint32"), X: T.Buffer((2,), "float32"), D: T.Buffer((2,), "float32")):
        T.device_entry()
        cta = T.cta_id([2])
        lane = T.thread_id([32])
        if lane == 0:
            X[cta] = 1.0  # wrong
            T.ptx.fence.acq_rel(scope="gpu")
            old = T.ptx.atom(N.ptr_to([0]), T.uint32(1), op="add", scope="gpu")
            T.ptx.fence.acq_rel(scope="gpu")
            if wrong:
                D[cta] = X[1 - cta]  # wrong
            else:
                if old == T.uint32(1):
                    D[cta] = X[1 - cta]

    return kernel


@pair("TX201", "hazard", isa="the last block of a reduction", zeros=True)
def the_last_cta_sums_up(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(N: T.Buffer((1,), "uint32"), X: T.Buffer((4, 32), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        cta = T.cta_id([4])
        tx = T.thread_id([64])
        last = T.alloc_shared((1,), "uint32")
        if tx < 32:
            X[cta, tx] = 1.0
        if wrong:
            T.ptx.fence.acq_rel(scope="cta")
        else:
            T.ptx.fence.acq_rel(scope="gpu")
        T.cuda.cta_sync()
        if tx == 0:
            last[0] = T.ptx.atom(N.ptr_to([0]), T.uint32(1), op="add", scope="gpu")
        T.cuda.cta_sync()
        if last[0] == T.uint32(3):
            T.ptx.fence.acq_rel(scope="gpu")
            if tx < 32:
                D[tx] = X[0, tx] + X[1, tx] + X[2, tx] + X[3, tx]  # wrong
            if tx == 0:
                N[0] = T.uint32(0)

    return kernel


def handed_over(nc: bool, evict: str = "") -> PrimFunc:
    @T.prim_func
    def kernel(F: T.Buffer((1,), "uint32"), X: T.Buffer((32,), "uint32"), D: T.Buffer((32,), "uint32")):
        T.device_entry()
        cta = T.cta_id([2])
        lane = T.thread_id([32])
        if cta == 1:
            X[lane] = T.uint32(3)
            T.cuda.warp_sync()
            if lane == 0:
                T.ptx.st(F.ptr_to([0]), T.uint32(1), sem="release", scope="gpu", space="global")
        else:
            while T.ptx.ld(F.ptr_to([0]), sem="acquire", scope="gpu") != T.uint32(1):
                pass
            D[lane] = T.ptx.ld(X.ptr_to([lane]), type="u32", nc=nc, evict=evict)  # wrong

    return kernel


@pair("TX201", "hazard", isa="ld.global.nc: read-only memory", zeros=True)
def a_value_that_another_cta_wrote_through_the_read_only_cache(wrong: bool) -> PrimFunc:
    return handed_over(nc=wrong)


@pair("TX201", "ok", isa="ld.global.nc: read-only memory", zeros=True)
def a_value_that_the_read_only_cache_does_not_keep(wrong: bool) -> PrimFunc:
    return handed_over(nc=wrong, evict="L1::no_allocate" if wrong else "")


@pair("TX201", "hazard", isa="ld.global.nc: read-only memory, the bytes that are written")
def a_table_beside_the_results(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(X: T.Buffer((64,), "uint32"), D: T.Buffer((32,), "uint32")):
        T.device_entry()
        lane = T.thread_id([32])
        X[lane] = T.uint32(5)
        T.cuda.cta_sync()
        D[lane] = T.ptx.ld(X.ptr_to([31 - lane if wrong else 32 + lane]), type="u32", nc=True)  # wrong

    return kernel


@pair("TX201", "ok", isa="memory consistency model: no data race, and two legal results", zeros=True)
def a_zero_among_the_reductions(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(D: T.Buffer((32,), "float32")):
        T.device_entry()
        cta = T.cta_id([2])
        lane = T.thread_id([32])
        if wrong:
            if cta == 0:
                T.ptx.st(D.ptr_to([lane]), T.float32(0.0), sem="relaxed", scope="gpu", space="global")  # wrong
        T.ptx.red(D.ptr_to([lane]), T.float32(1.0), op="add", scope="gpu")  # wrong

    return kernel


PAIRS = pairs_of(globals())


@pytest.mark.parametrize("wrong", [False, True], ids=["right", "wrong"])
@pytest.mark.parametrize("kernel", PAIRS, ids=[p.name for p in PAIRS])
def test_the_verdict_is_the_isas(kernel: Pair, wrong: bool) -> None:
    assert not (said := kernel.disagreement(wrong)), said
