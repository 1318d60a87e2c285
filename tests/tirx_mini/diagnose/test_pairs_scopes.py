"""Writes that an mbarrier publishes to another CTA: the scopes of the arrival and the wait decide (PTX ISA)."""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini as tvm
from tests.tirx_mini.diagnose.pairs import Pair, pair, pairs_of
from tirx_mini.diagnose import Report
from tirx_mini.ir import PrimFunc
from tirx_mini.script import tirx as T

ARRIVE, WAIT = "mbarrier.arrive: .scope is .cta where none is written", "mbarrier.try_wait: .scope"
PATTERNS = "Release and Acquire Patterns"


def wait(bar: object, cluster: bool) -> None:
    """Wait for phase 0, and acquire at the scope of the cluster or of the CTA."""
    if cluster:
        T.ptx.mbarrier.try_wait_acquire_cluster(bar, 0)
    else:
        T.ptx.mbarrier.try_wait(bar, 0)


def own_store(scope: str, fence: str = "", received: bool = True, fenced_after: bool = False) -> PrimFunc:
    """Each CTA writes its shared memory, and the other one reads it there."""

    @T.prim_func
    def kernel(D: T.Buffer((2, 32), "uint32")):
        T.device_entry()
        rank = T.cta_id([2])
        T.cta_id_in_cluster([2])
        lane = T.thread_id([32])
        words = T.alloc_shared((32,), "uint32")
        bar = T.alloc_shared((1,), "uint64")
        if lane == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 32)
            T.ptx.fence.mbarrier_init()
        T.cuda.cluster_sync()
        words[lane] = T.uint32(7)
        if fence:
            T.ptx.fence.acq_rel(scope=fence)
        T.ptx.mbarrier.arrive(bar.ptr_to([0]), 1 - rank, True, scope=scope)
        wait(bar.ptr_to([0]), received)
        if fenced_after:
            T.ptx.fence.acq_rel(scope="cluster")
        D[rank, lane] = T.ptx.ld(  # wrong
            T.ptx.map_shared_rank(words.ptr_to([lane]), 1 - rank), space="shared::cluster", type="u32"
        )
        T.cuda.cluster_sync()

    return kernel


@pair("TX201", "hazard", isa=ARRIVE)
def a_value_published_by_an_arrival_without_a_scope(wrong: bool) -> PrimFunc:
    return own_store("" if wrong else "cluster")


@pair("TX201", "hazard", isa=PATTERNS)
def a_value_published_by_an_arrival_at_cta_scope(wrong: bool) -> PrimFunc:
    return own_store("cta", fence="" if wrong else "cluster")


@pair("TX201", "hazard", isa=PATTERNS)
def a_fence_before_the_arrival_at_the_scope_of_the_cta(wrong: bool) -> PrimFunc:
    return own_store("", fence="cta" if wrong else "gpu")


@pair("TX201", "ok", isa=WAIT)
def a_wait_at_cta_scope_for_shared_memory(wrong: bool) -> PrimFunc:
    return own_store("cluster", received=not wrong)


@pair("TX201", "ok", isa=PATTERNS)
def a_fence_after_the_wait(wrong: bool) -> PrimFunc:
    return own_store("cluster", received=False, fenced_after=not wrong)


@pair("TX201", "hazard", isa=ARRIVE)
def a_remote_store(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(D: T.Buffer((2, 32), "uint32")):
        T.device_entry()
        rank = T.cta_id([2])
        T.cta_id_in_cluster([2])
        lane = T.thread_id([32])
        words = T.alloc_shared((32,), "uint32")
        bar = T.alloc_shared((1,), "uint64")
        if lane == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 32)
            T.ptx.fence.mbarrier_init()
        T.cuda.cluster_sync()
        there = T.ptx.map_shared_rank(words.ptr_to([lane]), 1 - rank)
        T.ptx.st(there, lane, space="shared::cluster", type="u32")
        T.ptx.mbarrier.arrive(bar.ptr_to([0]), 1 - rank, True, scope="" if wrong else "cluster")
        wait(bar.ptr_to([0]), True)
        D[rank, lane] = words[lane]  # wrong
        T.cuda.cluster_sync()

    return kernel


