"""The first finding of a report, judged by the PTX ISA: each kernel once right, once wrong in one detail."""

from __future__ import annotations

import pytest

from tests.tirx_mini.diagnose.pairs import Pair, pair, pairs_of
from tirx_mini.ir import PrimFunc
from tirx_mini.script import tirx as T


def sent_by_a_cta(*, stay: bool, ranks: int = 2, waits: bool = True) -> PrimFunc:
    """CTA 0 of a cluster sends bytes to the last one. stay: whether it lives until they are read there."""

    @T.prim_func
    def kernel(D: T.Buffer((4, 32), "float32")):
        T.device_entry()
        T.cta_id([ranks])
        rank = T.cta_id_in_cluster([ranks])
        lane = T.thread_id([32])
        mine = T.alloc_shared((32,), "float32", align=16)
        theirs = T.alloc_shared((32,), "float32", align=16)
        bar = T.alloc_shared((1,), "uint64")
        mine[lane] = 1.0
        if lane == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            T.ptx.fence.mbarrier_init()
        T.ptx.fence.proxy_async("shared::cta")
        T.cuda.cluster_sync()
        if rank == 0:
            if lane == 0:
                T.ptx.cp_async_bulk_s2s_cluster(  # wrong
                    T.ptx.map_shared_rank(theirs.ptr_to([0]), ranks - 1), mine.ptr_to([0]), 128,
                    T.ptx.map_shared_rank(bar.ptr_to([0]), ranks - 1),
                )  # fmt: skip
        if rank == ranks - 1:
            if lane == 0:
                T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 128)
            if waits:
                T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
                D[rank, lane] = theirs[lane]
        if stay:
            T.cuda.cluster_sync()

    return kernel


@pair("TX209", "hazard", isa="cluster: the shared memory of a CTA ends with it")
def a_source_that_ends_early(wrong: bool) -> PrimFunc:
    return sent_by_a_cta(stay=not wrong)


@pair("TX209", "hazard", isa="cluster: the shared memory of a CTA ends with it")
def a_source_of_a_larger_cluster_that_ends_early(wrong: bool) -> PrimFunc:
    return sent_by_a_cta(stay=not wrong, ranks=4)


@pair(("TX207", "TX201"), ("fault", "hazard"), isa="causality order", zeros=True)
def a_race_that_keeps_the_result_from_being_written(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((64,), "float32"), D: T.Buffer((64,), "float32")):
        T.device_entry()
        tx = T.thread_id([64])
        words = T.alloc_shared((64,), "float32")
        words[tx] = A[tx] + 1.0  # wrong
        if not wrong:
            T.cuda.cta_sync()
        got = words[63 - tx]  # wrong
        if got == 1.0:
            D[tx] = got

    return kernel


@pair("TX214", "hazard", isa="bar.warp.sync", zeros=True)
def a_race_of_lanes_beside_a_result_that_is_not_written(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        words = T.alloc_shared((32,), "float32")
        got = T.alloc_local((1,), "float32")
        words[lane] = A[lane]
        if not wrong:
            T.cuda.warp_sync()
        got[0] = words[lane ^ 1]  # wrong
        if not wrong:
            D[lane] = got[0]

    return kernel


@pair("TX502", "fault", isa="a kernel's result is in its arguments", zeros=True)
def nothing_else_is_wrong(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        got = T.alloc_local((1,), "float32")
        got[0] = A[lane] + 1.0
        if not wrong:
            D[lane] = got[0]

    return kernel


PAIRS = pairs_of(globals())


@pytest.mark.parametrize("wrong", [False, True], ids=["right", "wrong"])
@pytest.mark.parametrize("kernel", PAIRS, ids=[p.name for p in PAIRS])
def test_the_verdict_is_the_isas(kernel: Pair, wrong: bool) -> None:
    assert not (said := kernel.disagreement(wrong)), said


def test_a_copy_from_a_cta_that_has_ended_is_the_only_finding() -> None:
    report, _ = a_source_that_ends_early.run(True)
    assert [f.code for f in report.findings] == ["TX209"], report


def test_a_race_decides_the_verdict_of_a_kernel_without_a_result() -> None:
    report, _ = a_race_of_lanes_beside_a_result_that_is_not_written.run(True)
    assert report.verdict == "hazard" and report.findings[-1].code == "TX502", report
