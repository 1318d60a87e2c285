"""Memory and asynchronous copies, judged by the PTX ISA: each kernel once right, once wrong in one detail."""

from __future__ import annotations

import pytest

from tests.tirx_mini.diagnose.pairs import Pair, pair, pairs_of
from tirx_mini.ir import PrimFunc
from tirx_mini.script import tirx as T


@pair("TX201", "hazard", isa="causality order: write after write between warps")
def two_warps_write_one_word(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((64,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        tx = T.thread_id([64])
        if wrong or tx < 32:
            D[tx % 32] = A[tx]  # wrong

    return kernel


@pair("TX206", "ok", isa="causality order: equal values", result=lambda A: A[[9] * 2])
def two_warps_write_one_value(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((64,), "float32"), D: T.Buffer((2,), "float32")):
        T.device_entry()
        warp = T.warp_id([2])
        lane = T.lane_id([32])
        if lane == 0:
            D[0 if wrong else warp] = A[9]  # wrong
            if wrong:
                D[1] = A[9]  # wrong

    return kernel


@pair("TX201", "hazard", isa="causality order: values that are equal in this run only", zeros=True)
def two_warps_write_values_that_happen_to_be_equal(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((64,), "float32"), D: T.Buffer((2,), "float32")):
        T.device_entry()
        warp = T.warp_id([2])
        lane = T.lane_id([32])
        if lane == 0:
            D[0 if wrong else warp] = A[warp]  # wrong

    return kernel


def through_global(*, sync: bool, ctas: int = 1) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((64,), "float32"), D: T.Buffer((128,), "float32")):
        T.device_entry()
        bx = T.cta_id([ctas])
        tx = T.thread_id([64 // ctas])
        i = bx * (64 // ctas) + tx
        D[64 + i] = A[i]
        if sync:
            T.cuda.cta_sync()
            T.ptx.fence.acq_rel("gpu")
        D[i] = D[64 + (i + 32) % 64]  # wrong

    return kernel


@pair("TX201", "hazard", isa="causality order: read after write between warps")
def one_warp_reads_what_another_wrote_to_global_memory(wrong: bool) -> PrimFunc:
    return through_global(sync=not wrong)


@pair("TX201", "hazard", isa="bar.sync: of one CTA")
def a_cta_barrier_does_not_order_ctas(wrong: bool) -> PrimFunc:
    return through_global(sync=True, ctas=2 if wrong else 1)


@pair("TX201", "hazard", isa="causality order: weak accesses synchronise nothing", zeros=True)
def a_flag_in_global_memory(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), F: T.Buffer((1,), "int32"), D: T.Buffer((64,), "float32")):
        T.device_entry()
        warp = T.warp_id([2])
        lane = T.lane_id([32])
        if warp == 0:
            D[32 + lane] = A[lane]
            T.ptx.fence.acq_rel("gpu")
            T.cuda.warp_sync()
            if wrong and lane == 0:
                F[0] = 1  # wrong
        if not wrong:
            T.cuda.cta_sync()
        if warp == 1:
            if wrong:
                while F[0] == 0:  # wrong
                    T.ptx.fence.acq_rel("gpu")
            D[lane] = D[32 + lane]  # wrong

    return kernel


@pair("TX201", "hazard", isa="causality order: write after read, the first of several readers")
def a_write_after_three_readers(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((4,), "float32"), D: T.Buffer((128,), "float32")):
        T.device_entry()
        warp = T.warp_id([4])
        lane = T.lane_id([32])
        if warp < 3:
            D[warp * 32 + lane] = A[lane % 4]  # wrong
        if warp > 0:
            T.ptx.bar.sync(1, 96)
        if not wrong:
            T.cuda.cta_sync()
        if warp == 3 and lane == 0:
            A[0] = 7.0  # wrong

    return kernel


@pair(
    ("TX214", "TX201"), "hazard", isa="causality order: one array for two arguments", alias=True,
    result=lambda A: (A + 1) % 64,
)  # fmt: skip
def one_array_for_two_arguments(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((64,), "float32"), D: T.Buffer((64,), "float32")):
        T.device_entry()
        tx = T.thread_id([64])
        D[tx] = A[(tx + 1) % 64]

    return kernel


@pair("TX201", "hazard", isa="causality order: write after read in the next round", result=lambda A: A[::-1] * 3)
def one_buffer_and_one_barrier_a_round(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((64,), "float32"), D: T.Buffer((64,), "float32")):
        T.device_entry()
        tx = T.thread_id([64])
        words = T.alloc_shared((2, 64), "float32")
        total = T.alloc_local((1,), "float32")
        total[0] = 0.0
        for i in T.serial(3):
            words[0 if wrong else i % 2, tx] = A[tx]  # wrong
            T.cuda.cta_sync()
            total[0] = total[0] + words[0 if wrong else i % 2, 63 - tx]  # wrong
        D[tx] = total[0]

    return kernel


def copied(*, commit: bool = True, wait: int | None = 0, early: bool = False) -> PrimFunc:
    """Two groups of cp.async; each thread reads the second. `early`: the source is overwritten before the wait."""

    @T.prim_func
    def kernel(A: T.Buffer((64,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        tx = T.thread_id([32])
        words = T.alloc_shared((64,), "float32")
        for i in T.unroll(2):
            T.ptx.cp_async(words.ptr_to([i * 32 + tx]), A.ptr_to([i * 32 + tx]), bytes=4)  # wrong
            if commit:
                T.ptx.cp_async.commit_group()
        if early:
            A[32 + tx] = 0.0  # wrong
        if wait is not None:
            T.ptx.cp_async.wait_group(wait)
        D[tx] = words[32 + tx]  # wrong
        if not early:
            A[32 + tx] = 0.0  # wrong

    return kernel


UNWAITED = ("TX201", "TX207")


@pair(UNWAITED, "hazard", isa="cp.async.wait_group")
def a_copy_nobody_waits_for(wrong: bool) -> PrimFunc:
    return copied(wait=None if wrong else 0)


@pair(UNWAITED, "hazard", isa="cp.async.wait_group N: all but the last N groups")
def a_wait_that_leaves_the_last_group(wrong: bool) -> PrimFunc:
    return copied(wait=1 if wrong else 0)


@pair(UNWAITED, "hazard", isa="cp.async.commit_group")
def a_copy_in_no_group(wrong: bool) -> PrimFunc:
    return copied(commit=not wrong)


@pair("TX201", "hazard", isa="cp.async: weak read of the source, unordered until the wait")
def a_source_overwritten_before_the_wait(wrong: bool) -> PrimFunc:
    return copied(early=wrong)


def stored(*, space: str = "shared::cta", read_only: bool = False, again: bool = False, wait: bool = True) -> PrimFunc:
    """A tile goes by TMA to D; with `again`, shared memory gets other values after the wait."""

    @T.prim_func
    def kernel(A: T.Buffer((8, 32), "float32"), D: T.Buffer((8, 32), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        tile = T.alloc_shared((8, 32), "float32", align=128)
        for i in T.serial(8):
            tile[i, lane] = A[i, lane]  # wrong
        T.ptx.fence.proxy_async(space)
        T.cuda.warp_sync()
        if lane == 0:
            T.copy_async(D[:, :], tile[:, :], dispatch="tma")  # wrong
            T.ptx.cp_async.bulk.commit_group()
            if wait:
                T.ptx.cp_async.bulk.wait_group(0, read=read_only)
        T.cuda.warp_sync()
        if again:
            tile[0, lane] = 0.0  # wrong

    return kernel


@pair("TX202", "hazard", isa="fence.proxy.async: state space", result=lambda A: A)
def a_fence_for_another_state_space(wrong: bool) -> PrimFunc:
    return stored(space="global" if wrong else "shared::cta")


@pair(("TX201", "TX209"), "hazard", isa="cp.async.bulk.wait_group", result=lambda A: A)
def a_source_overwritten_before_the_store_has_read_it(wrong: bool) -> PrimFunc:
    return stored(again=True, read_only=True, wait=not wrong)


def loaded_back(space: str) -> PrimFunc:
    """Threads write global memory, and TMA loads it in the same kernel."""

    @T.prim_func
    def kernel(A: T.Buffer((8, 32), "float32"), W: T.Buffer((8, 32), "float32"), D: T.Buffer((8, 32), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        tile = T.alloc_shared((8, 32), "float32", align=128)
        bar = T.alloc_shared((1,), "uint64")
        if lane == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            T.ptx.fence.mbarrier_init()
        for i in T.serial(8):
            W[i, lane] = A[i, lane] + 1.0  # wrong
        T.ptx.fence.proxy_async(space)
        T.cuda.cta_sync()
        if lane == 0:
            T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 1024)
            T.copy_async(tile[:, :], W[:, :], dispatch="tma", mbar=bar.ptr_to([0]))  # wrong
        T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
        for i in T.serial(8):
            D[i, lane] = tile[i, lane]

    return kernel


@pair("TX202", "hazard", isa="fence.proxy.async.global", result=lambda A, W: A + 1)
def global_memory_written_and_loaded_by_tma(wrong: bool) -> PrimFunc:
    return loaded_back("shared::cta" if wrong else "global")


PAIRS = pairs_of(globals())


@pytest.mark.parametrize("wrong", [False, True], ids=["right", "wrong"])
@pytest.mark.parametrize("kernel", PAIRS, ids=[p.name for p in PAIRS])
def test_the_verdict_is_the_isas(kernel: Pair, wrong: bool) -> None:
    assert not (said := kernel.disagreement(wrong)), said