def through_global_memory(scope: str, received: bool = True) -> PrimFunc:
    """One CTA writes global memory, and the other one reads it."""

    @T.prim_func
    def kernel(A: T.Buffer((32,), "uint32"), D: T.Buffer((32,), "uint32")):
        T.device_entry()
        rank = T.cta_id([2])
        T.cta_id_in_cluster([2])
        lane = T.thread_id([32])
        bar = T.alloc_shared((1,), "uint64")
        if lane == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 32)
            T.ptx.fence.mbarrier_init()
        T.cuda.cluster_sync()
        if rank == 0:
            A[lane] = lane
            T.ptx.mbarrier.arrive(bar.ptr_to([0]), 1, True, scope=scope)
        else:
            wait(bar.ptr_to([0]), received)
            D[lane] = A[lane]  # wrong
        T.cuda.cluster_sync()

    return kernel


@pair("TX201", "hazard", isa=ARRIVE)
def a_value_in_global_memory(wrong: bool) -> PrimFunc:
    return through_global_memory("" if wrong else "cluster")


@pair("TX201", "hazard", isa=WAIT)
def a_wait_at_cta_scope_for_global_memory(wrong: bool) -> PrimFunc:
    return through_global_memory("cluster", received=not wrong)


def for_all_threads(scope: str, fence: bool = False, polls: bool = False, cluster: bool = True) -> PrimFunc:
    """64 threads write, one of them arrives at the barrier of the other CTA, one of whose threads waits for all."""

    @T.prim_func
    def kernel(D: T.Buffer((2, 64), "uint32")):
        T.device_entry()
        rank = T.cta_id([2])
        T.cta_id_in_cluster([2])
        tx = T.thread_id([64])
        words = T.alloc_shared((64,), "uint32")
        bar = T.alloc_shared((1,), "uint64")
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            T.ptx.fence.mbarrier_init()
        T.cuda.cluster_sync()
        words[tx] = T.uint32(tx)
        if fence:
            T.ptx.fence.acq_rel(scope="gpu")
        T.cuda.cta_sync()
        if tx == 0:
            T.ptx.mbarrier.arrive(bar.ptr_to([0]), 1 - rank, True, scope=scope)
        if tx == 32:
            if polls:
                while not T.ptx.mbarrier.try_wait.parity(bar.ptr_to([0]), 0, scope="cluster" if cluster else "cta"):
                    T.evaluate(0)
            else:
                wait(bar.ptr_to([0]), cluster)
        T.cuda.cta_sync()
        D[rank, tx] = T.ptx.ld(  # wrong
            T.ptx.map_shared_rank(words.ptr_to([63 - tx]), 1 - rank), space="shared::cluster", type="u32"
        )
        T.cuda.cluster_sync()

    return kernel


@pair("TX201", "hazard", isa=ARRIVE)
def one_thread_publishes_what_all_wrote(wrong: bool) -> PrimFunc:
    return for_all_threads("" if wrong else "cluster")


@pair("TX201", "hazard", isa=PATTERNS)
def each_writer_has_a_fence_of_its_own(wrong: bool) -> PrimFunc:
    return for_all_threads("", fence=not wrong)


@pair("TX201", "ok", isa=WAIT)
def a_loop_of_tests_at_cta_scope(wrong: bool) -> PrimFunc:
    return for_all_threads("cluster", polls=True, cluster=not wrong)


