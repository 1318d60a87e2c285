"""mbarriers and named barriers, judged by the PTX ISA: each kernel once right, once wrong in one detail."""

from __future__ import annotations

import pytest

from tests.tirx_mini.diagnose.pairs import Pair, pair, pairs_of
from tirx_mini.ir import PrimFunc
from tirx_mini.script import tirx as T


def hand_over(count: int, arrivals: int, *, before: int = 1, parity: int = 0) -> PrimFunc:
    """Warp 0 writes, `arrivals` lanes of it arrive; warp 1 waits for `parity` and reads. The barrier counts `count`."""

    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        tx = T.thread_id([64])
        words = T.alloc_shared((32,), "float32")
        bar = T.alloc_shared((1,), "uint64")
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), count)
        if before:
            T.cuda.cta_sync()
        if tx < 32:
            words[tx] = A[tx]
            T.cuda.warp_sync()
            if tx < arrivals:
                T.ptx.mbarrier.arrive(bar.ptr_to([0]))
        else:
            T.ptx.mbarrier.try_wait(bar.ptr_to([0]), parity)
            D[tx - 32] = words[tx - 32]

    return kernel


@pair("TX107", "deadlock", isa="mbarrier.init: count", result=lambda A: A)
def one_lane_arrives_where_32_are_counted(wrong: bool) -> PrimFunc:
    return hand_over(32, 1 if wrong else 32)


@pair("TX123", "fault", isa="mbarrier.arrive: pending count", result=lambda A: A)
def thirty_two_lanes_arrive_where_one_is_counted(wrong: bool) -> PrimFunc:
    return hand_over(1, 32 if wrong else 1)


@pair(
    ("TX121", "TX201", "TX101"),
    ("hazard"),
    isa="mbarrier.init: before other operations on the object",
    result=lambda A: A,
)
def init_before_the_others_use_it(wrong: bool) -> PrimFunc:
    return hand_over(32, 32, before=not wrong)


@pair(("TX201", "TX207"), "hazard", isa="mbarrier.try_wait.parity", result=lambda A: A)
def a_first_wait_with_parity_1_does_not_wait(wrong: bool) -> PrimFunc:
    return hand_over(32, 32, parity=1 if wrong else 0)


