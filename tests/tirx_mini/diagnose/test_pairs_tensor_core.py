"""Orders of the tensor core, judged by the PTX ISA: each kernel once right, once wrong in one detail."""

from __future__ import annotations

from typing import Literal

import pytest

from tests.tirx_mini.diagnose.pairs import Pair, pair, pairs_of
from tirx_mini.ir import PrimFunc
from tirx_mini.lang import TCGen05Bar, TMEMPool
from tirx_mini.layout import S, SwizzleMode, TileLayout, sf_smem_layout, tid_in_wg, tma_shared_layout
from tirx_mini.script import tirx as T

TILE = tma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (128, 64))
TILE_B = tma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (16, 64))


def copied_twice(between: Literal["", "fence", "commit", "fence of another lane", "late"]) -> PrimFunc:
    """One thread copies factors to tensor memory twice. between: what it does between the two."""

    @T.prim_func
    def kernel(A: T.Buffer((128, 4), "uint8"), D: T.Buffer((128,), "float32")):
        T.device_entry()
        warp = T.warp_id([4])
        lane = T.lane_id([32])
        pool = T.PoolAllocator()
        tmem = TMEMPool(pool, 32)
        done = TCGen05Bar(pool, 2)
        factors = pool.alloc((128, 4), "uint8", layout=sf_smem_layout(128, 4, 4), align=128)
        pool.commit()
        tmem.commit()
        done.init(1)
        T.ptx.fence.mbarrier_init()
        with T.cta():
            T.copy(factors, A)
        T.cuda.cta_sync()
        T.ptx.tcgen05.fence.after_thread_sync()
        scales = tmem.alloc_sf((128, 4), "uint8", sf_per_mma=4)
        if warp == 0:
            with T.thread(parent="warp")[lane == 0]:
                T.copy_async(scales, factors)  # wrong
                if between == "fence":
                    T.ptx.tcgen05.fence.before_thread_sync()
                if between == "commit":
                    done.arrive(1)
            if between == "fence of another lane":
                with T.thread(parent="warp")[lane == 1]:
                    T.ptx.tcgen05.fence.before_thread_sync()
            with T.thread(parent="warp")[lane == 0]:
                T.copy_async(scales, factors)  # wrong
                if between == "late":
                    T.ptx.tcgen05.fence.before_thread_sync()
                done.arrive(0)
        done.wait(0, 0)
        if between == "commit":
            done.wait(1, 0)
        D[warp * 32 + lane] = 1.0
        T.cuda.cta_sync()
        tmem.dealloc()

    return kernel


@pair("TX217", "ok", isa="tcgen05.fence::before_thread_sync: later tcgen05 operations")
def copies_with_a_fence_between_them(wrong: bool) -> PrimFunc:
    return copied_twice("" if wrong else "fence")


@pair("TX217", "ok", isa="tcgen05.commit: an implicit fence::before_thread_sync")
def copies_with_a_commit_between_them(wrong: bool) -> PrimFunc:
    return copied_twice("" if wrong else "commit")


@pair("TX217", "ok", isa="tcgen05.fence: of the executing thread")
def copies_with_a_fence_of_their_own_thread(wrong: bool) -> PrimFunc:
    return copied_twice("fence of another lane" if wrong else "fence")


@pair("TX217", "ok", isa="tcgen05.fence::before_thread_sync: prior tcgen05 operations")
def copies_with_a_fence_behind_both(wrong: bool) -> PrimFunc:
    return copied_twice("late" if wrong else "commit")


def multiplied(writers: tuple[int, int], *, synced: bool = False) -> PrimFunc:
    """Lane 0 of warp 0 multiplies operands that lane `writers[1]` of warp `writers[0]` wrote. Only it executes no fence
    of tcgen05 in between.
    """
    writer, writing = writers

    @T.prim_func
    def kernel(D: T.Buffer((128, 16), "float32")):
        T.device_entry()
        warp = T.warp_id([4])
        lane = T.lane_id([32])
        pool = T.PoolAllocator()
        tmem = TMEMPool(pool, 32)
        done = TCGen05Bar(pool, 1)
        As = pool.alloc((128, 64), "float16", layout=TILE)
        Bs = pool.alloc((16, 64), "float16", layout=TILE_B)
        pool.commit()
        tmem.commit()
        done.init(1)
        T.ptx.fence.mbarrier_init()
        T.cuda.cta_sync()
        T.ptx.tcgen05.fence.after_thread_sync()
        C = tmem.alloc((128, 16), "float32")
        if warp == writer:
            with T.thread(parent="warp")[lane == writing]:
                for i in T.serial(128):
                    for j in T.serial(64):
                        As[i, j] = T.float16(1.0)
                        if i < 16:
                            Bs[i, j] = T.float16(2.0)
                T.ptx.fence.proxy_async("shared::cta")
        if synced:
            T.cuda.cta_sync()
        if warp == 0:
            with T.thread(parent="warp")[lane == 0]:
                T.gemm_async(C[:, :], As[:, :], Bs[:, :], accum=False, dispatch="tcgen05")  # wrong
                done.arrive(0)
        done.wait(0, 0)
        T.ptx.tcgen05.fence.after_thread_sync()
        out = T.alloc_local((16,), "float32")
        tile = out.view(128, 16, layout=TileLayout(S[(128, 16) : (1 @ tid_in_wg, 1)]))
        with T.warpgroup():
            T.copy(tile, C)
        with T.thread():
            T.copy(D[warp * 32 + lane, :], out)
        T.cuda.cta_sync()
        tmem.dealloc()

    return kernel


@pair("TX203", "ok", isa="tcgen05.fence: between threads")
def operands_that_the_issuing_lane_has_written(wrong: bool) -> PrimFunc:
    return multiplied((1, 0), synced=True) if wrong else multiplied((0, 0))


@pair("TX203", "ok", isa="tcgen05.fence: lanes are threads")
def operands_that_another_lane_of_the_warp_has_written(wrong: bool) -> PrimFunc:
    return multiplied((0, 1), synced=True) if wrong else multiplied((0, 0), synced=True)


@pair("TX201", "hazard", isa="causality order: lanes are threads")
def operands_of_another_warp_without_a_barrier(wrong: bool) -> PrimFunc:
    return multiplied((1, 0)) if wrong else multiplied((0, 0))


PAIRS = pairs_of(globals())


@pytest.mark.parametrize("wrong", [False, True], ids=["right", "wrong"])
@pytest.mark.parametrize("kernel", PAIRS, ids=[p.name for p in PAIRS])
def test_the_verdict_is_the_isas(kernel: Pair, wrong: bool) -> None:
    assert not (said := kernel.disagreement(wrong)), said