@pair("TX201", "hazard", isa=ARRIVE)
def an_elected_thread_arrives_behind_the_fence_of_its_warp(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(D: T.Buffer((2, 32), "uint32")):
        T.device_entry()
        rank = T.cta_id([2])
        T.cta_id_in_cluster([2])
        lane = T.thread_id([32])
        words = T.alloc_shared((32,), "uint32")
        bar = T.alloc_shared((1,), "uint64")
        if lane == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            T.ptx.fence.mbarrier_init()
        T.cuda.cluster_sync()
        words[lane] = T.uint32(7)
        T.cuda.warp_sync()
        T.ptx.fence.acq_rel(scope="cta" if wrong else "cluster")
        if lane == 0:
            T.ptx.mbarrier.arrive(bar.ptr_to([0]), 1 - rank, True)
        wait(bar.ptr_to([0]), True)
        D[rank, lane] = T.ptx.ld(  # wrong
            T.ptx.map_shared_rank(words.ptr_to([lane]), 1 - rank), space="shared::cluster", type="u32"
        )
        T.cuda.cluster_sync()

    return kernel


@pair("TX201", "hazard", isa=ARRIVE, gpu="h100")
def a_cp_async(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((2, 32, 4), "uint32"), D: T.Buffer((2, 32), "uint32")):
        T.device_entry()
        rank = T.cta_id([2])
        T.cta_id_in_cluster([2])
        lane = T.thread_id([32])
        words = T.alloc_shared((32, 4), "uint32", align=16)
        bar = T.alloc_shared((1,), "uint64")
        if lane == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 32)
            T.ptx.fence.mbarrier_init()
        T.cuda.cluster_sync()
        T.ptx.cp_async(words.ptr_to([lane, 0]), A.ptr_to([rank, lane, 0]), 16)
        T.ptx.cp_async.commit_group()
        T.ptx.cp_async.wait_group(0)
        T.ptx.mbarrier.arrive(bar.ptr_to([0]), 1 - rank, True, scope="" if wrong else "cluster")
        wait(bar.ptr_to([0]), True)
        D[rank, lane] = T.ptx.ld(  # wrong
            T.ptx.map_shared_rank(words.ptr_to([lane, 0]), 1 - rank), space="shared::cluster", type="u32"
        )
        T.cuda.cluster_sync()

    return kernel


def bulk_store(scope: str) -> PrimFunc:
    """Each CTA fills the other one's shared memory, whose thread lets an engine read it."""

    @T.prim_func
    def kernel(D: T.Buffer((2, 32), "uint32")):
        T.device_entry()
        rank = T.cta_id([2])
        T.cta_id_in_cluster([2])
        lane = T.thread_id([32])
        words = T.alloc_shared((32,), "uint32", align=128)
        bar = T.alloc_shared((1,), "uint64")
        if lane == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 32)
            T.ptx.fence.mbarrier_init()
        T.cuda.cluster_sync()
        there = T.ptx.map_shared_rank(words.ptr_to([lane]), 1 - rank)
        T.ptx.st(there, lane, space="shared::cluster", type="u32")
        T.ptx.mbarrier.arrive(bar.ptr_to([0]), 1 - rank, True, scope=scope)
        wait(bar.ptr_to([0]), True)
        T.ptx.fence.proxy_async("shared::cta")
        T.cuda.warp_sync()
        if lane == 0:
            T.ptx.cp_async_bulk_s2g(D.ptr_to([rank, 0]), words.ptr_to([0]), 128)  # wrong
            T.ptx.cp_async.bulk.commit_group()
            T.ptx.cp_async.bulk.wait_group(0)
        T.cuda.cluster_sync()

    return kernel


@pair("TX201", "hazard", isa=ARRIVE)
def an_engine_reads_a_remote_store(wrong: bool) -> PrimFunc:
    return bulk_store("" if wrong else "cluster")


PAIRS = pairs_of(globals())


@pytest.mark.parametrize("wrong", [False, True], ids=["right", "wrong"])
@pytest.mark.parametrize("kernel", PAIRS, ids=[p.name for p in PAIRS])
def test_the_verdict_is_the_isas(kernel: Pair, wrong: bool) -> None:
    assert not (said := kernel.disagreement(wrong)), said


