"""Conversions of numbers that do not fit: what an H100 makes of them."""

from __future__ import annotations

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.script import tirx as T
from tirx_mini.sim.machine import numpy_dtype

CONVERSIONS = {
    "float8_e4m3fn": [448, 448, -448, 448, -448, 1.5],
    "float8_e5m2": [57344, 57344, -57344, 57344, -57344, 1.5],
    "uint8": [0xE0, 0xFF, 0, 0xFF, 0, 1],
    "int8": [-32, -1, 0, -1, 0, 1],
    "int32": [65504, 2**31 - 1, -(2**31), 2**31 - 1, -(2**31), 1],
}
"""What a chip makes of `HARD`: float8 saturates, integers saturate at 32 bits and keep their low ones."""
HARD = np.array([65504, 3e38, -3e38, np.inf, -np.inf, 1.5], np.float32)


@pytest.mark.parametrize("uniform", [False, True])
@pytest.mark.parametrize("dtype", CONVERSIONS)
def test_numbers_that_do_not_fit_are_converted_as_on_the_chip(dtype: str, uniform: bool) -> None:
    @T.prim_func
    def kernel(A: T.Buffer((6,), "float32"), out: T.Buffer((6,), dtype)):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([32])
        if uniform:
            for i in T.serial(6):
                out[i] = T.Cast(dtype, A[i])
        elif tx < 6:
            out[tx] = T.Cast(dtype, A[tx])

    out = np.zeros(6, numpy_dtype(dtype))
    assert tvm.simulate(kernel, HARD.copy(), out, gpu="h100").ok
    assert out.astype(np.float64).tolist() == CONVERSIONS[dtype]


def test_lanes_choose_between_numbers_of_64_unsigned_bits() -> None:
    """Sums with the choice stay integers: NumPy adds a signed and an unsigned one as floating-point numbers."""

    @T.prim_func
    def kernel(A: T.Buffer((32,), "uint64"), out: T.Buffer((32,), "uint64")):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([32])
        out[tx] = A[tx] - T.if_then_else(tx < 16, T.uint64(5270498306774157605), T.uint64(1))

    A = np.arange(32, dtype=np.uint64) + np.uint64(2**63 + 1)
    out = np.zeros(32, np.uint64)
    assert tvm.simulate(kernel, A, out, gpu="h100").ok
    expected = [int(a) - (5270498306774157605 if lane < 16 else 1) for lane, a in enumerate(A)]
    assert [int(value) for value in out] == expected
