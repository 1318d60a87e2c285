"""Loops that poll a value which other orders let pass earlier, judged by the PTX ISA: once right, once wrong."""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini as tvm
from tests.tirx_mini.diagnose.pairs import Pair, pair, pairs_of
from tirx_mini.ir import PrimFunc
from tirx_mini.script import tirx as T


@pair("TX201", "hazard", isa="observation order: a read finds any value of a flag", zeros=True)
def a_ring_of_flags(wrong: bool) -> PrimFunc:
    """A producer that never waits may overwrite what the consumer still reads, though it was done long before here."""

    @T.prim_func
    def kernel(F: T.Buffer((2,), "uint32"), D: T.Buffer((3,), "float32")):
        T.device_entry()
        cta, lane = T.cta_id([2]), T.thread_id([32])
        if lane == 0:
            if cta == 0:
                for i in range(4):
                    if not wrong:
                        if i >= 2:
                            while T.ptx.ld(F.ptr_to([1]), sem="acquire", scope="gpu") < T.cast(i - 1, "uint32"):
                                T.ptx["nanosleep.u32"](20)
                    D[i % 2] = 1.0  # wrong
                    T.ptx.st(F.ptr_to([0]), T.cast(i + 1, "uint32"), sem="release", scope="gpu", space="global")
            else:
                total: T.float32 = 0.0
                for i in range(4):
                    while T.ptx.ld(F.ptr_to([0]), sem="acquire", scope="gpu") < T.cast(i + 1, "uint32"):
                        T.ptx["nanosleep.u32"](20)
                    total = total + D[i % 2]  # wrong
                    T.ptx.st(F.ptr_to([1]), T.cast(i + 1, "uint32"), sem="release", scope="gpu", space="global")
                D[2] = total

    return kernel


@pair("TX201", "hazard", isa="release and acquire patterns: a counter", zeros=True)
def a_counter_that_ends_the_loop_too_early(wrong: bool) -> PrimFunc:
    least = 2 if wrong else 3

    @T.prim_func
    def kernel(F: T.Buffer((1,), "uint32"), D: T.Buffer((4,), "float32")):
        T.device_entry()
        cta, lane = T.cta_id([4]), T.thread_id([32])
        if lane == 0:
            if cta < 3:
                D[cta] = 1.0
                T.ptx.red(F.ptr_to([0]), T.uint32(1), op="add", sem="release", scope="gpu")
            else:
                while T.ptx.ld(F.ptr_to([0]), sem="acquire", scope="gpu") < T.uint32(least):
                    T.ptx["nanosleep.u32"](20)
                D[3] = D[0] + D[1] + D[2]  # wrong

    return kernel


@pair("TX201", "hazard", isa="observation order: the first value", zeros=True)
def a_count_of_tiles_that_is_one_less(wrong: bool) -> PrimFunc:
    first = 0 if wrong else 1

    @T.prim_func
    def kernel(F: T.Buffer((1,), "uint32"), D: T.Buffer((256,), "float32")):
        T.device_entry()
        cta, lane = T.cta_id([2]), T.thread_id([32])
        for i in range(4):
            if cta == 0:
                D[i * 32 + lane] = 1.0
                T.cuda.cta_sync()
                if lane == 0:
                    T.ptx.red(F.ptr_to([0]), T.uint32(1), op="add", sem="release", scope="gpu")
            else:
                if lane == 0:
                    while T.ptx.ld(F.ptr_to([0]), sem="acquire", scope="gpu") < T.cast(i + first, "uint32"):
                        T.ptx["nanosleep.u32"](20)
                T.cuda.cta_sync()
                D[128 + i * 32 + lane] = D[i * 32 + lane]  # wrong

    return kernel


@pair("TX201", "hazard", isa="causality order: a barrier of the grid", zeros=True)
def rounds_of_a_grid(wrong: bool) -> PrimFunc:
    """Each addition of a round comes after all of the round before, so that no loop may end behind others."""
    least = 5 if wrong else 6

    @T.prim_func
    def kernel(F: T.Buffer((1,), "uint32"), D: T.Buffer((24,), "float32")):
        T.device_entry()
        cta, lane = T.cta_id([6]), T.thread_id([32])
        if lane == 0:
            for r in range(3):
                D[(r % 2) * 6 + cta] = 1.0  # wrong
                T.ptx.red(F.ptr_to([0]), T.uint32(1), op="add", sem="release", scope="gpu")
                while T.ptx.ld(F.ptr_to([0]), sem="acquire", scope="gpu") < T.cast(r * 6 + least, "uint32"):
                    T.ptx["nanosleep.u32"](20)
                D[12 + cta] = D[(r % 2) * 6 + (cta + 1) % 6]  # wrong

    return kernel


PAIRS = pairs_of(globals())


@pytest.mark.parametrize("wrong", [False, True], ids=["right", "wrong"])
@pytest.mark.parametrize("kernel", PAIRS, ids=[p.name for p in PAIRS])
def test_the_verdict_is_the_isas(kernel: Pair, wrong: bool) -> None:
    assert not (said := kernel.disagreement(wrong)), said


def counter(least: int) -> tvm.Report:
    """The report on a loop that waits for `least` of three additions, and reads what the first of them released."""

    @T.prim_func
    def kernel(F: T.Buffer((1,), "uint32"), D: T.Buffer((4,), "float32")):
        T.device_entry()
        cta, lane = T.cta_id([4]), T.thread_id([32])
        if lane == 0:
            if cta < 3:
                D[cta] = 1.0
                T.ptx.red(F.ptr_to([0]), T.uint32(1), op="add", sem="release", scope="gpu")
            else:
                while T.ptx.ld(F.ptr_to([0]), sem="acquire", scope="gpu") < T.uint32(least):
                    T.ptx["nanosleep.u32"](20)
                D[3] = D[0]

    return tvm.simulate(kernel, np.zeros(1, np.uint32), np.zeros(4, np.float32))


def test_a_loop_that_other_additions_may_end_is_not_proved() -> None:
    proof, whole = counter(2).proof, counter(3).proof
    assert proof is not None and not proof.holds and "may end behind other writes" in str(proof)
    assert whole is not None and whole.holds
