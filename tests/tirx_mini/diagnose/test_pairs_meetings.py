"""Instructions that lanes execute together from different places, judged by the PTX ISA: once right, once wrong."""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini as tvm
from tests.tirx_mini.diagnose.pairs import Pair, pair, pairs_of
from tirx_mini.ir import PrimFunc
from tirx_mini.script import tirx as T

FULL = 0xFFFFFFFF


@pair("TX306", "fault", isa="bar.warp.sync: membermask, at any place", result=lambda A: A[::-1])
def both_sides_of_a_branch_synchronise(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        words = T.alloc_shared((32,), "float32")
        if lane < 16:
            words[lane] = A[lane]
            T.cuda.warp_sync()  # wrong
            D[lane] = words[31 - lane]
        else:
            words[lane] = A[lane]
            if not wrong:
                T.cuda.warp_sync(T.uint32(FULL))
            D[lane] = words[31 - lane]

    return kernel


@pair(("TX207", "TX214"), "hazard", isa="bar.warp.sync orders the lanes of its mask", result=lambda A: A[::-1])
def both_sides_synchronise_before_they_write(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        words = T.alloc_shared((32,), "float32")
        if lane < 16:
            if wrong:
                T.cuda.warp_sync()
            words[lane] = A[lane]
            if not wrong:
                T.cuda.warp_sync()
            D[lane] = words[31 - lane]  # wrong
        else:
            words[lane] = A[lane]  # wrong
            T.cuda.warp_sync()
            D[lane] = words[31 - lane]  # wrong

    return kernel


def exchanged(A: np.ndarray) -> np.ndarray:
    return np.roll(A, 16) + (np.arange(32) > 15)


@pair("TX306", "fault", isa="shfl.sync: membermask, at any place", result=exchanged)
def both_sides_of_a_branch_shuffle(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        mine = A[lane]
        if lane < 16:
            D[lane] = T.ptx.shfl.xor(mine, 16)  # wrong
        else:
            if not wrong:
                D[lane] = T.ptx.shfl.xor(mine, 16) + 1.0

    return kernel


@pair("TX306", "fault", isa="shfl.sync: values of the lanes of the mask", result=lambda A: 1.0 + (np.arange(32) < 16))
def numbers_that_arms_exchange(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        if lane < 16:
            D[lane] = T.ptx.shfl.xor(T.float32(1.0), 16)  # wrong
        if lane >= (24 if wrong else 16):
            D[lane] = T.ptx.shfl.xor(T.float32(2.0), 16)  # wrong

    return kernel


@pair("TX306", "fault", isa="vote.sync: membermask, at any place", result=lambda A: np.where(np.arange(32) < 16, 1, 2))
def both_sides_of_a_branch_vote(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        if lane < 16:
            if T.cuda.any_sync(T.uint32(FULL), A[lane] == 20.0):  # wrong
                D[lane] = 1.0
        else:
            if not wrong:
                if T.cuda.any_sync(T.uint32(FULL), A[lane] == 20.0):
                    D[lane] = 2.0

    return kernel


@pair("TX306", "fault", isa="redux.sync: membermask, at any place", result=lambda A: np.full(32, 32))
def three_ways_of_one_warp_reduce(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "int32")):
        T.device_entry()
        lane = T.thread_id([32])
        if lane < 8:
            D[lane] = T.Cast("int32", T.cuda.reduce_add_sync_u32(T.uint32(FULL), T.uint32(1)))  # wrong
        else:
            if lane < 20:
                D[lane] = T.Cast("int32", T.cuda.reduce_add_sync_u32(T.uint32(FULL), T.uint32(1)))  # wrong
            else:
                D[lane] = 0
                if not wrong:
                    D[lane] = T.Cast("int32", T.cuda.reduce_add_sync_u32(T.uint32(FULL), T.uint32(1)))

    return kernel


@pair("TX306", "fault", isa="bar.warp.sync: as often on each way", result=lambda A: A)
def one_side_synchronises_once_more(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        if lane % 2 == 0:
            for _ in T.serial(4 if wrong else 3):
                T.cuda.warp_sync()  # wrong
            D[lane] = A[lane]
        else:
            T.cuda.warp_sync()
            T.cuda.warp_sync()
            T.cuda.warp_sync()
            D[lane] = A[lane]

    return kernel


@pair("TX306", "fault", isa="ldmatrix: .sync.aligned needs one place", result=lambda A: A)
def both_sides_of_a_branch_execute_what_is_aligned(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), D: T.Buffer((32,), "float32")):
        T.device_entry()
        lane = T.thread_id([32])
        words = T.alloc_shared((8, 8), "float16", align=16)
        regs = T.alloc_local((2,), "float16")
        for i in T.serial(2):
            words[lane // 4, lane % 4 * 2 + i] = T.float16(0.0)
        T.cuda.warp_sync()
        if wrong:
            if lane < 16:
                T.ptx.ldmatrix(regs.ptr_to([0]), words.ptr_to([lane % 8, 0]), num=1)  # wrong
            else:
                T.ptx.ldmatrix(regs.ptr_to([0]), words.ptr_to([lane % 8, 0]), num=1)  # wrong
        else:
            T.ptx.ldmatrix(regs.ptr_to([0]), words.ptr_to([lane % 8, 0]), num=1)
        D[lane] = A[lane]

    return kernel


PAIRS = pairs_of(globals())


@pytest.mark.parametrize("wrong", [False, True], ids=["right", "wrong"])
@pytest.mark.parametrize("kernel", PAIRS, ids=[p.name for p in PAIRS])
def test_the_verdict_is_the_isas(kernel: Pair, wrong: bool) -> None:
    assert not (said := kernel.disagreement(wrong)), said


@pytest.mark.parametrize("kernel", PAIRS, ids=[p.name for p in PAIRS])
def test_a_run_without_data_meets_too(kernel: Pair) -> None:
    report = tvm.simulate(kernel.build(False), gpu="b200", data=False)
    assert report.verdict == "clock" or report.findings[0].code == "TX601", report