@pair(("TX122", "TX124"), ("fault", "hazard"), isa="mbarrier.init: not on a valid object", result=lambda A: A)
def a_second_init_after_inval(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        tx = T.thread_id([32])
        bar = T.alloc_shared((1,), "uint64")
        for _i in T.serial(2):
            if tx == 0:
                T.ptx.mbarrier.init(bar.ptr_to([0]), 32)  # wrong
            T.cuda.cta_sync()
            T.ptx.mbarrier.arrive(bar.ptr_to([0]))
            T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
            T.cuda.cta_sync()
            if not wrong:
                if tx == 0:
                    T.ptx.mbarrier.inval(bar.ptr_to([0]))
        D[tx] = A[tx]

    return kernel


@pair(("TX124", "TX121", "TX101"), ("fault", "hazard", "deadlock"), isa="mbarrier.inval", result=lambda A: A)
def an_arrival_after_inval(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        tx = T.thread_id([32])
        bar = T.alloc_shared((1,), "uint64")
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 32)
        T.cuda.cta_sync()
        if wrong:
            if tx == 0:
                T.ptx.mbarrier.inval(bar.ptr_to([0]))
            T.cuda.cta_sync()
        T.ptx.mbarrier.arrive(bar.ptr_to([0]))  # wrong
        T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
        D[tx] = A[tx]

    return kernel


@pair(("TX201", "TX207"), "hazard", isa="mbarrier.test_wait", result=lambda A: A)
def a_test_whose_answer_nobody_looks_at(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        tx = T.thread_id([64])
        words = T.alloc_shared((32,), "float32")
        bar = T.alloc_shared((1,), "uint64")
        done = T.alloc_local((1,), "int32")
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 32)
        T.cuda.cta_sync()
        if tx < 32:
            words[tx] = A[tx]
            T.ptx.mbarrier.arrive(bar.ptr_to([0]))
        else:
            done[0] = 0
            if wrong:
                if T.ptx.mbarrier.test_wait(bar.ptr_to([0]), 0):
                    done[0] = 1
            else:
                while done[0] == 0:
                    if T.ptx.mbarrier.test_wait(bar.ptr_to([0]), 0):
                        done[0] = 1
            D[tx - 32] = words[tx - 32]

    return kernel


def rounds(*, feedback: bool, flip: bool = True, laps: int = 4) -> PrimFunc:
    """A producer and a consumer with one stage: `feedback` makes the producer wait until the stage is free."""

    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        warp = T.warp_id([2])
        lane = T.lane_id([32])
        words = T.alloc_shared((32,), "float32")
        full = T.alloc_shared((1,), "uint64")
        empty = T.alloc_shared((1,), "uint64")
        total = T.alloc_local((1,), "float32")
        if warp == 0 and lane == 0:
            T.ptx.mbarrier.init(full.ptr_to([0]), 32)
            T.ptx.mbarrier.init(empty.ptr_to([0]), 32)
        T.cuda.cta_sync()
        phase = 0
        if warp == 0:
            for i in T.serial(laps):
                if feedback:
                    T.ptx.mbarrier.try_wait(empty.ptr_to([0]), phase ^ 1)
                words[lane] = A[lane] + i
                T.ptx.mbarrier.arrive(full.ptr_to([0]))
                phase = phase ^ 1
        else:
            total[0] = 0.0
            for _i in T.serial(laps):
                T.ptx.mbarrier.try_wait(full.ptr_to([0]), phase)
                total[0] = total[0] + words[lane]
                T.ptx.mbarrier.arrive(empty.ptr_to([0]))
                if flip:
                    phase = phase ^ 1
            D[lane] = total[0]

    return kernel


@pair(
    ("TX201", "TX119", "TX113", "TX112"),
    ("hazard", "deadlock"),
    isa="mbarrier: phase parity",
    result=lambda A: 4 * A + 6,
)
def a_producer_that_does_not_wait_for_the_consumer(wrong: bool) -> PrimFunc:
    return rounds(feedback=not wrong)


@pair(("TX126", "TX109"), "deadlock", isa="mbarrier: phase parity")
def a_consumer_that_never_flips_its_phase(wrong: bool) -> PrimFunc:
    return rounds(feedback=True, flip=not wrong)


@pair(
    ("TX119", "TX112", "TX113", "TX201"),
    ("hazard", "deadlock"),
    isa="mbarrier.try_wait.parity: only the phase before the current",
    zeros=True,
)
def a_slow_waiter_overtaken_by_two_phases(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        tx = T.thread_id([64])
        bar = T.alloc_shared((2,), "uint64")
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 32)
            T.ptx.mbarrier.init(bar.ptr_to([1]), 32)
        T.cuda.cta_sync()
        if tx < 32:
            T.ptx.mbarrier.arrive(bar.ptr_to([0]))
            if not wrong:
                T.ptx.mbarrier.try_wait(bar.ptr_to([1]), 0)
            T.ptx.mbarrier.arrive(bar.ptr_to([0]))
        else:
            T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
            T.ptx.mbarrier.arrive(bar.ptr_to([1]))
            T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 1)
            D[tx - 32] = A[tx - 32]

    return kernel


def load_of_a_tile(order: str) -> PrimFunc:
    """One thread loads a tile and announces its bytes: before, after, not at all, apart or too late."""

    @T.prim_func
    def kernel(A: T.Buffer((8, 32), "float32"), D: T.Buffer((8, 32), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        tile = T.alloc_shared((8, 32), "float32", align=128)
        bar = T.alloc_shared((1,), "uint64")
        if lane == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 1)
            if order != "unfenced":
                T.ptx.fence.mbarrier_init()
        T.cuda.cta_sync()
        if lane == 0:
            if order == "before":
                T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 1024)
            if order == "apart":
                T.ptx.mbarrier.expect_tx(bar.ptr_to([0]), 1024)
            if order == "too late":
                T.ptx.mbarrier.arrive(bar.ptr_to([0]))
                T.ptx.mbarrier.expect_tx(bar.ptr_to([0]), 1024)
            T.copy_async(tile[:, :], A[:, :], dispatch="tma", mbar=bar.ptr_to([0]))  # wrong
            if order == "after" or order == "unfenced":
                T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 1024)
            if order == "less":
                T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 512)
            if order == "more":
                T.ptx.mbarrier.arrive.expect_tx(bar.ptr_to([0]), 2048)
            if order == "apart" or order == "never":
                T.ptx.mbarrier.arrive(bar.ptr_to([0]))
        T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)  # wrong
        for i in T.serial(8):
            D[i, lane] = tile[i, lane]  # wrong

    return kernel