def simulated(kernel: PrimFunc, pedantic: bool = False) -> Report:
    return tvm.simulate(kernel, np.zeros((2, 32), np.uint32), gpu="b200", pedantic=pedantic)


def slot(scope: str) -> PrimFunc:
    """CTA 1 reads what CTA 0 stores there, and gives the slot back, which CTA 0 fills again."""

    @T.prim_func
    def kernel(D: T.Buffer((2, 32), "uint32")):
        T.device_entry()
        rank = T.cta_id([2])
        T.cta_id_in_cluster([2])
        lane = T.thread_id([32])
        words = T.alloc_shared((32,), "uint32")
        full = T.alloc_shared((2,), "uint64")
        empty = T.alloc_shared((1,), "uint64")
        if lane == 0:
            for stage in T.unroll(2):
                T.ptx.mbarrier.init(full.ptr_to([stage]), 32)
            T.ptx.mbarrier.init(empty.ptr_to([0]), 32)
            T.ptx.fence.mbarrier_init()
        T.cuda.cluster_sync()
        for turn in T.unroll(2):
            if rank == 0:
                if turn == 1:
                    wait(empty.ptr_to([0]), True)
                there = T.ptx.map_shared_rank(words.ptr_to([lane]), 1)
                T.ptx.st(there, lane + turn, space="shared::cluster", type="u32")
                T.ptx.mbarrier.arrive(full.ptr_to([turn]), 1, True, scope="cluster")
            else:
                wait(full.ptr_to([turn]), True)
                D[turn, lane] = words[lane]
                if turn == 0:
                    T.ptx.mbarrier.arrive(empty.ptr_to([0]), 0, True, scope=scope)
        T.cuda.cluster_sync()

    return kernel


def test_a_slot_is_given_back_at_any_scope() -> None:
    report = simulated(slot(""))
    assert report.verdict == "ok" and not report.findings


@pytest.mark.parametrize(("scope", "codes"), [("", ["TX201"]), ("cluster", [])])
def test_the_letter_asks_for_the_scope_of_the_cluster(scope: str, codes: list[str]) -> None:
    report = simulated(slot(scope), True)
    assert report.verdict == "ok" and [found.code for found in report.findings] == codes
    assert {found.severity for found in report.findings} <= {"note"}


def test_bytes_of_a_bulk_copy_are_received_by_a_wait_of_any_scope() -> None:
    @T.prim_func
    def kernel(D: T.Buffer((2, 32), "uint32")):
        T.device_entry()
        rank = T.cta_id([2])
        T.cta_id_in_cluster([2])
        lane = T.thread_id([32])
        mine = T.alloc_shared((32,), "uint32", align=128)
        words = T.alloc_shared((32,), "uint32", align=128)
        bar = T.alloc_shared((1,), "uint64")
        if lane == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            T.ptx.fence.mbarrier_init()
            T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 128)
        mine[lane] = lane
        T.ptx.fence.proxy_async("shared::cta")
        T.cuda.cluster_sync()
        if lane == 0:
            there = T.ptx.map_shared_rank(words.ptr_to([0]), 1 - rank)
            mbar = T.ptx.map_shared_rank(bar.ptr_to([0]), 1 - rank)
            T.ptx.cp_async_bulk_s2s_cluster(there, mine.ptr_to([0]), 128, mbar)
        wait(bar.ptr_to([0]), False)
        D[rank, lane] = words[lane]
        T.cuda.cluster_sync()

    report = simulated(kernel, True)
    assert report.verdict == "ok" and not report.findings


def test_the_help_of_the_release_is_all_that_is_missing() -> None:
    found = simulated(own_store("", received=False)).findings[0]
    assert 'scope="cluster"' in (found.details["hint"]) and "try_wait_acquire_cluster" in (found.details["hint"])
    assert "at another CTA's mbarrier, releases at the scope .cta" in found.message
    assert not simulated(own_store("cluster")).findings
