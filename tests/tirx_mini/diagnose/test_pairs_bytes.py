"""Bytes that threads announce, complete and send, judged by the PTX ISA: each kernel once right, once wrong."""

from __future__ import annotations

import pytest

from tests.tirx_mini.diagnose.pairs import Pair, pair, pairs_of
from tirx_mini.ir import PrimFunc
from tirx_mini.script import tirx as T


def completed_by_hand(second: int, *, early: bool = False) -> PrimFunc:
    """Thread 0 announces and completes the bytes of phase 0; thread `second` those of phase 1."""

    @T.prim_func
    def kernel(D: T.Buffer((64,), "float32")):
        T.device_entry()
        tx = T.thread_id([64])
        bar = T.alloc_shared((1,), "uint64")
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
        T.cuda.cta_sync()
        if tx == 0:
            if early:
                T.ptx.mbarrier.complete_tx(bar.ptr_to([0]), 64)
                T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 64)
            else:
                T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 64)
                T.ptx.mbarrier.complete_tx(bar.ptr_to([0]), 64)
        if tx == second:
            T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 32)  # wrong
            T.ptx.mbarrier.complete_tx(bar.ptr_to([0]), 32)  # wrong
        D[tx] = 1.0

    return kernel


@pair("TX123", "fault", isa="mbarrier: an operation of the thread that completed the phase before")
def a_phase_that_its_own_thread_has_completed(wrong: bool) -> PrimFunc:
    return completed_by_hand(32 if wrong else 0)


@pair("TX123", "fault", isa="mbarrier: tx-count below zero")
def bytes_completed_before_they_are_announced(wrong: bool) -> PrimFunc:
    return completed_by_hand(32 if wrong else 0, early=True)


@pair("TX123", "fault", isa="mbarrier.complete_tx: shared::cluster")
def a_phase_of_the_peer_completed_by_one_thread(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(D: T.Buffer((2, 64), "float32")):
        T.device_entry()
        rank = T.cta_id([2])
        T.cta_id_in_cluster([2])
        tx = T.thread_id([64])
        bar = T.alloc_shared((1,), "uint64")
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            T.ptx.fence.mbarrier_init()
        T.cuda.cluster_sync()
        if rank == 0:
            there = T.ptx.map_shared_rank(bar.ptr_to([0]), 1)
            if tx == 0:
                T.ptx.mbarrier.complete_tx(there, 64)
                T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 64, cta_id=1)
            if tx == (32 if wrong else 0):
                T.ptx.mbarrier.complete_tx(there, 64)  # wrong
                T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 64, cta_id=1)  # wrong
        D[rank, tx] = 1.0
        T.cuda.cluster_sync()

    return kernel


@pair(("TX123", "TX201"), ("fault", "hazard"), isa="mbarrier: the bytes of a copy land when they land")
def a_phase_that_a_copy_completes(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        words = T.alloc_shared((32,), "float32", align=128)
        bar = T.alloc_shared((1,), "uint64")
        if lane == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            T.ptx.fence.mbarrier_init()
        T.cuda.cta_sync()
        if lane == 0:
            T.ptx.cp_async_bulk_g2s_cluster(words.ptr_to([0]), A.ptr_to([0]), 128, bar.ptr_to([0]))
            for _ in T.serial(200):
                D[0] = 0.0
            T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 128)
            if not wrong:
                T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
            T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 32)  # wrong
            T.ptx.mbarrier.complete_tx(bar.ptr_to([0]), 32)  # wrong
            T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 1)  # wrong
        T.cuda.cta_sync()
        D[lane] = words[lane]

    return kernel


def sent(*, announced: str = "128", wait: bool = True) -> PrimFunc:
    """Lanes of CTA 0 send 128 bytes to CTA 1 by st.async."""

    @T.prim_func
    def kernel(D: T.Buffer((2, 32), "float32")):
        T.device_entry()
        rank = T.cta_id([2])
        T.cta_id_in_cluster([2])
        lane = T.thread_id([32])
        words = T.alloc_shared((32,), "float32", align=128)
        mine = T.alloc_local((4,), "float32")
        bar = T.alloc_shared((1,), "uint64")
        for i in T.serial(4):
            mine[i] = 1.0
        if lane == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            T.ptx.fence.mbarrier_init()
        T.cuda.cluster_sync()
        if rank == 0:
            if lane < 8:
                dst = T.ptx.map_shared_rank(words.ptr_to([lane * 4]), 1)
                T.ptx.st_async(  # wrong
                    dst, mine.ptr_to([0]), T.ptx.map_shared_rank(bar.ptr_to([0]), 1), vec="v4", type="f32"
                )
        else:
            if lane == 0:
                if announced == "0":
                    T.ptx.mbarrier.arrive(bar.ptr_to([0]))
                else:
                    T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 128)
            if wait:
                T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
            D[rank, lane] = words[lane]  # wrong
        T.cuda.cluster_sync()

    return kernel


@pair("TX106", "hazard", isa="st.async: complete_tx of the bytes")
def bytes_of_st_async_that_nobody_announces(wrong: bool) -> PrimFunc:
    return sent(announced="0" if wrong else "128")


@pair(("TX207", "TX201"), "hazard", isa="st.async: asynchronous until the phase is complete")
def bytes_of_st_async_that_nobody_waits_for(wrong: bool) -> PrimFunc:
    return sent(wait=not wrong)


PAIRS = pairs_of(globals())


@pytest.mark.parametrize("wrong", [False, True], ids=["right", "wrong"])
@pytest.mark.parametrize("kernel", PAIRS, ids=[p.name for p in PAIRS])
def test_the_verdict_is_the_isas(kernel: Pair, wrong: bool) -> None:
    assert not (said := kernel.disagreement(wrong)), said


@pytest.mark.parametrize("kernel", [p for p in PAIRS if "st_async" in p.name], ids=lambda p: p.name)
def test_st_async_is_called_by_its_name(kernel: Pair) -> None:
    text = str(kernel.run(True)[0])
    assert "st.async" in text and "TMA load" not in text, text
