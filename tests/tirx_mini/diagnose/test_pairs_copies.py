"""Asynchronous copies and who may touch their memory when, by the PTX ISA: kernels once right, once wrong.

Long because each pair is a kernel of its own.
"""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini as tvm
from tests.tirx_mini.diagnose.pairs import Pair, pair, pairs_of
from tirx_mini.ir import PrimFunc
from tirx_mini.lang import MBarrier, TMABar
from tirx_mini.layout import SwizzleMode, tma_shared_layout, wgmma_accumulator_layout
from tirx_mini.script import tirx as T

TILE = tma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (64, 64))


@pair(("TX201", "TX214"), "hazard", isa="bar.warp.sync: the other lanes' writes before the copy", result=lambda A: A)
def a_copy_issued_before_the_lanes_have_met(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((8, 32), "float32"), D: T.Buffer((8, 32), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        tile = T.alloc_shared((8, 32), "float32", align=128)
        for i in T.serial(8):
            tile[i, lane] = A[i, lane]  # wrong
        T.ptx.fence.proxy_async("shared::cta")
        if not wrong:
            T.cuda.warp_sync()
        if lane == 0:
            T.copy_async(D[:, :], tile[:, :], dispatch="tma")  # wrong
            T.ptx.cp_async.bulk.commit_group()
            T.ptx.cp_async.bulk.wait_group(0)

    return kernel


def passed_on(*, noinc: bool, fence: bool = False) -> PrimFunc:
    """Warp 0 copies with cp.async and arrives; warp 1 waits and reads."""

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
        if warp == 0:
            T.ptx.cp_async(words.ptr_to([lane]), A.ptr_to([lane]), bytes=4)  # wrong
            if noinc:
                T.ptx.cp_async.mbarrier.arrive.noinc(bar.ptr_to([0]))
            else:
                T.ptx.mbarrier.arrive(bar.ptr_to([0]))
        else:
            T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
            D[lane] = words[lane]  # wrong

    return kernel


@pair(("TX201", "TX207"), "hazard", isa="cp.async.mbarrier.arrive.noinc", result=lambda A: A)
def an_arrival_that_does_not_wait_for_the_copy(wrong: bool) -> PrimFunc:
    return passed_on(noinc=not wrong)


@pair(("TX201", "TX207"), "hazard", isa="cp.async.wait_group: before the barrier", result=lambda A: A[::-1])
def a_wait_behind_the_barrier(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((64,), "float32"), D: T.Buffer((64,), "float32")):
        T.device_entry()
        tx = T.thread_id([64])
        words = T.alloc_shared((64,), "float32")
        T.ptx.cp_async(words.ptr_to([tx]), A.ptr_to([tx]), bytes=4)  # wrong
        T.ptx.cp_async.commit_group()
        if wrong:
            T.cuda.cta_sync()
            T.ptx.cp_async.wait_group(0)
        else:
            T.ptx.cp_async.wait_group(0)
            T.cuda.cta_sync()
        D[tx] = words[63 - tx]  # wrong

    return kernel


@pair(
    "TX201", "hazard", isa="cp.async: weak write of the destination, unordered until the wait", result=lambda A: 0 * A
)
def a_destination_written_before_the_wait(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        tx = T.thread_id([32])
        words = T.alloc_shared((32,), "float32")
        T.ptx.cp_async(words.ptr_to([tx]), A.ptr_to([tx]), bytes=4)  # wrong
        T.ptx.cp_async.commit_group()
        if wrong:
            words[tx] = 0.0  # wrong
        T.ptx.cp_async.wait_group(0)
        if not wrong:
            words[tx] = 0.0
        D[tx] = words[tx]  # wrong

    return kernel


@pair("TX202", "hazard", isa="cp.async is of the generic proxy", result=lambda A: A)
def a_tile_of_cp_async_stored_by_tma(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((8, 32), "float32"), D: T.Buffer((8, 32), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        tile = T.alloc_shared((8, 32), "float32", align=128)
        for i in T.serial(8):
            T.ptx.cp_async(tile.ptr_to([i, lane]), A.ptr_to([i, lane]), bytes=4)  # wrong
        T.ptx.cp_async.commit_group()
        T.ptx.cp_async.wait_group(0)
        if not wrong:
            T.ptx.fence.proxy_async("")
        T.cuda.warp_sync()
        if lane == 0:
            T.copy_async(D[:, :], tile[:, :], dispatch="tma")  # wrong
            T.ptx.cp_async.bulk.commit_group()
            T.ptx.cp_async.bulk.wait_group(0)

    return kernel


@pair("TX201", "hazard", isa="cp.async.bulk.wait_group: .read says nothing of the writes")
def global_memory_read_after_a_store(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((8, 32), "float32"), W: T.Buffer((8, 32), "float32"), D: T.Buffer((8, 32), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        tile = T.alloc_shared((8, 32), "float32", align=128)
        for i in T.serial(8):
            tile[i, lane] = A[i, lane]
        T.ptx.fence.proxy_async("shared::cta")
        T.cuda.warp_sync()
        if lane == 0:
            T.copy_async(W[:, :], tile[:, :], dispatch="tma")  # wrong
            T.ptx.cp_async.bulk.commit_group()
            T.ptx.cp_async.bulk.wait_group(0, read=wrong)
        T.cuda.warp_sync()
        for i in T.serial(8):
            D[i, lane] = W[i, lane]  # wrong

    return kernel


def two_stores(left: int, reuse: int) -> PrimFunc:
    """Two TMA stores, of which `left` may still read when tile `reuse` is overwritten."""

    @T.prim_func
    def kernel(A: T.Buffer((8, 32), "float32"), D: T.Buffer((16, 32), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        tile = T.alloc_shared((2, 8, 32), "float32", align=128)
        for i in T.serial(8):
            tile[0, i, lane] = A[i, lane]
            tile[1, i, lane] = A[i, lane]
        T.ptx.fence.proxy_async("shared::cta")
        T.cuda.warp_sync()
        if lane == 0:
            for s in T.unroll(2):
                T.copy_async(D[s * 8 : s * 8 + 8, :], tile[s, :, :], dispatch="tma")  # wrong
                T.ptx.cp_async.bulk.commit_group()
            T.ptx.cp_async.bulk.wait_group(left, read=True)
        T.cuda.warp_sync()
        tile[reuse, 0, lane] = -1.0  # wrong
        if lane == 0:
            T.ptx.cp_async.bulk.wait_group(0)

    return kernel


@pair("TX201", "hazard", isa="cp.async.bulk.wait_group N: the N latest may be pending")
def the_tile_of_the_last_store_is_reused(wrong: bool) -> PrimFunc:
    return two_stores(1, 1 if wrong else 0)


@pair("TX201", "hazard", isa="cp.async.bulk.wait_group N")
def one_store_too_many_is_left(wrong: bool) -> PrimFunc:
    return two_stores(2 if wrong else 1, 0)


def load_rounds(*, release: bool, laps: int = 3) -> PrimFunc:
    """Warp 0 loads one tile again and again, warp 1 sums it up. `release`: the loads wait until the tile is read."""

    @T.prim_func
    def kernel(A: T.Buffer((24, 32), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        warp = T.warp_id([2])
        lane = T.lane_id([32])
        tile = T.alloc_shared((8, 32), "float32", align=128)
        full = T.alloc_shared((1,), "uint64")
        empty = T.alloc_shared((1,), "uint64")
        if warp == 0 and lane == 0:
            T.ptx.mbarrier.init(full.ptr_to([0]), 1)
            T.ptx.mbarrier.init(empty.ptr_to([0]), 32 if release else 1)
            T.ptx.fence.mbarrier_init()
        T.cuda.cta_sync()
        phase = 0
        if warp == 0:
            if T.ptx.elect_sync():
                for k in T.serial(laps):
                    T.ptx.mbarrier.try_wait(empty.ptr_to([0]), phase ^ 1)
                    T.ptx.mbarrier.arrive.expect_tx(full.ptr_to([0]), 1024)
                    T.copy_async(tile[:, :], A[k * 8 : k * 8 + 8, :], dispatch="tma", mbar=full.ptr_to([0]))  # wrong
                    phase = phase ^ 1
        else:
            total = 0.0
            for _k in T.serial(laps):
                T.ptx.mbarrier.try_wait(full.ptr_to([0]), phase)
                if not release:
                    if lane == 0:
                        T.ptx.mbarrier.arrive(empty.ptr_to([0]))
                for i in T.serial(8):
                    total = total + tile[i, lane]  # wrong
                if release:
                    T.ptx.fence.proxy_async("shared::cta")
                    T.ptx.mbarrier.arrive(empty.ptr_to([0]))
                phase = phase ^ 1
            D[lane] = total

    return kernel


@pair("TX201", "hazard", isa="mbarrier.arrive: release of what came before it", result=lambda A: A.sum(0))
def a_stage_given_back_before_it_is_read(wrong: bool) -> PrimFunc:
    return load_rounds(release=not wrong)


@pair(
    ("TX124", "TX201"), ("hazard", "fault", "deadlock"), isa="bar.sync: barrier 0 is __syncthreads'", result=lambda A: A
)
def barrier_0_for_a_group(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((96,), "float32"), D: T.Buffer((96,), "float32")):
        T.device_entry()
        warp = T.warp_id([3])
        lane = T.lane_id([32])
        if warp < 2:
            T.ptx.bar.sync(0 if wrong else 1, 64)  # wrong
        T.cuda.cta_sync()  # wrong
        D[warp * 32 + lane] = A[warp * 32 + lane]

    return kernel


@pair(("TX214", "TX201"), "hazard", isa="mbarrier.init: before the use by another lane", result=lambda A: A)
def a_barrier_used_by_lanes_that_have_not_met(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        bar = T.alloc_shared((1,), "uint64")
        if lane == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 32)
        if not wrong:
            T.cuda.warp_sync()
        T.ptx.mbarrier.arrive(bar.ptr_to([0]))
        T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
        D[lane] = A[lane]

    return kernel


def multiplied_twice(*, wait: int) -> PrimFunc:
    """Two wgmma groups of one tile of B each; the tile of the second is overwritten after wait_group(wait)."""
    layout = tma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (64, 64))
    fragment = wgmma_accumulator_layout(64, 64)

    @T.prim_func
    def kernel(A: T.Buffer((64, 64), "float16"), D: T.Buffer((64, 64), "float32")):
        T.device_entry()
        tx = T.thread_id([128])
        left = T.alloc_shared((64, 64), "float16", layout=layout, align=1024)
        right = T.alloc_shared((64, 64), "float16", layout=layout, align=1024)
        acc = T.alloc_local((32,), "float32")
        tiled = acc.view(64, 64, layout=fragment)
        T.cta.copy(left[:, :], A[:, :])
        T.cta.copy(right[:, :], A[:, :])
        T.cuda.cta_sync()
        T.ptx.wgmma.fence()
        T.wg.gemm_async(tiled[:, :], left[:, :], left[:, :], accum=False, dispatch="wgmma")
        T.ptx.wgmma.commit_group()
        T.wg.gemm_async(tiled[:, :], left[:, :], right[:, :], accum=True, dispatch="wgmma")  # wrong
        T.ptx.wgmma.commit_group()
        T.ptx.wgmma.wait_group(wait)
        T.cuda.cta_sync()
        T.cta.copy(right[:, :], A[:, :])  # wrong
        T.ptx.wgmma.wait_group(0)
        T.wg.copy(D[:, :], tiled[:, :])

    return kernel


@pair("TX201", "hazard", isa="wgmma.mma_async reads shared memory until wait_group", gpu="h100")
def an_operand_overwritten_in_flight(wrong: bool) -> PrimFunc:
    return multiplied_twice(wait=1 if wrong else 0)


@pair("TX405", "fault", isa="wgmma: all warps of the warpgroup", gpu="h100")
def three_warps_multiply(wrong: bool) -> PrimFunc:
    layout = tma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (64, 64))
    fragment = wgmma_accumulator_layout(64, 64)

    @T.prim_func
    def kernel(A: T.Buffer((64, 64), "float16"), D: T.Buffer((64, 64), "float32")):
        T.device_entry()
        warp = T.warp_id([4])
        tile = T.alloc_shared((64, 64), "float16", layout=layout, align=1024)
        acc = T.alloc_local((32,), "float32")
        tiled = acc.view(64, 64, layout=fragment)
        T.cta.copy(tile[:, :], A[:, :])
        T.cuda.cta_sync()
        for i in T.serial(32):
            acc[i] = 0.0
        if warp < (3 if wrong else 4):
            T.ptx.wgmma.fence()
            T.wg.gemm_async(tiled[:, :], tile[:, :], tile[:, :], accum=True, dispatch="wgmma")  # wrong
            T.ptx.wgmma.commit_group()  # wrong
            T.ptx.wgmma.wait_group(0)  # wrong
        T.wg.copy(D[:, :], tiled[:, :])

    return kernel


def test_the_results_are_those_of_the_run_whose_tests_are_not_late() -> None:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        warp = T.warp_id([2])
        lane = T.lane_id([32])
        bar = T.alloc_shared((1,), "uint64")
        if warp == 1 and lane == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 32)
        T.cuda.cta_sync()
        if warp == 1:
            T.ptx.mbarrier.arrive(bar.ptr_to([0]))
        else:
            D[lane] = T.if_then_else(T.ptx.mbarrier.test_wait(bar.ptr_to([0]), 0), A[lane], -1.0)

    A, D = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    report = tvm.simulate(kernel, A, D)
    assert report.verdict == "ok" and not report.findings and (D == A).all(), (report, D)


def tile_over_a_barrier(how: str, *, over: bool, later: bool = True) -> PrimFunc:
    """A tile arrives behind the barrier of the next role, or over it. later: whether that barrier is used then."""
    place = 1024 + (1024 if over else 8192)

    @T.prim_func
    def kernel(A: T.Buffer((64, 64), "float16"), D: T.Buffer((64,), "float16")):
        T.device_entry()
        tx = T.thread_id([64])
        pool = T.SMEMPool()
        full = TMABar(pool, 1, "full")
        pool.move_base_to(1024)
        tile = pool.alloc((64, 64), "float16", layout=TILE)
        pool.move_base_to(place)
        other = MBarrier(pool, 1, "other")
        pool.commit()
        full.init(1)
        other.init(64)
        T.ptx.fence.proxy_async("shared::cta")
        T.ptx.fence.mbarrier_init()
        T.cuda.cta_sync()
        if not later:
            other.arrive(0)
            other.wait(0, 0)
            T.cuda.cta_sync()
        if how == "tma":
            if tx == 0:
                full.arrive(0, 8192)
                T.copy_async(tile[:, :], A[:, :], dispatch="tma", mbar=full.ptr_to([0]))  # wrong
            full.wait(0, 0)
        else:
            T.ptx.cp_async(tile.ptr_to([tx, 0]), A.ptr_to([tx, 0]), bytes=16)  # wrong
            T.ptx.cp_async.commit_group()
            T.ptx.cp_async.wait_group(0)
        T.cuda.cta_sync()
        if later:
            other.arrive(0)
            other.wait(0, 0)
        D[tx] = A[tx, 0]

    return kernel


@pair("TX124", "fault", isa="mbarrier: other operations on its memory")
def a_tma_load_over_a_barrier_in_use(wrong: bool) -> PrimFunc:
    return tile_over_a_barrier("tma", over=wrong)


@pair("TX124", "fault", isa="mbarrier: other operations on its memory")
def a_cp_async_over_a_barrier_in_use(wrong: bool) -> PrimFunc:
    return tile_over_a_barrier("cp.async", over=wrong)


@pair("TX124", "ok", isa="mbarrier.inval")
def a_tma_load_over_a_barrier_that_nobody_uses_again(wrong: bool) -> PrimFunc:
    return tile_over_a_barrier("tma", over=wrong, later=False)


def refilled(readers: bool, loader: bool) -> PrimFunc:
    """A stage that threads read and TMA refills, with a fence by the readers or by the loading thread."""

    @T.prim_func
    def kernel(A: T.Buffer((3, 64, 64), "float16"), D: T.Buffer((3, 32), "float16")):
        T.device_entry()
        warp = T.warp_id([2])
        lane = T.lane_id([32])
        pool = T.SMEMPool()
        full = TMABar(pool, 1, "full")
        empty = MBarrier(pool, 1, "empty")
        tile = pool.alloc((64, 64), "float16", layout=TILE)
        pool.commit()
        full.init(1)
        empty.init(32)
        T.ptx.fence.mbarrier_init()
        T.cuda.cta_sync()
        if warp == 1:
            if lane == 0:
                for i in T.serial(3):
                    empty.wait(0, (i + 1) % 2)
                    if loader:
                        T.ptx.fence.proxy_async("shared::cta")
                    full.arrive(0, 8192)
                    T.copy_async(tile[:, :], A[i, :, :], dispatch="tma", mbar=full.ptr_to([0]))  # wrong
        else:
            for i in T.serial(3):
                full.wait(0, i % 2)
                D[i, lane] = tile[lane, 0]
                if readers:
                    T.ptx.fence.proxy_async("shared::cta")
                empty.arrive(0)

    return kernel


@pair("TX202", "ok", isa="fence.proxy.async: reads before writes of the async proxy")
def a_stage_that_its_readers_fence(wrong: bool) -> PrimFunc:
    return refilled(readers=not wrong, loader=False)


@pair("TX202", "ok", isa="fence.proxy.async: by the thread that writes, after its wait")
def a_stage_that_its_loader_fences(wrong: bool) -> PrimFunc:
    return refilled(readers=False, loader=not wrong)


PAIRS = pairs_of(globals())


@pytest.mark.parametrize("wrong", [False, True], ids=["right", "wrong"])
@pytest.mark.parametrize("kernel", PAIRS, ids=[p.name for p in PAIRS])
def test_the_verdict_is_the_isas(kernel: Pair, wrong: bool) -> None:
    assert not (said := kernel.disagreement(wrong)), said
