"""Copies between shared memory and fragments: right for all layouts, by ldmatrix and stmatrix where these fit."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tirx_mini as tvm
from tirx_mini.ir import PrimFunc
from tirx_mini.layout import (
    S,
    SwizzleMode,
    TileLayout,
    laneid,
    mma_fragment_layout,
    tma_shared_layout,
    wgmma_accumulator_layout,
)
from tirx_mini.passes import lower
from tirx_mini.script import tirx as Tx

NUMPY: dict[str, Any] = {
    "float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "int16": np.int16, "float32": np.float32,
}  # fmt: skip
SWIZZLES = (SwizzleMode.SWIZZLE_128B_ATOM, SwizzleMode.SWIZZLE_64B_ATOM, SwizzleMode.SWIZZLE_32B_ATOM)


def stripes(rows: int, cols: int) -> TileLayout:
    """Accumulators of mma.sync, one 16 rows below the other."""
    row_strides, col_strides = (cols // 2, 2, 4 @ laneid), (4, 1 @ laneid, 1)
    return TileLayout(S[((rows // 16, 2, 8), (cols // 8, 4, 2)) : (row_strides, col_strides)])


def whole_rows(rows: int, cols: int) -> TileLayout:
    """No fragment of a tensor core: each lane has neighbours in a row."""
    return TileLayout(S[((rows // 16, 16), (2, cols // 2)) : ((cols // 2, 2 @ laneid), (1 @ laneid, 1))])


def there_and_back(
    fragment: TileLayout, shape: tuple[int, int], shared: TileLayout, at: tuple[int, int], dtype: str, scope: str
) -> PrimFunc:
    """A tile at `at` of a matrix in shared memory goes to registers and to another matrix."""
    (rows, cols), (first, start) = shape, at
    whole, threads = tuple(shared.shape), 128 if scope == "warpgroup" else 32

    @Tx.prim_func(tirx=True)
    def kernel(A: Tx.Buffer(whole, dtype), B: Tx.Buffer(whole, dtype)):
        with Tx.kernel():
            bx = Tx.cta_id([1], parent="kernel")
            tid = Tx.thread_id([threads], parent="cta")
            pool = Tx.PoolAllocator()
            As = pool.alloc(whole, dtype, layout=shared)
            Bs = pool.alloc(whole, dtype, layout=shared)
            pool.commit()
            with Tx.cta():
                Tx.copy(As, A)
                Tx.copy(Bs, B)
            Tx.cuda.cta_sync()
            own = Tx.alloc_local((rows * cols // threads,), dtype)
            tile = own.view(rows, cols, layout=fragment)
            if scope == "warpgroup":
                with Tx.warpgroup():
                    Tx.copy(tile, As[first : first + rows, start : start + cols])
                    Tx.copy(Bs[first : first + rows, start : start + cols], tile)
            else:
                with Tx.warp():
                    Tx.copy(tile, As[first : first + rows, start : start + cols])
                    Tx.copy(Bs[first : first + rows, start : start + cols], tile)
            Tx.cuda.cta_sync()
            with Tx.cta():
                Tx.copy(B, Bs)

    return kernel


def check(func: PrimFunc, shape: tuple[int, int], at: tuple[int, int], dtype: str) -> None:
    whole = tuple(func.params[0].shape)  # type: ignore[union-attr]
    a, b = (np.arange(np.prod(whole)).reshape(whole) % 251 + start for start in (0, 300))
    a, b = a.astype(NUMPY[dtype]), b.astype(NUMPY[dtype])
    expected = b.copy()
    tile = tuple(slice(first, first + extent) for first, extent in zip(at, shape, strict=True))
    expected[tile] = a[tile]
    report = tvm.simulate(func, a, b, gpu="h100")
    assert report.ok and not report.findings, str(report)
    np.testing.assert_array_equal(b, expected)


@st.composite
def copies(draw: Any) -> tuple[TileLayout, tuple[int, int], TileLayout, tuple[int, int], str, str]:
    scope = draw(st.sampled_from(("warp", "warpgroup")))
    cols = 8 * draw(st.integers(1, 6))
    if scope == "warpgroup":
        rows = 64 * draw(st.integers(1, 2))
        fragment = wgmma_accumulator_layout(cols, rows)
    else:
        rows = draw(st.sampled_from((8, 16, 32)))
        cols = draw(st.sampled_from((8, 16))) if rows == 8 else cols
        fragments = [mma_fragment_layout(8, cols)] if rows == 8 else [stripes(rows, cols), whole_rows(rows, cols)]
        fragment = draw(st.sampled_from(fragments))
    above, beside = draw(st.sampled_from((0, 8, 16))), draw(st.sampled_from((0, 4, 8, 32)))
    dtype = draw(st.sampled_from(list(NUMPY)))
    shape = rows + above, max(64, -(-(cols + beside) // 64) * 64)
    plain = [TileLayout(S[shape : (shape[1] + pad, 1)]) for pad in (0, 4, 8)]
    turned = TileLayout(S[shape : (1, shape[0])])
    swizzled = [tma_shared_layout(dtype, mode, shape) for mode in SWIZZLES]
    return fragment, (rows, cols), draw(st.sampled_from([*plain, turned, *swizzled])), (above, beside), dtype, scope


@settings(max_examples=40, deadline=None)
@given(copies())
def test_every_layout(case: tuple[TileLayout, tuple[int, int], TileLayout, tuple[int, int], str, str]) -> None:
    fragment, shape, shared, at, dtype, scope = case
    check(there_and_back(fragment, shape, shared, at, dtype, scope), shape, at, dtype)


FITTING = [
    ("warpgroup", (64, 64), wgmma_accumulator_layout(64), "x4"),
    ("warpgroup", (128, 24), wgmma_accumulator_layout(24, 128), "x2"),
    ("warp", (16, 16), mma_fragment_layout(16, 16), "x4"),
    ("warp", (8, 16), mma_fragment_layout(8, 16), "x2"),
    ("warp", (8, 8), mma_fragment_layout(8, 8), "x1"),
    ("warp", (32, 40), stripes(32, 40), "x2"),
]


@pytest.mark.parametrize(("scope", "shape", "fragment", "blocks"), FITTING)
def test_a_fragment_is_moved_by_blocks(scope: str, shape: tuple[int, int], fragment: TileLayout, blocks: str) -> None:
    shared = TileLayout(S[(shape[0] + 8, 72) : (72, 1)])
    func = there_and_back(fragment, shape, shared, (8, 8), "bfloat16", scope)
    text = lower(func).script()
    assert "ldmatrix(" in text and f"num={blocks[1:]}" in text and "stmatrix(" in text
    check(func, shape, (8, 8), "bfloat16")


def columns(rows: int, cols: int) -> list[TileLayout]:
    """Matrices whose columns are contiguous: all columns in a row, with padding, and in swizzled atoms."""
    return [TileLayout(S[(rows, cols) : (1, rows + pad)]) for pad in (0, 8)] + [
        tma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (cols, rows)).permute_dims((1, 0))
    ]


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize(("scope", "shape", "fragment", "blocks"), FITTING)
def test_columns_are_transposed_on_the_way(
    scope: str, shape: tuple[int, int], fragment: TileLayout, blocks: str, number: int
) -> None:
    shared = columns(-(-(shape[0] + 8) // 64) * 64, 72)[number]
    func = there_and_back(fragment, shape, shared, (8, 8), "float16", scope)
    text = lower(func).script()
    assert text.count("transpose=True") == text.count("matrix(") > 0 and f"num={blocks[1:]}" in text
    check(func, shape, (8, 8), "float16")


@pytest.mark.parametrize(
    ("shared", "at", "dtype"),
    [
        (TileLayout(S[(64, 64) : (1, 68)]), (0, 0), "float16"),
        (TileLayout(S[(96, 64) : (1, 96)]), (4, 0), "float16"),
        (TileLayout(S[(64, 64) : (1, 64)]), (0, 0), "float32"),
        (TileLayout(S[(64, 64) : (68, 1)]), (0, 0), "float16"),
        (TileLayout(S[(64, 64) : (64, 1)]), (0, 4), "float16"),
        (TileLayout(S[(64, 64) : (64, 1)]), (0, 0), "float32"),
    ],
    ids=[
        "columns that are not aligned", "a row that is not aligned", "columns of 32 bits", "rows that are not aligned",
        "a column that is not aligned", "32 bits",
    ],
)  # fmt: skip
def test_other_tiles_are_moved_by_elements(shared: TileLayout, at: tuple[int, int], dtype: str) -> None:
    func = there_and_back(wgmma_accumulator_layout(32), (64, 32), shared, at, dtype, "warpgroup")
    assert "matrix(" not in lower(func).script()
    check(func, (64, 32), at, dtype)


@pytest.mark.compiler
@pytest.mark.parametrize("arch", ["sm_90a", "sm_100a"])
def test_blocks_compile(arch: str) -> None:
    for scope, shape, fragment, blocks in FITTING:
        shared = TileLayout(S[(shape[0], 64) : (64, 1)])
        func = there_and_back(fragment, shape, shared, (0, 0), "float16", scope)
        ptx = tvm.compile(func, target=f"cuda:{arch}").source("ptx")
        assert f"ldmatrix.sync.aligned.m8n8.{blocks}.shared" in ptx and f"stmatrix.sync.aligned.m8n8.{blocks}" in ptx
        shared = TileLayout(S[(shape[0], 64) : (1, shape[0])])
        func = there_and_back(fragment, shape, shared, (0, 0), "float16", scope)
        ptx = tvm.compile(func, target=f"cuda:{arch}").source("ptx")
        assert all(f"{op}matrix.sync.aligned.m8n8.{blocks}.trans.shared" in ptx for op in ("ld", "st"))
