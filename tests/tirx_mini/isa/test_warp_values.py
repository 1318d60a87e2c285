"""Votes, sums of a warp, and arithmetic on numbers and pairs: what kernels compute, in the simulator and as PTX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.ir import PrimFunc
from tirx_mini.script import tirx as T

LANE = np.arange(32)


def simulated(kernel: PrimFunc, *arrays: np.ndarray) -> None:
    report = tvm.simulate(kernel, *arrays, gpu="b200")
    assert report.verdict == "ok" and not report.findings, report


def ptx(kernel: PrimFunc) -> str:
    return tvm.compile(tvm.IRModule({"main": kernel}), target="cuda:sm_100a").source("ptx")


@pytest.mark.compiler
def test_votes_and_sums_of_a_warp() -> None:
    @T.prim_func
    def kernel(V: T.Buffer((32,), "int32"), O: T.Buffer((7, 32), "int32")):
        T.device_entry()
        bx = T.cta_id([1])
        tx = T.thread_id([32])
        every = T.uint32(0xFFFFFFFF)
        O[0, tx] = T.Cast("int32", T.cuda.ballot_sync(every, V[tx] > 3))
        O[1, tx] = T.Cast("int32", T.ptx.any_sync(every, V[tx] > 30))
        O[2, tx] = T.Cast("int32", T.cuda.all_sync(every, V[tx] >= 0))
        O[3, tx] = T.Cast("int32", T.cuda.reduce_add_sync_u32(every, T.Cast("uint32", V[tx])))
        O[4, tx] = T.ptx.redux.s32(every, V[tx] - 40, op="min")
        O[5, tx] = 0
        if tx < 8:
            O[5, tx] = T.Cast("int32", T.cuda.ballot_sync(T.uint32(0xFF), V[tx] > 3))
        O[6, tx] = T.Cast("int32", T.ptx["vote.sync.any.pred"](V[tx] > 99, every))

    values, out = LANE.astype(np.int32)[::-1].copy(), np.zeros((7, 32), np.int32)
    simulated(kernel, values, out)
    rows = [sum(1 << i for i in range(28)), 1, 1, int(LANE.sum()), -40, None, 0]
    for row, expected in zip(out, rows, strict=True):
        if expected is not None:
            assert (row == expected).all()
    assert out[5].tolist() == [0xFF] * 8 + [0] * 24
    text = ptx(kernel)
    assert all(op in text for op in ("vote.sync.ballot.b32", "vote.sync.any.pred", "redux.sync.add.u32"))


def test_a_vote_whose_mask_names_other_lanes_is_found() -> None:
    @T.prim_func
    def kernel(O: T.Buffer((32,), "int32")):
        T.device_entry()
        bx = T.cta_id([1])
        tx = T.thread_id([32])
        O[tx] = 0
        if tx < 8:
            O[tx] = T.Cast("int32", T.cuda.ballot_sync(T.uint32(0xFFFFFFFF), tx > 3))

    report = tvm.simulate(kernel, np.zeros(32, np.int32), gpu="b200")
    assert report.verdict != "ok" and "vote.sync" in str(report)


@pytest.mark.compiler
def test_pairs_are_computed_with_one_rounding_each() -> None:
    @T.prim_func
    def kernel(A: T.Buffer((32, 2), "float32"), B: T.Buffer((32, 2), "float32"), O: T.Buffer((5, 32, 2), "float32")):
        T.device_entry()
        bx = T.cta_id([1])
        tx = T.thread_id([32])
        x = T.alloc_local((2,), "float32")
        p = T.let(
            T.Cast("uint64", T.reinterpret("uint32", A[tx, 0]))
            | (T.Cast("uint64", T.reinterpret("uint32", A[tx, 1])) << T.uint64(32))
        )
        q = T.let(
            T.Cast("uint64", T.reinterpret("uint32", B[tx, 0]))
            | (T.Cast("uint64", T.reinterpret("uint32", B[tx, 1])) << T.uint64(32))
        )
        T.ptx.fma_f32x2(x.ptr_to([0]), p, q, p)
        O[0, tx, 0] = x[0]
        O[0, tx, 1] = x[1]
        T.ptx.mul_f32x2(x.ptr_to([0]), p, q, rounding="")
        O[4, tx, 0] = T.cuda.uint_as_float(T.cuda.float_as_uint(x[0]))
        O[4, tx, 1] = x[1]
        T.ptx.add_f32x2(x.ptr_to([0]), p, q, rounding="rz")
        O[1, tx, 0] = x[0]
        O[1, tx, 1] = x[1]
        T.ptx.mul_f32(x.ptr_to([0]), A[tx, 0], B[tx, 0])
        T.ptx.sub_f32(x.ptr_to([1]), A[tx, 1], B[tx, 1])
        O[2, tx, 0] = x[0]
        O[2, tx, 1] = x[1]
        O[3, tx, 0] = T.ptx.max_f32(A[tx, 0], B[tx, 0], nan=True)
        O[3, tx, 1] = T.ptx.reduce3_min_f32(A[tx, 0], B[tx, 0], A[tx, 1])

    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((32, 2)).astype(np.float32) for _ in range(2))
    a[3, 0] = np.nan
    out = np.zeros((5, 32, 2), np.float32)
    simulated(kernel, a, b, out)
    np.testing.assert_array_equal(out[4], a * b)
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    np.testing.assert_array_equal(out[0], (wide_a * wide_b + wide_a).astype(np.float32))
    exact = wide_a + wide_b
    assert (np.abs(out[1].astype(np.float64)) <= np.abs(exact))[~np.isnan(exact)].all()
    np.testing.assert_allclose(out[1], exact, rtol=2e-7)
    np.testing.assert_array_equal(out[2, :, 0], a[:, 0] * b[:, 0])
    np.testing.assert_array_equal(out[2, :, 1], a[:, 1] - b[:, 1])
    np.testing.assert_array_equal(out[3, :, 0], np.maximum(a[:, 0], b[:, 0]))
    np.testing.assert_array_equal(out[3, :, 1], np.fmin(np.fmin(a[:, 0], b[:, 0]), a[:, 1]))
    text = ptx(kernel)
    assert all(op in text for op in ("fma.rn.f32x2", "add.rz.f32x2", "max.NaN.f32", "mul.rn.f32"))


@pytest.mark.parametrize("rounding, negative", [("rn", False), ("rz", False), ("rp", False), ("rm", True)])
def test_the_sign_of_a_zero_sum_follows_the_rounding(rounding: Any, negative: bool) -> None:
    """As on an H200."""

    @T.prim_func
    def kernel(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32"), O: T.Buffer((2, 32), "float32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([32])
        O[0, tx] = T.ptx.add.f32(A[tx], B[tx], rounding=rounding)
        O[1, tx] = T.ptx.sub.f32(A[tx], A[tx], rounding=rounding)

    a = np.full(32, 3, np.float32)
    a[:2] = 0.0, -0.0
    b, out = -a, np.full((2, 32), np.nan, np.float32)
    b[0] = 0.0
    simulated(kernel, a, b, out)
    assert not out.any()
    signs = np.signbit(out)
    assert not signs[0, 0] and (signs[0, 1:] == negative).all() and (signs[1] == negative).all()


def grid(sync: bool, ctas: int = 6) -> Any:
    """Each CTA writes a number, and after a synchronisation reads that of the next one, some rounds long."""

    @T.prim_func
    def kernel(A: T.Buffer((4, ctas), "int32"), O: T.Buffer((4, ctas), "int32")):
        T.device_entry()
        bx = T.cta_id([ctas])
        tx = T.thread_id([64])
        for i in range(4):
            if tx == 40:
                A[i, bx] = bx * 10 + i
            if sync:
                T.cuda.grid_sync()
            else:
                T.cuda.cta_sync()
            if tx == 3:
                O[i, bx] = A[i, (bx + 1) % ctas]

    return kernel


@pytest.mark.compiler
def test_a_grid_synchronises() -> None:
    out = np.zeros((4, 6), np.int32)
    simulated(grid(sync=True), np.zeros((4, 6), np.int32), out)
    np.testing.assert_array_equal(out, (np.arange(1, 7) % 6) * 10 + np.arange(4)[:, None])
    report = tvm.simulate(grid(sync=False), np.zeros((4, 6), np.int32), out, gpu="b200")
    assert [f.code for f in report.findings if f.severity == "error"] == ["TX201"]
    compiled = tvm.compile(tvm.IRModule({"main": grid(sync=True)}), target="cuda:sm_90a")
    assert "tvm_builtin_grid_sync();" in compiled.source("cuda") and "__restrict__" not in compiled.source("cuda")
    assert "atom.global.add.u32" in compiled.source("ptx")


def test_a_grid_that_synchronises_fits_on_the_gpu() -> None:
    report = tvm.simulate(grid(True, 5000), np.zeros((4, 5000), np.int32), np.zeros((4, 5000), np.int32), gpu="b200")
    assert report.verdict == "fault" and "holds" in report.findings[0].message


def test_a_cta_that_does_not_synchronise_with_the_grid_is_named() -> None:
    @T.prim_func
    def kernel(O: T.Buffer((64,), "int32")):
        T.device_entry()
        bx = T.cta_id([4])
        tx = T.thread_id([64])
        if bx > 0:
            T.cuda.grid_sync()
        O[tx] = tx

    report = tvm.simulate(kernel, np.zeros(64, np.int32), gpu="b200")
    assert report.verdict == "deadlock" and report.findings[0].code == "TX111"
    assert "256 threads of the grid, and only 192 reach it" in report.findings[0].message


def unaligned() -> PrimFunc:
    """Lanes of one warp come to a barrier on two ways; a second warp passes on what they wrote."""

    @T.prim_func
    def kernel(O: T.Buffer((64,), "int32")):
        T.device_entry()
        bx = T.cta_id([1])
        tx = T.thread_id([64])
        box = T.alloc_shared((64,), "int32")
        if tx < 16:
            box[tx] = tx
            T.ptx.barrier.sync(1, 64)
        else:
            box[tx] = 100 + tx
            T.ptx.barrier.sync(1, 64)
        O[tx] = box[63 - tx]

    return kernel


def test_lanes_come_to_an_unaligned_barrier_on_ways_of_their_own() -> None:
    out = np.zeros(64, np.int32)
    simulated(unaligned(), out)
    threads = np.arange(64)
    np.testing.assert_array_equal(out, np.where(threads < 16, threads, 100 + threads)[::-1])


@pytest.mark.parametrize("sync", [True, False])
def test_some_lanes_of_a_warp_synchronise(sync: bool) -> None:
    @T.prim_func
    def kernel(O: T.Buffer((32,), "int32")):
        T.device_entry()
        bx = T.cta_id([1])
        tx = T.thread_id([32])
        box = T.alloc_shared((32,), "int32")
        if tx < 16:
            box[tx] = tx
            if sync:
                T.ptx.bar.warp.sync(T.uint32(0xFFFF))
            O[tx] = box[15 - tx]

    out = np.zeros(32, np.int32)
    report = tvm.simulate(kernel, out, gpu="b200")
    assert out[:16].tolist() == list(range(15, -1, -1))
    assert [f.kind for f in report.findings] == ([] if sync else ["missing-warp-sync"])
