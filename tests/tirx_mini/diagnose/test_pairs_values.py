"""Values, variables and bytes, judged by what CUDA computes: each kernel once right, once wrong in one detail."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tirx_mini.diagnose.pairs import Pair, pair, pairs_of
from tirx_mini.ir import PrimFunc
from tirx_mini.script import tirx as T


@pair(("TX201", "TX214"), "hazard", isa="causality order: bytes that do not overlap", result=lambda A: A)
def warps_that_write_alternate_halves_of_words(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((64,), "float16"), D: T.Buffer((64,), "float16")):
        T.device_entry()
        warp = T.warp_id([2])
        lane = T.lane_id([32])
        D[(lane * 2 + warp) % 63 if wrong else lane * 2 + warp] = A[lane * 2 + warp]  # wrong

    return kernel


@pair(("TX201", "TX214"), "hazard", isa="one instruction, several lanes, one address", result=lambda A: A[[31]])
def all_lanes_write_one_word(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((1,), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        if wrong or lane == 31:
            D[0] = A[lane]  # wrong

    return kernel


@pair("TX206", "ok", isa="causality order: equal values", result=lambda A: A[[3]])
def all_warps_write_one_value(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((64,), "float32"), D: T.Buffer((1,), "float32")):
        T.device_entry()
        tx = T.thread_id([64])
        if wrong or tx == 0:
            D[0] = A[3]  # wrong

    return kernel


@pair("TX206", "ok", isa="causality order: equal values", result=lambda A: np.arange(32))
def two_ctas_number_the_same_elements(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "int32")):
        T.device_entry()
        cta = T.cta_id([2])
        lane = T.thread_id([32])
        if wrong or cta == 0:
            D[lane] = lane  # wrong

    return kernel


@pair("TX201", "hazard", isa="causality order: values in other places")
def two_warps_number_elements_from_both_ends(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((64,), "int32")):
        T.device_entry()
        warp = T.warp_id([2])
        lane = T.lane_id([32])
        if warp == 0:
            D[lane] = lane  # wrong
        else:
            D[31 - lane if wrong else 32 + lane] = lane  # wrong

    return kernel


@pair(("TX201", "TX214"), "hazard", isa="causality order: a histogram without atomics")
def lanes_count_in_one_word(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        D[lane // 4 if wrong else lane] = D[lane // 4 if wrong else lane] + A[lane]  # wrong

    return kernel


@pair("TX201", "hazard", isa="overlapping tiles of two CTAs", result=lambda A: A)
def tiles_that_overlap_by_a_row(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((64,), "float32"), D: T.Buffer((64,), "float32")):
        T.device_entry()
        bx = T.cta_id([2])
        tx = T.thread_id([32])
        i = bx * (31 if wrong else 32) + tx
        D[i] = A[bx * 32 + tx]  # wrong

    return kernel


@pair("TX201", "hazard", isa="in place, by other threads", result=lambda A: A)
def a_reversal_in_place(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((64,), "float32"), D: T.Buffer((64,), "float32")):
        T.device_entry()
        tx = T.thread_id([64])
        D[tx] = A[tx]  # wrong
        mine: T.float32
        mine = D[tx] if not wrong else D[63 - tx]  # wrong
        D[tx] = mine  # wrong

    return kernel


@pair("TX313", ("fault", "hazard"), isa="div: by zero is undefined", result=lambda A: 60 // np.maximum(A, 1) * (A > 0))
def a_quotient_of_lane_0(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "int32"), D: T.Buffer((32,), "int32")):
        T.device_entry()
        lane = T.thread_id([32])
        if wrong:
            D[lane] = 60 // A[lane]  # wrong
        else:
            D[lane] = T.if_then_else(A[lane] != 0, 60 // A[lane], 0)

    return kernel


def fibonacci(A: np.ndarray) -> np.ndarray:
    found = [0, 1]
    while len(found) < 32:
        found.append(found[-1] + found[-2])
    return np.array(found, "int32")


@pair("TX301", "fault", isa="an index outside the array", result=fibonacci)
def variables_that_change_in_loops_branches_and_inlines(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "int32"), D: T.Buffer((32,), "int32")):
        T.device_entry()
        lane = T.thread_id([32])
        a = 0
        b = 1
        steps = 0

        @T.inline
        def step():
            nonlocal a, b, steps
            c = a + b
            a = b
            b = c
            steps = steps + 1

        while steps < lane:
            step()
        if wrong and lane == 31:
            steps = steps + 1
        D[steps] = a  # wrong

    return kernel


@pair("TX214", "hazard", isa="bar.warp.sync", result=lambda A: np.sort(A))
def odd_and_even_lanes_exchange(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        words = T.alloc_shared((32,), "float32")
        words[lane] = A[31 - lane]
        for i in T.serial(32):
            if not wrong or i == 0:
                T.cuda.warp_sync()
            if lane % 2 == i % 2 and lane < 31:
                low = words[lane]
                high = words[lane + 1]
                words[lane] = T.min(low, high)
                words[lane + 1] = T.max(low, high)
        T.cuda.warp_sync()
        D[lane] = words[lane]

    return kernel


@pair("TX306", ("fault", "hazard"), isa="elect.sync: membermask", result=lambda A: A[[0]])
def part_of_a_warp_elects(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((1,), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        if lane < (16 if wrong else 32):
            if T.ptx.elect_sync():  # wrong
                D[0] = A[0]

    return kernel


@pair("TX306", ("fault", "hazard"), isa="setmaxnreg: all warps of the warpgroup", result=lambda A: A)
def one_warp_gives_registers_back(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((128,), "float32"), D: T.Buffer((128,), "float32")):
        T.device_entry()
        warp = T.warp_id([4])
        lane = T.lane_id([32])
        if warp < (1 if wrong else 4):
            T.ptx.setmaxnreg.dec(40)  # wrong
        D[warp * 32 + lane] = A[warp * 32 + lane]

    return kernel


@pair("TX307", "ok", isa="setmaxnreg.inc: not below the current count", result=lambda A: A)
def an_increase_that_lowers(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((128,), "float32"), D: T.Buffer((128,), "float32")):
        T.device_entry()
        tx = T.thread_id([128])
        T.ptx.setmaxnreg.dec(128)
        T.ptx.bar.sync(1, 128)
        T.ptx.setmaxnreg.inc(64 if wrong else 168)  # wrong
        D[tx] = A[tx]

    return kernel


@pair("TX213", "hazard", isa="griddepcontrol.wait: of the thread, or ordered by a barrier", result=lambda A: A)
def one_thread_waits_for_the_grid_before(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((64,), "float32"), D: T.Buffer((64,), "float32")):
        T.device_entry()
        tx = T.thread_id([64])
        if tx == 0:
            T.ptx.griddepcontrol.wait()
        if not wrong:
            T.cuda.cta_sync()
        T.ptx.griddepcontrol.launch_dependents()
        D[tx] = A[tx]  # wrong

    return kernel


@pair("TX207", "hazard", isa="shared memory holds nothing at first", result=lambda A: A)
def a_tile_that_is_written_in_part(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        words = T.alloc_shared((32,), "float32")
        if lane < (31 if wrong else 32):
            words[lane] = A[lane]
        D[lane] = words[lane]  # wrong

    return kernel


@pair("TX602", "incomplete", isa="a budget", result=lambda A: A + 3)
def a_loop_without_end_in_sight(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        total = 0.0
        for i in T.serial(2**30 if wrong else 3):  # wrong
            total = total + T.if_then_else(i >= 0, 1.0, A[lane])
        D[lane] = A[lane] + total

    return kernel


@pair(
    ("TX114", "TX112", "TX113"),
    ("fault", "deadlock", "hazard"),
    isa="a loop whose condition nothing changes",
    result=lambda A: A,
)
def a_loop_that_forgets_to_count(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        i = 0
        j = 0
        while i < 4:  # wrong
            if wrong:
                j = j + 1
            else:
                i = i + 1
        D[lane] = A[lane] + T.if_then_else(j > 100, 1.0, 0.0)

    return kernel


def shuffled(A: np.ndarray) -> np.ndarray:
    lanes = np.arange(32)
    down = np.where(lanes < 2, lanes + 30, lanes)
    return A[8] + A[np.maximum(lanes - 1, 0)] * 64 + A[down] * 4096


@pair("TX306", "fault", isa="shfl.sync: lanes out of range keep their own value", result=shuffled)
def shuffles_at_the_edges(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        mine = A[lane]
        far = T.ptx.shfl.idx(mine, 40)
        up = T.ptx.shfl.up(mine, 1)
        down = T.alloc_local((1,), "float32")
        down[0] = 0.0
        if not wrong or lane < 2:
            down[0] = T.ptx.shfl.down(mine, 30)  # wrong
        D[lane] = far + up * 64.0 + down[0] * 4096.0

    return kernel


PAIRS = pairs_of(globals())


@pytest.mark.parametrize("wrong", [False, True], ids=["right", "wrong"])
@pytest.mark.parametrize("kernel", PAIRS, ids=[p.name for p in PAIRS])
def test_the_verdict_is_the_isas(kernel: Pair, wrong: bool) -> None:
    assert not (said := kernel.disagreement(wrong)), said
