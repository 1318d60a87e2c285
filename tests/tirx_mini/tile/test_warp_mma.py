"""T.gemm: products of matrices in the registers of warps, by mma.sync."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirx_mini
from tirx_mini.ir import PrimFunc, TirxError
from tirx_mini.layout import Iter, S, TileLayout, laneid, wid_in_wg
from tirx_mini.passes import lower
from tirx_mini.script import tirx as T

HALVES = [Iter(2, 2), Iter(8, 4, laneid)]
PAIRS = [Iter(4, 1, laneid), Iter(2, 1)]


def made(*parts: list[Iter]) -> TileLayout:
    return TileLayout.from_iters([it for part in parts for it in part])


def left(k: int, turned: bool) -> TileLayout:
    """A [16, K], or [K, 16]: each instruction's registers side by side."""
    columns = PAIRS if k == 8 else [Iter(k // 16, 8), Iter(2, 4), *PAIRS]
    return made(columns, HALVES) if turned else made(HALVES, columns)


def right(n: int, k: int, turned: bool) -> TileLayout:
    """B [K, N], or [N, K]."""
    rows = [Iter(n // 8, max(1, k // 16) * (2 if k == 8 else 4)), Iter(8, 4, laneid)]
    columns = PAIRS if k == 8 else [Iter(k // 16, 4), Iter(2, 2), *PAIRS]
    return made(rows, columns) if turned else made(columns, rows)


def sums(n: int) -> TileLayout:
    return made(HALVES, [Iter(n // 8, 4), *PAIRS])


def product(n: int, k: int, turned_a: bool, turned_b: bool, beta: float, a_layout: Any = None) -> PrimFunc:
    a_shape, b_shape = (k, 16) if turned_a else (16, k), (n, k) if turned_b else (k, n)

    @T.prim_func
    def kernel(A: T.Buffer(a_shape, "float16"), B: T.Buffer(b_shape, "float16"), D: T.Buffer((16, n), "float32")):
        T.device_entry()
        T.cta_id([1])
        T.lane_id([32])
        T.thread_id([32])
        a = T.alloc_local(a_shape, "float16", layout=a_layout or left(k, turned_a))
        b = T.alloc_local(b_shape, "float16", layout=right(n, k, turned_b))
        d = T.alloc_local((16, n), "float32", layout=sums(n))
        T.warp.copy(a, A)
        T.warp.copy(b, B)
        T.warp.copy(d, D)
        T.warp.gemm(d, a, b, d, transpose_A=turned_a, transpose_B=turned_b, beta=beta)
        T.warp.copy(D, d)

    return kernel


@pytest.mark.parametrize(
    ("n", "k", "turned_a", "turned_b", "beta"),
    [(8, 16, False, True, 0), (16, 32, False, False, 1), (8, 8, True, True, 0), (24, 16, True, False, 1.0)],
)
def test_products_of_a_warp(n: int, k: int, turned_a: bool, turned_b: bool, beta: float) -> None:
    kernel = product(n, k, turned_a, turned_b, beta)
    rng = np.random.default_rng(n + k)
    a, b = (rng.standard_normal(param.shape).astype(np.float16) for param in kernel.params[:2])
    d = rng.standard_normal((16, n)).astype(np.float32)
    wanted = (a.T if turned_a else a).astype(np.float32) @ (b.T if turned_b else b) + beta * d
    report = tirx_mini.simulate(kernel, a, b, d)
    assert report.verdict == "ok", report
    np.testing.assert_allclose(d, wanted, rtol=1e-2, atol=1e-2)
    text = tirx_mini.compile(kernel, target="sim:h100").source("cuda")
    assert text.count("mma_sync") >= (n // 8) * max(1, k // 16)


def test_each_warp_of_a_warpgroup_multiplies_its_rows() -> None:
    @T.prim_func
    def kernel(A: T.Buffer((64, 16), "bfloat16"), B: T.Buffer((8, 16), "bfloat16"), D: T.Buffer((64, 8), "float32")):
        T.device_entry()
        T.cta_id([1])
        T.warpgroup_id([1])
        T.thread_id([128])
        warps = [Iter(4, 1, wid_in_wg)]
        a = T.alloc_local((64, 16), "bfloat16", layout=made(warps, HALVES, [Iter(2, 4), *PAIRS]))
        b = T.alloc_local((8, 16), "bfloat16", layout=right(8, 16, True))  # in each warp
        d = T.alloc_local((64, 8), "float32", layout=made(warps, HALVES, PAIRS))
        T.wg.copy(a, A)
        T.warp.copy(b, B)
        T.wg.gemm(d, a, b, d, transpose_B=True)
        T.wg.copy(D, d)

    report_of = np.arange(64 * 16).reshape(64, 16) % 7
    a = report_of.astype("float32").astype(tirx_mini.sim.numpy_dtype(tirx_mini.DataType("bfloat16")))
    b = a[:8].copy()
    d = np.zeros((64, 8), np.float32)
    report = tirx_mini.simulate(kernel, a, b, d)
    assert report.verdict == "ok", report
    np.testing.assert_array_equal(d, a.astype(np.float32) @ b.astype(np.float32).T)


def test_other_layouts_are_refused_in_a_sentence() -> None:
    for layout, sentence in (
        (made([Iter(8, 4, laneid), Iter(2, 2)], [Iter(2, 4), *PAIRS]), "not laid out as mma.sync needs it"),
        (made([Iter(2, 1), Iter(8, 4, laneid)], [Iter(2, 4), Iter(4, 1, laneid), Iter(2, 2)]), "do not share"),
    ):
        with pytest.raises(TirxError, match=sentence):
            lower(product(8, 16, False, True, 0, layout))
    with pytest.raises(TirxError, match="alpha must be 1 and beta 0 or 1"):
        lower(product(8, 16, False, True, 0.5))


def test_matrices_that_do_not_fit_are_an_error() -> None:
    with pytest.raises(TirxError, match="K = 16 and 8"):

        @T.prim_func
        def kernel(D: T.Buffer((16, 8), "float32")):
            T.device_entry()
            T.cta_id([1])
            T.thread_id([32])
            a = T.alloc_local((16, 16), "float16", layout=left(16, False))
            b = T.alloc_local((8, 16), "float16", layout=TileLayout(S[(8, 16) : (4 @ laneid, 1)]))
            d = T.alloc_local((16, 8), "float32", layout=sums(8))
            T.warp.gemm(d, a, b, d)