BYTES = ("TX106", "TX201", "TX207")


@pair(BYTES, ("hazard", "deadlock"), isa="mbarrier.expect_tx", result=lambda A: A)
def bytes_announced_before_or_never(wrong: bool) -> PrimFunc:
    return load_of_a_tile("never" if wrong else "before")


@pair(BYTES, ("hazard", "deadlock"), isa="mbarrier.arrive.expect_tx", result=lambda A: A)
def bytes_announced_after_or_too_few(wrong: bool) -> PrimFunc:
    return load_of_a_tile("less" if wrong else "after")


@pair("TX106", "deadlock", isa="mbarrier: tx-count", result=lambda A: A)
def bytes_announced_apart_or_too_many(wrong: bool) -> PrimFunc:
    return load_of_a_tile("more" if wrong else "apart")


@pair(BYTES, ("hazard", "deadlock"), isa="mbarrier.expect_tx: in the current phase", result=lambda A: A)
def bytes_announced_in_the_next_phase(wrong: bool) -> PrimFunc:
    return load_of_a_tile("too late" if wrong else "apart")


@pair("TX205", "hazard", isa="fence.mbarrier_init; async proxy", result=lambda A: A)
def init_without_its_fence_before_a_load(wrong: bool) -> PrimFunc:
    return load_of_a_tile("unfenced" if wrong else "after")


@pair(("TX124", "TX307"), ("fault", "hazard"), isa="mbarrier.arrive: .shared::cta")
def a_local_arrival_at_a_mapped_address(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((64,), "float32"), D: T.Buffer((64,), "float32")):
        T.device_entry()
        bx = T.cta_id([2])
        cbx = T.cta_id_in_cluster([2])
        tx = T.thread_id([32])
        bar = T.alloc_shared((1,), "uint64")
        if tx == 0:
            T.ptx.mbarrier.init(bar.ptr_to([0]), 32)
        T.ptx.fence.mbarrier_init()
        T.cuda.cluster_sync()
        if wrong:
            T.ptx.mbarrier.arrive(T.ptx.map_shared_rank(bar.ptr_to([0]), 1 - cbx))  # wrong
        else:
            T.ptx.mbarrier.arrive(bar.ptr_to([0]), cta_id=1 - cbx, pred=True)
        T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
        D[bx * 32 + tx] = A[bx * 32 + tx]
        T.cuda.cluster_sync()

    return kernel


def groups(ids: tuple[int, int], count: int, *, warps: int = 4) -> PrimFunc:
    """Two groups of two warps exchange their values, each by its named barrier."""

    @T.prim_func
    def kernel(A: T.Buffer((128,), "float32"), D: T.Buffer((128,), "float32")):
        T.device_entry()
        warp = T.warp_id([warps])
        lane = T.lane_id([32])
        words = T.alloc_shared((128,), "float32")
        tx = warp * 32 + lane
        words[tx] = A[tx]
        if warp < 2:
            T.ptx.bar.sync(ids[0], count)  # wrong
            D[tx] = words[63 - tx]  # wrong
        else:
            T.ptx.bar.sync(ids[1], count)  # wrong
            D[tx] = words[191 - tx]  # wrong

    return kernel


@pair(
    ("TX201", "TX124"), "hazard", isa="bar.sync: barrier resources", result=lambda A: A.reshape(2, 64)[:, ::-1].ravel()
)
def one_named_barrier_for_two_groups(wrong: bool) -> PrimFunc:
    return groups((1, 1) if wrong else (1, 2), 64)


