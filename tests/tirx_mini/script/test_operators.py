"""Operators under the names that TVM has for the nodes of expressions."""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini
from tirx_mini.ir import structural_equal
from tirx_mini.script import from_source
from tirx_mini.script import tirx as T

N = 32


@T.prim_func
def kernel(A: T.Buffer((N,), "float32"), B: T.Buffer((11, N), "float32"), C: T.Buffer((10, N), "int32")):
    T.device_entry()
    T.cta_id([1])
    i = T.thread_id([N])
    B[0, i] = T.Add(A[i], T.FloatImm("float32", 0.5))
    B[1, i] = T.Sub(A[i], 2.0)
    B[2, i] = T.Mul(A[i], A[i])
    B[3, i] = T.Div(A[i], 4.0)
    B[4, i] = T.Max(A[i], 1.0)
    B[5, i] = T.Min(A[i], 1.0)
    B[6, i] = T.abs(A[i])
    B[7, i] = T.fabs(A[i] - 3.0)
    B[8, i] = T.infinity("float32")
    B[9, i] = T.max_value("float32")
    B[10, i] = T.min_value("float32")
    C[0, i] = T.Div(i, 5)
    C[1, i] = T.Mod(i, 5)
    C[2, i] = T.FloorDiv(i, 3) + T.FloorMod(i, 3)
    C[3, i] = T.if_then_else(T.EQ(i, 7), T.IntImm("int32", 9), 0)
    C[4, i] = T.if_then_else(T.And(T.GE(i, 7), T.LT(i, 9)), 1, 0)
    C[5, i] = T.if_then_else(T.Or(T.LE(i, 7), T.GT(i, 9)), 1, 0)
    C[6, i] = T.if_then_else(T.likely(T.NE(i, 7)), 1, 0)
    C[7, i] = T.if_then_else(T.isnan(A[i] / A[i]), 1, 0)
    C[8, i] = T.max_value("int32")
    C[9, i] = T.min_value("int32")


def test_the_operators_compute_what_their_names_say() -> None:
    a = np.arange(N, dtype=np.float32) - 8
    b, c = np.zeros((11, N), np.float32), np.zeros((10, N), np.int32)
    report = tirx_mini.simulate(kernel, a, b, c)
    assert report.verdict == "ok" and not report.findings, str(report)
    top = np.full(N, np.finfo(np.float32).max)
    expected = [
        a + 0.5, a - 2, a * a, a / 4, np.maximum(a, 1), np.minimum(a, 1), abs(a), abs(a - 3), top * np.inf, top, -top
    ]  # fmt: skip
    np.testing.assert_array_equal(b, np.array(expected, np.float32))
    i, most = np.arange(N), np.iinfo(np.int32)
    whole = [i // 5, i % 5, i // 3 + i % 3, 9 * (i == 7), (i >= 7) & (i < 9), (i <= 7) | (i > 9), i != 7, a == 0,
             i * 0 + most.max, i * 0 + most.min]  # fmt: skip
    np.testing.assert_array_equal(c, np.array(whole, np.int32))
    assert structural_equal(kernel, from_source(kernel.script()))


@pytest.mark.compiler
def test_they_compile() -> None:
    assert "st.global" in tirx_mini.compile(kernel, target="cuda:sm_100a").source("ptx")
