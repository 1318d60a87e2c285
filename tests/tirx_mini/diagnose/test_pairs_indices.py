"""Indices whose arithmetic overflows, judged by C++: each kernel once right, once wrong in one detail."""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini as tvm
from tests.tirx_mini.diagnose.pairs import Pair, pair, pairs_of
from tirx_mini.ir import PrimFunc
from tirx_mini.script import tirx as T

BIG = 65536


@pair("TX301", "fault", isa="C++: signed integer overflow", result=lambda A: A[32:64])
def a_product_that_wraps_into_range(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((64,), "int32"), D: T.Buffer((32,), "int32")):
        T.device_entry()
        lane = T.thread_id([32])
        row = A[1] * (BIG if wrong else 1)
        D[lane] = A[row * (BIG * A[1]) // (BIG * BIG) + 32 + lane if not wrong else row * (BIG * A[1]) + lane]  # wrong

    return kernel


@pair("TX301", "fault", isa="C++: signed integer overflow", result=lambda A: A[:32])
def an_offset_with_a_name_that_wraps_into_range(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((64,), "int32"), D: T.Buffer((32,), "int32")):
        T.device_entry()
        lane = T.thread_id([32])
        stride = A[1] * (BIG if wrong else 0)
        first = stride * stride  # wrong
        D[lane] = A[first + lane]

    return kernel


@pair("TX301", "fault", isa="C++: signed integer overflow", result=lambda A: A[:32])
def a_variable_that_wraps_into_range(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((64,), "int32"), D: T.Buffer((32,), "int32")):
        T.device_entry()
        lane = T.thread_id([32])
        at: T.int32 = 0
        for _ in T.serial(2 if wrong else 1):
            at = (at + A[1] * 32768) * (BIG if wrong else 0)  # wrong
        D[lane] = A[at + lane]  # wrong

    return kernel


@pair("TX301", "fault", isa="C++: unsigned integers wrap", result=lambda A: A[:32])
def an_unsigned_offset_wraps_by_definition(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((64,), "int32"), D: T.Buffer((32,), "int32")):
        T.device_entry()
        lane = T.thread_id([32])
        if wrong:
            D[lane] = A[(A[1] * BIG) * (A[1] * BIG) + lane]  # wrong
        else:
            D[lane] = A[T.Cast("int32", T.uint32(A[1] * BIG) * T.uint32(A[1] * BIG)) + lane]

    return kernel


@pair("TX301", "fault", isa="C++: the type of an operation is that of its operands", result=lambda A: A[:32])
def a_product_in_64_bits(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((64,), "int32"), D: T.Buffer((32,), "int32")):
        T.device_entry()
        lane = T.thread_id([32])
        big = A[1] * BIG
        if wrong:
            D[lane] = A[T.int64(big * big) // T.int64(BIG) + lane + big * big]  # wrong
        else:
            D[lane] = A[T.int64(big) * T.int64(big) // (T.int64(BIG) * T.int64(BIG * 2)) + lane]

    return kernel


@pair("TX301", "fault", isa="an index outside of its array, computed in int32", result=lambda A: A[:32])
def a_sum_that_wraps_out_of_range(wrong: bool) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((64,), "int32"), D: T.Buffer((32,), "int32")):
        T.device_entry()
        lane = T.thread_id([32])
        D[lane] = A[A[1] * (2147483647 if wrong else -1) + 1 + lane]  # wrong

    return kernel


PAIRS = pairs_of(globals())


@pytest.mark.parametrize("wrong", [False, True], ids=["right", "wrong"])
@pytest.mark.parametrize("kernel", PAIRS, ids=[p.name for p in PAIRS])
def test_the_verdict_is_the_isas(kernel: Pair, wrong: bool) -> None:
    assert not (said := kernel.disagreement(wrong)), said


def test_the_overflow_is_named() -> None:
    report, _ = an_offset_with_a_name_that_wraps_into_range.run(True)
    assert "4294967296, which does not fit in int32" in report.findings[0].message
    assert "int64" in report.findings[0].details["hint"]
    report, _ = a_sum_that_wraps_out_of_range.run(True)
    assert "int32" in report.findings[0].details["hint"]


def test_a_hash_that_wraps_before_its_remainder_is_none_of_an_address() -> None:
    @T.prim_func
    def kernel(A: T.Buffer((64,), "int32"), D: T.Buffer((32,), "int32")):
        T.device_entry()
        lane = T.thread_id([32])
        mixed: T.int32 = 7
        for i in T.serial(8):
            mixed = mixed * 1103515245 + A[i]
        D[lane] = A[(mixed & 31) + lane]

    assert tvm.simulate(kernel, np.arange(64, dtype=np.int32), np.zeros(32, np.int32)).verdict == "ok"


def test_lanes_behind_a_guard_may_overflow() -> None:
    @T.prim_func
    def kernel(A: T.Buffer((64,), "int32"), D: T.Buffer((32,), "int32")):
        T.device_entry()
        lane = T.thread_id([32])
        scale = A[1] * BIG
        if lane < 2:
            D[lane] = A[lane * scale * 32 // scale * 0 + lane]
        if lane == 0:
            D[lane] = A[lane * scale * scale]

    report = tvm.simulate(kernel, np.arange(64, dtype=np.int32), np.zeros(32, np.int32))
    assert report.verdict == "ok", report