@pair(("TX107", "TX111", "TX112", "TX113"), "deadlock", isa="bar.sync: thread count")
def a_named_barrier_that_counts_a_warp_too_many(wrong: bool) -> PrimFunc:
    return groups((1, 2), 96 if wrong else 64)


@pair(("TX201", "TX124"), ("hazard", "fault"), isa="bar.sync: thread count")
def a_named_barrier_that_counts_a_warp_too_few(wrong: bool) -> PrimFunc:
    return groups((1, 2), 32 if wrong else 64)


@pair(("TX124", "TX307"), ("fault", "hazard"), isa="bar.sync: a multiple of the warp size")
def a_named_barrier_for_part_of_a_warp(wrong: bool) -> PrimFunc:
    return groups((1, 2), 60 if wrong else 64)


@pair(("TX124", "TX307"), ("fault", "hazard"), isa="bar.sync: 16 barriers")
def a_seventeenth_named_barrier(wrong: bool) -> PrimFunc:
    return groups((15, 16) if wrong else (15, 14), 64)


def arrive_and_sync(*, there: int, back: bool, arrives: bool = True) -> PrimFunc:
    """Warp 0 produces twice and arrives; warp 1 synchronises. `back`: the producer waits until the value is read."""

    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        warp = T.warp_id([2])
        lane = T.lane_id([32])
        words = T.alloc_shared((32,), "float32")
        total = T.alloc_local((1,), "float32")
        if warp == 0:
            for i in T.serial(2):
                if back:
                    T.ptx.bar.sync(2, 64)
                words[lane] = A[lane] * (i + 1)  # wrong
                if arrives:
                    T.ptx.bar.arrive(1, there)  # wrong
        else:
            total[0] = 0.0
            for _i in T.serial(2):
                if back:
                    T.ptx.bar.arrive(2, 64)
                T.ptx.bar.sync(1, 64)  # wrong
                total[0] = total[0] + words[lane]  # wrong
            D[lane] = total[0]

    return kernel


@pair("TX201", "deadlock", isa="bar.arrive does not wait", result=lambda A: 3 * A)
def a_producer_that_only_arrives(wrong: bool) -> PrimFunc:
    return arrive_and_sync(there=64, back=not wrong)


@pair(("TX124", "TX107", "TX307"), ("fault", "hazard", "deadlock"), isa="bar.arrive: the same thread count as bar.sync")
def an_arrival_with_another_count(wrong: bool) -> PrimFunc:
    return arrive_and_sync(there=96 if wrong else 64, back=True)


@pair(("TX111", "TX107", "TX103", "TX113", "TX112"), "deadlock", isa="bar.sync")
def nobody_arrives_at_a_named_barrier(wrong: bool) -> PrimFunc:
    return arrive_and_sync(there=64, back=True, arrives=not wrong)


@pair(("TX111", "TX104", "TX107"), "deadlock", isa="bar.sync: all threads of the CTA", result=lambda A: A)
def a_cta_barrier_in_one_role(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((64,), "float32"), D: T.Buffer((64,), "float32")):
        T.device_entry()
        warp = T.warp_id([2])
        lane = T.lane_id([32])
        bar = T.alloc_shared((1,), "uint64")
        if warp == 0:
            if lane == 0:
                T.ptx.mbarrier.init(bar.ptr_to([0]), 32)
        T.cuda.cta_sync()
        if warp == 0:
            T.ptx.mbarrier.arrive(bar.ptr_to([0]))
            T.cuda.cta_sync()  # wrong
        else:
            T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 0)
            if not wrong:
                T.cuda.cta_sync()  # both sides of a branch may call the barrier: it counts warps, not lines
            T.ptx.mbarrier.try_wait(bar.ptr_to([0]), 1)  # wrong
        if warp == 0:
            T.ptx.mbarrier.arrive(bar.ptr_to([0]))
        D[warp * 32 + lane] = A[warp * 32 + lane]

    return kernel


PAIRS = pairs_of(globals())


@pytest.mark.parametrize("wrong", [False, True], ids=["right", "wrong"])
@pytest.mark.parametrize("kernel", PAIRS, ids=[p.name for p in PAIRS])
def test_the_verdict_is_the_isas(kernel: Pair, wrong: bool) -> None:
    assert not (said := kernel.disagreement(wrong)), said
