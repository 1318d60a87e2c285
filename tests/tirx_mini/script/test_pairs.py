"""TVM's functions on pairs of numbers in one register, simulated and compiled."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.codegen import cuda_source
from tirx_mini.ir import TirxError
from tirx_mini.passes import lower
from tirx_mini.runtime import compile_cuda
from tirx_mini.script import tirx as T


@T.prim_func
def pairs(A: T.Buffer((64,), "float32"), words: T.Buffer((8, 32), "uint32"), numbers: T.Buffer((5, 32), "float32")):
    T.device_entry()
    cta = T.cta_id([1])
    tx = T.thread_id([32])
    two: T.let = T.cuda.make_float2(A[tx], A[tx + 32])
    small: T.let = T.cuda.float22bfloat162_rn(A[tx], A[tx + 32])
    again: T.let = T.cuda.bfloat1622float2(small)
    numbers[0, tx] = T.cuda.float2_x(two)
    numbers[1, tx] = T.cuda.float2_y(two)
    numbers[2, tx] = T.cuda.float2_x(again)
    numbers[3, tx] = T.cuda.float2_y(again)
    numbers[4, tx] = T.cuda.bfloat162float(T.Cast("uint16", small & T.uint32(0xFFFF)))
    words[0, tx] = small
    words[1, tx] = T.cuda.float22bfloat162_rn_from_float2(two)
    words[2, tx] = T.cuda.fp8x4_e4m3_from_float4(A[tx], A[tx + 32], 1.0, 1000.0)
    words[3, tx] = T.cuda.hmax2(small, T.uint32(0x40004000))
    words[4, tx] = T.cuda.hmin2(small, T.uint32(0x40004000))
    words[5, tx] = T.cuda.ffs_u32(T.Cast("uint32", tx))
    words[6, tx] = T.ptx.fns_b32(T.uint32(0xF0F0), T.uint32(0), tx % 8 + 1)
    words[7, tx] = T.cuda.get_tmem_addr(T.Cast("uint32", tx), 32, 8)


def test_pairs_of_numbers() -> None:
    A = np.random.default_rng(0).normal(size=64).astype(np.float32) * 3
    words, numbers = np.zeros((8, 32), np.uint32), np.zeros((5, 32), np.float32)
    assert tvm.simulate(pairs, A, words, numbers).ok
    low, high = (part.astype(ml_dtypes.bfloat16) for part in (A[:32], A[32:]))
    both = np.stack([low, high], 1)
    np.testing.assert_array_equal(numbers, [A[:32], A[32:], *(part.astype(np.float32) for part in (low, high, low))])
    for row in (0, 1):
        np.testing.assert_array_equal(words[row], both.view(np.uint32)[:, 0])
    bytes_ = words[2].view(np.uint8).reshape(32, 4).view(ml_dtypes.float8_e4m3fn).astype(np.float32)
    np.testing.assert_array_equal(bytes_[:, 0], A[:32].astype(ml_dtypes.float8_e4m3fn).astype(np.float32))
    np.testing.assert_array_equal(bytes_[:, 2:], [[1, 448]] * 32)
    wide = both.astype(np.float32)
    for row, limited in ((3, np.maximum(wide, 2)), (4, np.minimum(wide, 2))):
        np.testing.assert_array_equal(words[row], limited.astype(ml_dtypes.bfloat16).view(np.uint32)[:, 0])
    assert words[5].tolist() == [(lane & -lane).bit_length() for lane in range(32)]
    assert words[6, :8].tolist() == [4, 5, 6, 7, 12, 13, 14, 15]
    np.testing.assert_array_equal(words[7], (32 << 16) + 8 + np.arange(32))


@T.prim_func
def stored(A: T.Buffer((32, 8), "float16"), B: T.Buffer((32, 8), "float16"), D: T.Buffer((32,), "float64")):
    T.device_entry()
    cta = T.cta_id([1])
    tx = T.thread_id([32])
    narrow = T.alloc_local((8,), "float16")
    wide = T.alloc_local((8,), "float32")
    d = T.alloc_local((1,), "float64")
    for i in T.unroll(8):
        narrow[i] = A[tx, i]
    T.cuda.half8tofloat8(narrow.ptr_to([0]), wide.ptr_to([0]))
    for i in T.unroll(8):
        wide[i] = T.ptx.add_rn_f32_bf16(wide[i] * 2.0, T.Cast("bfloat16", 0.5))
    T.cuda.float8tohalf8(wide.ptr_to([0]), narrow.ptr_to([0]))
    first: T.let = T.Cast("float64", wide[0])
    T.ptx.fma_f64(d.ptr_to([0]), first, T.Cast("float64", 3.0), T.Cast("float64", 1.0), rounding="rz")
    D[tx] = d[0]
    for i in T.unroll(8):
        B[tx, i] = narrow[i]


def test_addresses_of_registers_and_results_that_are_stored() -> None:
    A = np.arange(256, dtype=np.float16).reshape(32, 8)
    B, D = np.zeros_like(A), np.zeros(32)
    assert tvm.simulate(stored, A, B, D).ok
    np.testing.assert_array_equal(B, 2 * A + np.float16(0.5))
    np.testing.assert_array_equal(D, (2 * A[:, 0].astype(float) + 0.5) * 3 + 1)


@pytest.mark.compiler
@pytest.mark.parametrize("arch", ["sm_90a", "sm_100a"])
def test_they_compile(arch: str) -> None:
    for kernel in (pairs, stored):
        assert compile_cuda(cuda_source(lower(kernel)), arch).cubin


def test_an_address_of_other_elements_is_refused() -> None:
    with pytest.raises(TirxError, match="float22half2 needs a pointer to registers of float32"):

        @T.prim_func
        def kernel(A: T.Buffer((32,), "float32")):
            T.device_entry()
            T.cta_id([1])
            tx = T.thread_id([32])
            half = T.alloc_local((2,), "float16")
            T.cuda.float22half2(half.ptr_to([0]), half.ptr_to([0]))
