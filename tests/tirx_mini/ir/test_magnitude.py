"""Absolute values, in every language."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.ir import Const, magnitude
from tirx_mini.script import from_source
from tirx_mini.tile_ir import ct, simulate

DTYPES = ("float32", "float16", "float64", "int8", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
SCRIPT = """
@T.prim_func
def kernel(A: T.Buffer((32,), "{dtype}"), B: T.Buffer((32,), "{dtype}")):
    T.device_entry()
    i = T.thread_id([32])
    B[i] = T.abs(A[i])
"""
TILELANG = """
import tirx_mini.tilelang.language as T

@T.prim_func
def kernel(A: T.Tensor((4, 32), "{dtype}"), B: T.Tensor((2, 4), "{dtype}")):
    with T.Kernel(1, threads=128):
        own = T.alloc_fragment((4, 32), "{dtype}")
        sums, most = T.alloc_fragment((4,), "{dtype}"), T.alloc_fragment((4,), "{dtype}")
        T.copy(A, own)
        T.reduce_abssum(own, sums, dim=1)
        T.reduce_absmax(own, most, dim=1)
        T.copy(sums, B[0, :])
        T.copy(most, B[1, :])
"""


def numbers(dtype: str) -> np.ndarray:
    kind: Any = np.dtype(dtype)
    if kind.kind == "f":
        return np.resize(np.array([-0.0, 0.0, -1.5, 2.5, -np.inf, np.nan], kind), 32)
    least, most = np.iinfo(kind).min, np.iinfo(kind).max
    return np.resize(np.array([least + 1, most, 0, 1, 3], kind), 32)


@ct.kernel
def of_tile(x, y):
    ct.store(y, (0,), ct.abs(ct.load(x, (0,), shape=(32,))))


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_lose_their_sign(dtype: str) -> None:
    """Zeros, too; those without a sign are kept."""
    given, expected = numbers(dtype), np.abs(numbers(dtype))
    for name in ("script", "cuTile"):
        found = np.ones_like(given)
        if name == "script":
            report = tvm.simulate(from_source(SCRIPT.format(dtype=dtype)), given, found)
        else:
            report = simulate((1,), of_tile, (given, found), gpu="h100")
        assert report.ok, str(report)
        np.testing.assert_array_equal(found, expected, name)
        np.testing.assert_array_equal(np.signbit(found.astype(float))[:2], [False, False], name)


@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions_of_magnitudes(dtype: str) -> None:
    given = np.arange(128).reshape(4, 32).astype(dtype) % 4
    given = given if dtype.startswith("u") else given - np.asarray(2, dtype)
    found = np.zeros((2, 4), dtype)
    assert tvm.simulate(from_source(TILELANG.format(dtype=dtype)), given, found).ok
    size = np.abs(given.astype(np.int64))
    np.testing.assert_array_equal(found, [size.sum(1), size.max(1)])


def test_a_constant_is_folded() -> None:
    found = magnitude(-3)
    assert isinstance(found, Const) and found.value == 3
