"""Lanes of one warp, judged by the PTX ISA: each kernel once right, once wrong in one detail.

Long because each pair is a kernel of its own.
"""

from __future__ import annotations

import pytest

from tests.tirx_mini.diagnose.pairs import Pair, pair, pairs_of
from tirx_mini.ir import PrimFunc
from tirx_mini.script import tirx as T


@pair("TX214", "hazard", isa="bar.warp.sync", result=lambda A: A[[i ^ 1 for i in range(32)]])
def a_neighbours_value_through_shared_memory(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        words = T.alloc_shared((32,), "float32")
        words[lane] = A[lane]
        if not wrong:
            T.cuda.warp_sync()
        D[lane] = words[lane ^ 1]  # wrong

    return kernel


@pair("TX214", "hazard", isa="bar.warp.sync", result=lambda A: A[[7] * 32])
def a_value_of_lane_0_read_by_all(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        words = T.alloc_shared((1,), "float32")
        if lane == 0:
            words[0] = A[7]
        if not wrong:
            T.cuda.warp_sync()
        D[lane] = words[0]  # wrong

    return kernel


@pair("TX214", "hazard", isa="bar.warp.sync")
def a_value_of_lane_3_through_global_memory(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((33,), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        if lane == 3:
            D[32] = A[lane]
        if not wrong:
            T.cuda.warp_sync()
        D[lane] = D[32] + 1.0  # wrong

    return kernel


@pair("TX214", "hazard", isa="bar.warp.sync")
def a_write_after_a_neighbours_read(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        words = T.alloc_shared((32,), "float32")
        words[lane] = A[lane]
        T.cuda.warp_sync()
        other = T.alloc_local((1,), "float32")
        other[0] = words[31 - lane]
        if not wrong:
            T.cuda.warp_sync()
        words[lane] = other[0] * 2.0  # wrong
        D[lane] = words[lane]

    return kernel


@pair("TX214", "hazard", isa="shfl.sync orders no memory", result=lambda A: A[[5] * 32])
def a_shuffle_hands_over_a_value_but_no_memory(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        words = T.alloc_shared((1,), "float32")
        value = T.alloc_local((1,), "float32")
        value[0] = A[5]
        if lane == 0:
            words[0] = value[0]
        value[0] = T.ptx.shfl.idx(value[0], 0)
        if wrong:
            D[lane] = words[0]  # wrong
        else:
            D[lane] = value[0]

    return kernel


@pair("TX214", "hazard", isa="bar.warp.sync", result=lambda A: A.cumsum())
def a_scan_through_shared_memory(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        words = T.alloc_shared((64,), "float32")
        words[lane + 32] = A[lane]
        words[lane] = 0.0
        T.cuda.warp_sync()
        for i in T.unroll(5):
            other = words[lane + 32 - (1 << i)]  # wrong
            if not wrong:
                T.cuda.warp_sync()
            words[lane + 32] = words[lane + 32] + other  # wrong
            if not wrong:
                T.cuda.warp_sync()
        D[lane] = words[lane + 32]

    return kernel


@pair("TX214", "ok", isa="a memory order of one lane does not order the others")
def relaxed_accesses_of_neighbours(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "uint32"), D: T.Buffer((32,), "uint32")):
        T.device_entry()
        lane = T.thread_id([32])
        words = T.alloc_shared((32,), "uint32")
        T.ptx.st(words.ptr_to([lane]), A[lane], sem="relaxed", scope="cta", space="shared", type="u32")
        if not wrong:
            T.cuda.warp_sync()
        D[lane] = T.ptx.ld(words.ptr_to([lane ^ 1]), sem="relaxed", scope="cta", space="shared", type="u32")  # wrong

    return kernel


@pair("TX214", ("ok", "hazard"), isa="a value that a shuffle brought was read before")
def a_sum_by_shuffles_written_over_what_was_read(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        words = T.alloc_shared((32,), "float32")
        total = T.alloc_local((1,), "float32")
        words[lane] = A[lane]
        T.cuda.warp_sync()
        total[0] = words[31 - lane]
        for i in T.unroll(5):
            total[0] = total[0] + T.ptx.shfl.xor(total[0], 16 >> i)
        if not wrong:
            T.cuda.warp_sync()
        words[lane] = total[0]  # wrong
        T.cuda.warp_sync()
        D[lane] = words[lane]

    return kernel


@pair("TX215", "ok", isa="elect.sync")
def the_elected_lane_is_taken_to_be_lane_0(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        words = T.alloc_shared((1,), "float32")
        if T.ptx.elect_sync():
            words[0] = A[9]
        if wrong:
            if lane == 0:
                D[0] = words[0]  # wrong
        else:
            if T.ptx.elect_sync():
                D[0] = words[0]

    return kernel


@pair(("TX214", "TX201"), "hazard", isa="mbarrier.arrive: release of the executing thread")
def one_lane_arrives_for_all(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        warp = T.warp_id([2])
        lane = T.lane_id([32])
        words = T.alloc_shared((32,), "float32")
        bar = T.alloc_shared((1,), "uint64")
        if warp == 0:
            if lane == 0:
                T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
        T.cuda.cta_sync()
        if warp == 0:
            words[lane] = A[lane]
            if not wrong:
                T.cuda.warp_sync()
            if lane == 0:
                T.ptx.mbarrier.arrive(bar.ptr_to([0]))
        else:
            T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
            D[lane] = words[lane]

    return kernel


@pair(("TX214", "TX201"), "hazard", isa="mbarrier.try_wait: acquire of the executing thread")
def one_lane_waits_for_all(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        warp = T.warp_id([2])
        lane = T.lane_id([32])
        words = T.alloc_shared((32,), "float32")
        bar = T.alloc_shared((1,), "uint64")
        if warp == 0:
            if lane == 0:
                T.ptx.mbarrier.init(bar.ptr_to([0]), 32)
        T.cuda.cta_sync()
        if warp == 0:
            words[lane] = A[lane]
            T.ptx.mbarrier.arrive(bar.ptr_to([0]))
        else:
            if lane == 0:
                T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
            if not wrong:
                T.cuda.warp_sync()
            D[lane] = words[lane]

    return kernel


@pair(
    ("TX112", "TX113", "TX104", "TX108"), "deadlock", isa="independent thread scheduling: lanes progress independently"
)
def two_lanes_hand_a_turn_to_and_fro(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        bars = T.alloc_shared((2,), "uint64")
        if lane == 0:
            T.ptx.mbarrier.init(bars.ptr_to([0]), 1)
            T.ptx.mbarrier.init(bars.ptr_to([1]), 1)
        T.cuda.cta_sync()
        if lane == 0:
            if wrong:
                T.ptx.mbarrier.try_wait(bars.ptr_to([1]), 0)  # wrong
                T.ptx.mbarrier.arrive(bars.ptr_to([0]))
            else:
                T.ptx.mbarrier.arrive(bars.ptr_to([0]))
                T.ptx.mbarrier.try_wait(bars.ptr_to([1]), 0)
        elif lane == 1:
            T.ptx.mbarrier.try_wait(bars.ptr_to([0]), 0)  # wrong
            T.ptx.mbarrier.arrive(bars.ptr_to([1]))
        D[lane] = A[lane]

    return kernel


@pair(("TX103", "TX104", "TX107", "TX113"), "deadlock", isa="independent thread scheduling")
def three_lanes_pass_a_baton_against_the_order_of_branches(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        bars = T.alloc_shared((2,), "uint64")
        words = T.alloc_shared((1,), "float32")
        if lane < 2:
            T.ptx.mbarrier.init(bars.ptr_to([lane]), 1)
        T.cuda.warp_sync()
        if lane == 5:
            T.ptx.mbarrier.try_wait(bars.ptr_to([1]), 0)  # wrong
            D[5] = words[0]
        elif lane == 6:
            T.ptx.mbarrier.try_wait(bars.ptr_to([0]), 0)
            words[0] = words[0] + 1.0
            if not wrong:
                T.ptx.mbarrier.arrive(bars.ptr_to([1]))
        elif lane == 7:
            words[0] = A[7]
            T.ptx.mbarrier.arrive(bars.ptr_to([0]))
        else:
            D[lane] = A[lane]
        if lane == 6 or lane == 7:
            D[lane] = A[lane]

    return kernel


@pair("TX306", "fault", isa="bar.warp.sync: membermask", result=lambda A: A)
def part_of_a_warp_synchronises_the_warp(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        if wrong:
            if lane < 16:
                T.cuda.warp_sync()  # wrong
        else:
            T.cuda.warp_sync()
        D[lane] = A[lane]

    return kernel


@pair("TX306", "fault", isa="shfl.sync: membermask", result=lambda A: A + A[[i ^ 1 for i in range(32)]])
def part_of_a_warp_shuffles(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        value = T.alloc_local((1,), "float32")
        value[0] = A[lane]
        if wrong:
            if lane < 16:
                value[0] += T.ptx.shfl.xor(value[0], 1)  # wrong
        else:
            value[0] += T.ptx.shfl.xor(value[0], 1)
        D[lane] = value[0]

    return kernel


@pair("TX214", "hazard", isa="bar.warp.sync", result=lambda A: A.sum().repeat(1))
def a_tree_in_shared_memory(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((1,), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        words = T.alloc_shared((32,), "float32")
        words[lane] = A[lane]
        T.cuda.warp_sync()
        for i in T.serial(5):
            if lane < (16 >> i):
                words[lane] = words[lane] + words[lane + (16 >> i)]  # wrong
            if not wrong:
                T.cuda.warp_sync()
        if lane == 0:
            D[0] = words[0]

    return kernel


@pair("TX214", "hazard", isa="bar.warp.sync")
def one_side_of_a_branch_reads_what_the_other_wrote(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        words = T.alloc_shared((32,), "float32")
        if wrong:
            if lane % 2 == 0:
                words[lane] = A[lane]  # wrong
            else:
                words[lane] = words[lane - 1]  # wrong
        else:
            if lane % 2 == 0:
                words[lane] = A[lane]
            T.cuda.warp_sync()
            if lane % 2 == 1:
                words[lane] = words[lane - 1]
        D[lane] = words[lane]

    return kernel


@pair("TX214", "hazard", isa="bar.warp.sync")
def lanes_leave_a_loop_at_different_times(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        words = T.alloc_shared((32,), "float32")
        i = 0
        while i < lane:
            i = i + 1
            words[lane] = A[i]
        if lane == 0:
            words[0] = A[0]
        if not wrong:
            T.cuda.warp_sync()
        D[lane] = words[31 - lane]  # wrong

    return kernel


@pair(("TX202", "TX214", "TX201"), "hazard", isa="fence.proxy.async: of the executing thread", result=lambda A: A)
def one_lane_fences_for_all_before_they_have_met(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((8, 32), "float32"), D: T.Buffer((8, 32), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        tile = T.alloc_shared((8, 32), "float32", align=128)
        for i in T.serial(8):
            tile[i, lane] = A[i, lane]
        if not wrong:
            T.cuda.warp_sync()
        if lane == 0:  # a proxy fence on the path from the write to the copy will do, whoever executes it
            T.ptx.fence.proxy_async("shared::cta")
        T.cuda.warp_sync()
        if lane == 0:
            T.copy_async(D[:, :], tile[:, :], dispatch="tma")  # wrong
            T.ptx.cp_async.bulk.commit_group()
            T.ptx.cp_async.bulk.wait_group(0)

    return kernel


@pair("TX209", "ok", isa="cp.async.bulk.commit_group: of the executing thread", result=lambda A: A)
def another_lane_commits_and_waits(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((8, 32), "float32"), D: T.Buffer((8, 32), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        tile = T.alloc_shared((8, 32), "float32", align=128)
        for i in T.serial(8):
            tile[i, lane] = A[i, lane]
        T.ptx.fence.proxy_async("shared::cta")
        T.cuda.warp_sync()
        if lane == 0:
            T.copy_async(D[:, :], tile[:, :], dispatch="tma")  # wrong
        if lane == (1 if wrong else 0):
            T.ptx.cp_async.bulk.commit_group()
            T.ptx.cp_async.bulk.wait_group(0)

    return kernel


@pair(("TX214", "TX201"), "ok", isa="cp.async.wait_group: copies of the executing thread", result=lambda A: A[::-1])
def each_lane_waits_for_its_own_copy(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        words = T.alloc_shared((32,), "float32")
        T.ptx.cp_async(words.ptr_to([lane]), A.ptr_to([lane]), bytes=4)
        T.ptx.cp_async.commit_group()
        T.ptx.cp_async.wait_group(0)
        if not wrong:
            T.cuda.warp_sync()
        D[lane] = words[31 - lane]  # wrong

    return kernel


@pair(("TX102", "TX306"), ("deadlock"), isa="bar.sync: all threads of a warp")
def half_of_a_warp_at_the_cta_barrier(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((64,), "float32"), D: T.Buffer((64,), "float32")):
        T.device_entry()
        tx = T.thread_id([64])
        if tx < (48 if wrong else 64):
            T.cuda.cta_sync()  # wrong
        D[tx] = A[tx]

    return kernel


PAIRS = pairs_of(globals())


@pytest.mark.parametrize("wrong", [False, True], ids=["right", "wrong"])
@pytest.mark.parametrize("kernel", PAIRS, ids=[p.name for p in PAIRS])
def test_the_verdict_is_the_isas(kernel: Pair, wrong: bool) -> None:
    assert not (said := kernel.disagreement(wrong)), said
