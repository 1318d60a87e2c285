"""Reductions of tiles in the registers of a warp: by each thread, and across lanes by shuffles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirx_mini
from tirx_mini.ir import PrimFunc, TirxError
from tirx_mini.layout import R, S, TileLayout, laneid
from tirx_mini.passes import lower
from tirx_mini.script import tirx as T

FRAGMENT = TileLayout(S[(2, 8, 8, 4, 2) : (2, 4 @ laneid, 4, 1 @ laneid, 1)])  # 16 × 64, as mma.sync leaves it
ONE_EACH = TileLayout(S[(2, 8, 4) : (1, 4 @ laneid, 1 @ laneid)])  # 16 × 4: an element for each lane of a row
COPIES = TileLayout(S[(2, 8) : (1, 4 @ laneid)] + R[4 : 1 @ laneid])
FUNCTIONS = {"sum": np.sum, "max": np.max, "min": np.min}


def reduction(op: str, accum: bool, together: bool, shape: Any = (16, 4), layout: Any = ONE_EACH) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((16, 64), "float32"), B: T.Buffer(shape, "float32")):
        T.device_entry()
        T.cta_id([1])
        T.lane_id([32])
        T.thread_id([32])
        a = T.alloc_local((16, 64), "float32", layout=FRAGMENT)
        b = T.alloc_local(shape, "float32", layout=layout)
        T.warp.copy(a, A)
        T.warp.copy(b, B)
        getattr(T.warp, op)(b, a, [-1], accum, thread_reduce=together)
        T.warp.copy(B, b)

    return kernel


@pytest.mark.parametrize("op", ["sum", "max", "min"])
@pytest.mark.parametrize(("accum", "together"), [(False, False), (True, False), (False, True), (True, True)])
def test_each_lane_has_its_part_or_that_of_all(op: str, accum: bool, together: bool) -> None:
    rng = np.random.default_rng(5)
    a, before = rng.standard_normal((16, 64)).astype(np.float32), rng.standard_normal((16, 4)).astype(np.float32)
    wanted = FUNCTIONS[op](a.reshape(16, 8, 4, 2), axis=(1, 3))
    if together:
        wanted = np.repeat(FUNCTIONS[op](a, axis=1, keepdims=True), 4, axis=1)
    if accum:
        wanted = FUNCTIONS[op]([wanted, before], axis=0)
    b = before.copy()
    report = tirx_mini.simulate(reduction(op, accum, together), a, b)
    assert report.verdict == "ok", report
    np.testing.assert_allclose(b, wanted, rtol=1e-5, atol=1e-5)


def test_a_result_with_copies_is_that_of_all_lanes() -> None:
    """A layout with a replica over the lanes of a row asks for the shuffles; a view shares the registers."""

    @T.prim_func
    def kernel(A: T.Buffer((16, 64), "float32"), B: T.Buffer((16,), "float32")):
        T.device_entry()
        T.cta_id([1])
        lane = T.lane_id([32])
        T.thread_id([32])
        a = T.alloc_local((16, 64), "float32", layout=FRAGMENT)
        b = T.alloc_local((16,), "float32", layout=COPIES)
        T.warp.copy(a, A)
        T.warp.sum(b, a, axes=[1])
        own = b.local(2)
        if lane % 4 == 3:
            for half in range(2):
                B[half * 8 + lane // 4] = own[half]

    a, b = np.random.default_rng(7).standard_normal((16, 64)).astype(np.float32), np.zeros(16, np.float32)
    report = tirx_mini.simulate(kernel, a, b)
    assert report.verdict == "ok", report
    np.testing.assert_allclose(b, a.sum(axis=1), rtol=1e-5, atol=1e-5)


def test_a_result_in_one_lane_is_refused() -> None:
    @T.prim_func
    def kernel(A: T.Buffer((16, 64), "float32")):
        T.device_entry()
        T.cta_id([1])
        T.thread_id([32])
        a = T.alloc_local((16, 64), "float32", layout=FRAGMENT)
        b = T.alloc_local((16,), "float32", layout=TileLayout(S[(2, 8) : (1, 4 @ laneid)]))
        T.warp.copy(a, A)
        T.warp.sum(b, a, axes=[1])

    with pytest.raises(TirxError, match="reduced to an element of thread 0") as error:
        lower(kernel)
    assert "R[4 : 1@laneid]" in str(error.value)


def test_loops_over_a_shape_have_one_name() -> None:
    @T.prim_func
    def kernel(A: T.Buffer((2, 3, 32), "int32")):
        T.device_entry()
        T.cta_id([1])
        thread = T.thread_id([32])
        for at in T.grid(2, 3):
            A[at[0], at[1], thread] = at[0] * 10 + at[1]

    a = np.zeros((2, 3, 32), np.int32)
    assert tirx_mini.simulate(kernel, a).verdict == "ok"
    assert a[:, :, 9].tolist() == [[0, 1, 2], [10, 11, 12]]


@pytest.mark.parametrize("dtypes", [("float32", "float8_e4m3fn"), ("float8_e5m2", "float16")])
def test_casts_of_eight_bits(dtypes: tuple[str, str]) -> None:
    source, target = dtypes

    @T.prim_func
    def kernel(A: T.Buffer((32, 8), source), B: T.Buffer((32, 8), target)):
        T.device_entry()
        T.cta_id([1])
        thread = T.thread_id([32])
        a = T.alloc_local((8,), source)
        b = T.alloc_local((8,), target)
        T.tile.copy(a, A[thread, :])
        T.tile.cast(b, a)
        T.tile.copy(B[thread, :], b)

    kinds = [tirx_mini.sim.numpy_dtype(tirx_mini.DataType(name)) for name in dtypes]
    a, b = np.linspace(-4, 4, 256, dtype=np.float32).reshape(32, 8).astype(kinds[0]), np.zeros((32, 8), kinds[1])
    assert tirx_mini.simulate(kernel, a, b).verdict == "ok"
    assert (b == a.astype(kinds[1])).all()
    assert "__nv_fp8" in tirx_mini.compile(kernel, target="sim").source("cuda")
