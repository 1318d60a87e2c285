"""CTAs of a cluster, judged by the PTX ISA: each kernel once right, once wrong in one detail."""

from __future__ import annotations

import pytest

from tests.tirx_mini.diagnose.pairs import Pair, pair, pairs_of
from tirx_mini.ir import PrimFunc
from tirx_mini.lang import TMABar
from tirx_mini.layout import SwizzleMode, tma_shared_layout
from tirx_mini.script import tirx as T

TILE = tma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (64, 64))


@pair("TX201", "hazard", isa="fence.mbarrier_init: the example with barrier.cluster.arrive.relaxed")
def an_initialisation_behind_a_relaxed_arrival(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(D: T.Buffer((2, 32), "float32")):
        T.device_entry()
        rank = T.cta_id([2])
        T.cta_id_in_cluster([2])
        lane = T.thread_id([32])
        bar = T.alloc_shared((1,), "uint64")
        if lane == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            if not wrong:
                T.ptx.fence.mbarrier_init()
        T.ptx.barrier.cluster.arrive.relaxed()
        T.ptx.barrier.cluster.wait()
        if lane == 0:
            T.ptx.mbarrier.arrive.remote(bar.ptr_to([0]), 1 - rank, True)
        T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
        D[rank, lane] = 1.0
        T.cuda.cluster_sync()

    return kernel


@pair("TX201", "hazard", isa="Release and Acquire Patterns: a fence, then a relaxed arrival")
def a_fence_of_all_memory_before_a_relaxed_arrival(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(D: T.Buffer((2, 32), "uint32")):
        T.device_entry()
        rank = T.cta_id([2])
        T.cta_id_in_cluster([2])
        lane = T.thread_id([32])
        words = T.alloc_shared((32,), "uint32")
        words[lane] = T.uint32(7)
        if wrong:
            T.ptx.fence.acq_rel(scope="cta")
        else:
            T.ptx.fence.acq_rel(scope="cluster")
        T.ptx.barrier.cluster.arrive.relaxed()
        T.ptx.barrier.cluster.wait()
        D[rank, lane] = T.ptx.ld(
            T.ptx.map_shared_rank(words.ptr_to([lane]), 1 - rank), space="shared::cluster", type="u32"
        )
        T.ptx.barrier.cluster.arrive.relaxed()
        T.ptx.barrier.cluster.wait()

    return kernel


@pair("TX201", "hazard", isa="fence.mbarrier_init releases the initialisation alone")
def a_value_is_not_released_with_the_initialisation(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(D: T.Buffer((2, 32), "uint32")):
        T.device_entry()
        rank = T.cta_id([2])
        T.cta_id_in_cluster([2])
        lane = T.thread_id([32])
        bar = T.alloc_shared((1,), "uint64")
        words = T.alloc_shared((32,), "uint32")
        words[lane] = T.uint32(7)
        if lane == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            T.ptx.fence.mbarrier_init()
        if wrong:
            T.ptx.barrier.cluster.arrive.relaxed()
        else:
            T.ptx.barrier.cluster.arrive()
        T.ptx.barrier.cluster.wait()
        D[rank, lane] = T.ptx.ld(
            T.ptx.map_shared_rank(words.ptr_to([lane]), 1 - rank), space="shared::cluster", type="u32"
        )
        T.cuda.cluster_sync()

    return kernel


@pair("TX209", "hazard", isa="barrier.cluster: a CTA's shared memory ends with it")
def a_load_from_a_cta_that_may_have_ended(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(D: T.Buffer((4, 32), "uint32")):
        T.device_entry()
        rank = T.cta_id([4])
        T.cta_id_in_cluster([4])
        lane = T.thread_id([32])
        words = T.alloc_shared((32,), "uint32")
        words[lane] = T.uint32(7)
        T.cuda.cluster_sync()
        if rank != 3:
            D[rank, lane] = T.ptx.ld(  # wrong
                T.ptx.map_shared_rank(words.ptr_to([lane]), 3), space="shared::cluster", type="u32"
            )
        if not wrong:
            T.cuda.cluster_sync()

    return kernel


@pair("TX209", "hazard", isa="mbarrier.arrive: a release that the owner of the memory waits for")
def a_signal_that_keeps_the_peer_alive(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(D: T.Buffer((2, 32), "uint32")):
        T.device_entry()
        rank = T.cta_id([2])
        T.cta_id_in_cluster([2])
        lane = T.thread_id([32])
        bar = T.alloc_shared((1,), "uint64")
        words = T.alloc_shared((32,), "uint32")
        words[lane] = T.uint32(7)
        if lane == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 32)
            T.ptx.fence.mbarrier_init()
        T.cuda.cluster_sync()
        if rank == 1:
            if wrong:
                T.ptx.mbarrier.arrive.remote(bar.ptr_to([0]), 0, True)
            D[rank, lane] = T.ptx.ld(  # wrong
                T.ptx.map_shared_rank(words.ptr_to([lane]), 0), space="shared::cluster", type="u32"
            )
            if not wrong:
                T.ptx.mbarrier.arrive.remote(bar.ptr_to([0]), 0, True)
        else:
            T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
            D[rank, lane] = T.uint32(0)

    return kernel


@pair("TX218", "hazard", isa="barrier.cluster: a CTA's shared memory begins with it")
def an_atomic_to_a_cta_that_may_not_have_started(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(D: T.Buffer((2, 32), "uint32")):
        T.device_entry()
        rank = T.cta_id([2])
        T.cta_id_in_cluster([2])
        lane = T.thread_id([32])
        words = T.alloc_shared((32,), "uint32")
        if not wrong:
            T.cuda.cluster_sync()
        if rank == 0:
            T.ptx.st(  # wrong
                T.ptx.map_shared_rank(words.ptr_to([lane]), 1), T.uint32(7), space="shared::cluster", type="u32"
            )
        T.cuda.cluster_sync()
        if rank == 1:
            D[rank, lane] = words[lane]
        else:
            D[rank, lane] = T.uint32(7)

    return kernel


@pair("TX209", "ok", isa="barrier.cluster.arrive.relaxed orders no memory")
def a_store_before_the_last_relaxed_arrival(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(D: T.Buffer((2, 32), "uint32")):
        T.device_entry()
        rank = T.cta_id([2])
        T.cta_id_in_cluster([2])
        lane = T.thread_id([32])
        words = T.alloc_shared((32,), "uint32")
        T.cuda.cluster_sync()
        T.ptx.st(  # wrong
            T.ptx.map_shared_rank(words.ptr_to([lane]), 1 - rank), T.uint32(7), space="shared::cluster", type="u32"
        )
        D[rank, lane] = T.uint32(7)
        if wrong:
            T.ptx.barrier.cluster.arrive.relaxed()
        else:
            T.ptx.barrier.cluster.arrive()
        T.ptx.barrier.cluster.wait()

    return kernel


@pair("TX201", "hazard", isa="cp.async.bulk.tensor: complete_tx on the mbarrier of each destination")
def a_peer_waits_for_the_bytes_of_both(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((64, 64), "float16"), D: T.Buffer((2, 64), "float16")):
        T.device_entry()
        rank = T.cta_id([2])
        T.cta_id_in_cluster([2])
        tx = T.thread_id([64])
        pool = T.SMEMPool()
        full = TMABar(pool, 1)
        tile = pool.alloc((64, 64), "float16", layout=TILE)
        pool.commit()
        full.init(1)
        T.ptx.fence.mbarrier_init()
        T.cuda.cluster_sync()
        if tx == 0:
            full.arrive(0, 8192)
            if rank == 1:
                T.copy_async(tile[:, :], A[:, :], dispatch="tma", mbar=full.ptr_to([0]), cta_mask=3)
        if wrong:
            if rank == 1:
                full.wait(0, 0)
        else:
            full.wait(0, 0)
        T.cuda.cluster_sync()
        D[rank, tx] = tile[tx, 0]  # wrong
        if wrong:
            full.wait(0, 0)
        T.cuda.cluster_sync()

    return kernel


@pair("TX209", "hazard", isa="cp.async.bulk.tensor: each destination is complete by itself")
def a_cta_ends_before_its_own_half_has_landed(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((64, 64), "float16"), D: T.Buffer((64,), "float16")):
        T.device_entry()
        rank = T.cta_id([2])
        T.cta_id_in_cluster([2])
        tx = T.thread_id([64])
        pool = T.SMEMPool()
        full = TMABar(pool, 1)
        tile = pool.alloc((64, 64), "float16", layout=TILE)
        pool.commit()
        full.init(1)
        T.ptx.fence.mbarrier_init()
        T.cuda.cluster_sync()
        if tx == 0:
            full.arrive(0, 8192)
            if rank == 0:
                T.copy_async(tile[:, :], A[:, :], dispatch="tma", mbar=full.ptr_to([0]), cta_mask=3)  # wrong
        if wrong:
            if rank == 0:
                full.wait(0, 0)
        else:
            full.wait(0, 0)
        if rank == 0:
            D[tx] = tile[tx, 0]
        T.cuda.cluster_sync()

    return kernel


def pair_of_allocations(before: bool, between: bool) -> PrimFunc:
    @T.prim_func
    def kernel(D: T.Buffer((2, 32), "uint32")):
        T.device_entry()
        rank = T.cta_id([2])
        T.cta_id_in_cluster([2])
        lane = T.thread_id([32])
        slot = T.alloc_shared((1,), "uint32")
        if before:
            T.cuda.cluster_sync()
        T.ptx.tcgen05.alloc(slot.ptr_to([0]), n_cols=64, cta_group=2)
        T.cuda.cta_sync()
        D[rank, lane] = slot[0]
        if between:
            T.cuda.cluster_sync()
        T.ptx.tcgen05.relinquish_alloc_permit(cta_group=2)
        T.ptx.tcgen05.dealloc(slot[0], n_cols=64, cta_group=2)  # wrong
        T.cuda.cluster_sync()

    return kernel


@pair("TX308", "fault", isa="tcgen05.dealloc, .cta_group::2")
def a_pair_that_never_synchronises(wrong: bool) -> PrimFunc:
    return pair_of_allocations(before=False, between=not wrong)


@pair("TX308", "ok", isa="tcgen05.dealloc, .cta_group::2")
def a_pair_that_synchronises_before_the_allocation_only(wrong: bool) -> PrimFunc:
    return pair_of_allocations(before=True, between=not wrong)


PAIRS = pairs_of(globals())


@pytest.mark.parametrize("wrong", [False, True], ids=["right", "wrong"])
@pytest.mark.parametrize("kernel", PAIRS, ids=[p.name for p in PAIRS])
def test_the_verdict_is_the_isas(kernel: Pair, wrong: bool) -> None:
    assert not (said := kernel.disagreement(wrong)), said
