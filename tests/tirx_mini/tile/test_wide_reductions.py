"""Reductions of 64-bit elements, of which a shuffle moves two words: by a CTA, by a warp, and of values."""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini
from tirx_mini.ir import PrimFunc
from tirx_mini.script import tirx as T

FUNCTIONS = {"sum": np.sum, "max": np.max, "min": np.min}


def rows(op: str, dtype: str) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Buffer((8, 96), dtype), B: T.Buffer((8,), dtype), C: T.Buffer((1,), dtype)):
        T.device_entry()
        tx = T.thread_id([64])
        tile = T.alloc_shared((8, 96), dtype)
        of_rows = T.alloc_shared((8,), dtype)
        whole = T.alloc_shared((1,), dtype)
        T.cta.copy(tile, A)
        T.cuda.cta_sync()
        getattr(T.cta, op)(of_rows, tile)
        getattr(T.cta, op)(whole[0], tile)
        T.cuda.cta_sync()
        if tx < 8:
            B[tx] = of_rows[tx]
        if tx == 0:
            C[0] = whole[0]

    return kernel


@pytest.mark.parametrize("op", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["float64", "int64", "uint64"])
def test_rows_and_a_whole_tile(op: str, dtype: str) -> None:
    """Values that differ in the upper word only, and others in the lower word."""
    rng = np.random.default_rng(2)
    low = 0 if dtype == "uint64" else -40
    a = (rng.integers(low, 40, (8, 96)) * np.where(rng.random((8, 96)) < 0.5, 1, 2**33)).astype(dtype)
    b, c = np.zeros(8, dtype), np.zeros(1, dtype)
    report = tirx_mini.simulate(rows(op, dtype), a, b, c)
    assert report.verdict == "ok", report
    assert np.array_equal(b, FUNCTIONS[op](a, axis=1)) and c[0] == FUNCTIONS[op](a)


@pytest.mark.compiler
@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_they_compile(dtype: str) -> None:
    text = tirx_mini.compile(rows("sum", dtype), target="cuda:sm_90a").source("ptx")
    assert text.count("shfl.sync.bfly.b32") % 2 == 0 and "shfl.sync.bfly.b32" in text
