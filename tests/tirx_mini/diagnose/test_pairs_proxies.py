"""Copies of one CTA that another one copies again, judged by the PTX ISA: each kernel once right, once wrong."""

from __future__ import annotations

import pytest

from tests.tirx_mini.diagnose.pairs import Pair, pair, pairs_of
from tirx_mini.ir import PrimFunc
from tirx_mini.script import tirx as T


def handed_on(fence: str, *, reduce: bool = False, readers: tuple[int, int] = (0, 1)) -> PrimFunc:
    """A CTA stores a tile by TMA and raises a flag; one that sees it loads the tile by TMA.

    fence: who executes fence.proxy.async: the "loader", the "storer", or "nobody". readers: the CTA that stores, and
    the one that loads.
    """
    storer, loader = readers

    @T.prim_func
    def kernel(W: T.Buffer((8, 32), "float32"), F: T.Buffer((1,), "uint32"), D: T.Buffer((8, 32), "float32")):
        T.device_entry()
        cta = T.cta_id([2])
        lane = T.thread_id([32])
        tile = T.alloc_shared((8, 32), "float32", align=128)
        bar = T.alloc_shared((1,), "uint64")
        if lane == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            T.ptx.fence.mbarrier_init()
        T.cuda.cta_sync()
        if cta == storer:
            for i in T.serial(8):
                tile[i, lane] = 1.0
            T.ptx.fence.proxy_async("shared::cta")
            T.cuda.cta_sync()
            if lane == 0:
                if reduce:
                    T.copy_async(W[:, :], tile[:, :], dispatch="tma", use_tma_reduce="add")
                else:
                    T.copy_async(W[:, :], tile[:, :], dispatch="tma")
                T.ptx.cp_async.bulk.commit_group()
                T.ptx.cp_async.bulk.wait_group(0)
                if fence == "storer":
                    T.ptx.fence.proxy_async("global")
                T.ptx.st(F.ptr_to([0]), T.uint32(1), sem="release", scope="gpu", space="global")
        if cta == loader:
            if lane == 0:
                while T.ptx.ld(F.ptr_to([0]), sem="acquire", scope="gpu") != T.uint32(1):
                    T.ptx["nanosleep.u32"](20)
                if fence == "loader":
                    T.ptx.fence.proxy_async("global")
                T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 1024)
                T.copy_async(tile[:, :], W[:, :], dispatch="tma", mbar=bar.ptr_to([0]))  # wrong
            T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
            for i in T.serial(8):
                D[i, lane] = tile[i, lane]

    return kernel


@pair("TX202", "hazard", isa="causality order: one proxy, two thread blocks", zeros=True)
def a_tile_handed_on_by_a_flag(wrong: bool) -> PrimFunc:
    return handed_on("nobody" if wrong else "loader")


@pair("TX202", "hazard", isa="causality order: the fence lies anywhere between the two", zeros=True)
def a_tile_that_its_storer_fences(wrong: bool) -> PrimFunc:
    return handed_on("nobody" if wrong else "storer")


@pair("TX202", "hazard", isa="cp.reduce.async.bulk.tensor: the async proxy", zeros=True)
def a_sum_handed_on_by_a_flag(wrong: bool) -> PrimFunc:
    return handed_on("nobody" if wrong else "loader", reduce=True)


@pair("TX202", "hazard", isa="causality order: one proxy, one thread block", zeros=True)
def a_tile_that_its_own_cta_loads(wrong: bool) -> PrimFunc:
    return handed_on("nobody", readers=(0, 1) if wrong else (0, 0))


@pair("TX202", "hazard", isa="barrier.cluster orders threads, not proxies", zeros=True)
def a_tile_handed_on_in_a_cluster(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(W: T.Buffer((8, 32), "float32"), D: T.Buffer((8, 32), "float32")):
        T.device_entry()
        T.cta_id([2])
        rank = T.cta_id_in_cluster([2])
        lane = T.thread_id([32])
        tile = T.alloc_shared((8, 32), "float32", align=128)
        bar = T.alloc_shared((1,), "uint64")
        if lane == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            T.ptx.fence.mbarrier_init()
        if rank == 0:
            for i in T.serial(8):
                tile[i, lane] = 1.0
            T.ptx.fence.proxy_async("shared::cta")
            T.cuda.cta_sync()
            if lane == 0:
                T.ptx.cp_async_bulk_s2g(W.ptr_to([0, 0]), tile.ptr_to([0, 0]), 1024)
                T.ptx.cp_async.bulk.commit_group()
                T.ptx.cp_async.bulk.wait_group(0)
        T.cuda.cluster_sync()
        if rank == 1:
            if lane == 0:
                if not wrong:
                    T.ptx.fence.proxy_async("")
                T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 1024)
                T.ptx.cp_async_bulk_g2s_cluster(tile.ptr_to([0, 0]), W.ptr_to([0, 0]), 1024, bar.ptr_to([0]))  # wrong
            T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
            for i in T.serial(8):
                D[i, lane] = tile[i, lane]
        T.cuda.cluster_sync()

    return kernel


PAIRS = pairs_of(globals())


@pytest.mark.parametrize("wrong", [False, True], ids=["right", "wrong"])
@pytest.mark.parametrize("kernel", PAIRS, ids=[p.name for p in PAIRS])
def test_the_verdict_is_the_isas(kernel: Pair, wrong: bool) -> None:
    assert not (said := kernel.disagreement(wrong)), said
