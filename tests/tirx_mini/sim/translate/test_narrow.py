"""Floating-point types of 6 and 4 bits: a byte each, rounded to the nearest, without infinity and NaN."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.ir import DataType, TirxError
from tirx_mini.passes import lower
from tirx_mini.script import tirx as T

VALUES = [0.0, -0.0, 0.0625, 0.1, 0.49, 1.0, -1.3, 7.4, 7.6, 9.0, 27.0, 31.0, -1e9, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("dtype", ["float6_e2m3fn", "float6_e3m2fn"])
@pytest.mark.compiler
def test_numbers_there_and_back(dtype: str) -> None:
    @T.prim_func
    def kernel(A: T.Buffer((16,), "float32"), N: T.Buffer((16,), dtype), B: T.Buffer((16,), "float32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([16])
        narrow = T.alloc_local((1,), dtype)
        narrow[0] = T.Cast(dtype, A[tx])
        N[tx] = narrow[0]
        B[tx] = T.Cast("float32", narrow[0]) * 2.0

    kind = getattr(ml_dtypes, dtype)
    limit = float(ml_dtypes.finfo(kind).max)
    a, n, b = np.array(VALUES, np.float32), np.zeros(16, kind), np.zeros(16, np.float32)
    report = tvm.simulate(kernel, a, n, b)
    assert report.verdict == "ok" and not report.findings
    expected = np.where(np.isnan(a), limit, np.clip(a, -limit, limit)).astype(kind)
    np.testing.assert_array_equal(n.view(np.uint8), expected.view(np.uint8))
    np.testing.assert_array_equal(b, 2 * expected.astype(np.float32))
    assert tvm.compile(tvm.IRModule({"main": kernel}), target="cuda:sm_100a").source("ptx")
    assert tvm.compile(tvm.IRModule({"main": kernel}), target="cuda:sm_90a").source("ptx")


@pytest.mark.compiler
def test_numbers_of_4_bits_are_a_byte_each_in_registers() -> None:
    @T.prim_func
    def kernel(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([16])
        narrow = T.alloc_local((2,), "float4_e2m1fn")
        narrow[1] = T.Cast("float4_e2m1fn", A[tx])
        B[tx] = T.Cast("float32", narrow[1])

    a, b = np.array(VALUES, np.float32), np.zeros(16, np.float32)
    report = tvm.simulate(kernel, a, b)
    assert report.verdict == "ok" and not report.findings
    expected = np.where(np.isnan(a), 6, np.clip(a, -6, 6)).astype(ml_dtypes.float4_e2m1fn)
    np.testing.assert_array_equal(b, expected.astype(np.float32))
    exe = tvm.compile(tvm.IRModule({"main": kernel}), target="cuda:sm_90a")
    assert "(__nv_fp4_e2m1)A[" in exe.source("cuda") and exe.source("ptx")


def test_one_element_of_4_bits_in_memory_is_refused() -> None:
    @T.prim_func
    def kernel(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float4_e2m1fn")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([16])
        B[tx] = T.Cast("float4_e2m1fn", A[tx])

    with pytest.raises(TirxError, match="a byte holds two elements of B"):
        lower(kernel)


def test_the_types_have_names() -> None:
    assert DataType("float6_e2m3fnx4").nbytes == 4 and DataType("float6_e3m2fn").is_float
    assert str(T.float6_e2m3fn) == "float6_e2m3fn" and T.float6_e3m2fn(3.0).dtype == "float6_e3m2fn"
