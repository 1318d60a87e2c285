"""min and max of floats are those of the CUDA C++ that is emitted: of PTX's instructions without .NaN."""

from __future__ import annotations

import itertools
import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.codegen import cuda_source
from tirx_mini.driver.compiling import to_kernel
from tirx_mini.ir import Const, PrimFunc, binary, const
from tirx_mini.script import tirx as T

TYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32, "float64": np.float64}
EMITTED = {"float16": "__hmax(", "bfloat16": "__hmax(", "float32": "max(", "float64": "max("}
SPECIAL = (math.nan, math.inf, -math.inf, 0.0, -0.0, 1e-7, -1e-7, 2.5)
PAIRS = [*itertools.product(SPECIAL, SPECIAL)]


def greatest(a: float, b: float) -> float:
    """PTX ISA, max: "If one of the inputs is NaN, then the other", and +0.0 > -0.0."""
    if math.isnan(a) or math.isnan(b):
        return b if math.isnan(a) else a
    return max(a, b, key=lambda x: (x, math.copysign(1, x)))


def kernel_of(dtype: str) -> PrimFunc:
    n = len(PAIRS)

    @T.prim_func
    def extremes(A: T.Buffer((n,), dtype), B: T.Buffer((n,), dtype), C: T.Buffer((4, n), dtype)):
        T.device_entry()
        tx = T.thread_id([n])
        C[0, tx] = T.max(A[tx], B[tx])
        C[1, tx] = T.min(A[tx], B[tx])
        C[2, tx] = T.max(A[tx], T.cast(0, dtype))
        if tx == 0:
            for i in T.serial(n):  # numbers that all lanes share
                C[3, i] = T.max(A[i], B[i])

    return extremes


@pytest.mark.parametrize("dtype", TYPES)
def test_they_are_those_of_ptx(dtype: str) -> None:
    a, b = (np.array(side).astype(TYPES[dtype]) for side in zip(*PAIRS, strict=True))
    c = np.zeros((4, len(PAIRS)), TYPES[dtype])
    report = tvm.simulate(kernel_of(dtype), a, b, c)
    assert report.ok, report
    x, y = a.astype(float), b.astype(float)
    wanted = [
        [greatest(*pair) for pair in zip(x, y, strict=True)],
        [-greatest(-p, -q) for p, q in zip(x, y, strict=True)],
        [greatest(p, 0.0) for p in x],
    ]
    for row, numbers in zip((0, 1, 2, 3), (*wanted, wanted[0]), strict=True):
        assert list(map(bits, c[row])) == list(map(bits, numbers)), row
    assert EMITTED[dtype] in cuda_source(to_kernel(kernel_of(dtype), "sm_90a")).text


def bits(number: Any) -> tuple[bool, float, float]:
    """Return a key that compares as the bits of the number do; all NaNs are equal."""
    value = float(number)
    return (True, 0, 0) if math.isnan(value) else (False, value, math.copysign(1, value))


def test_constants_are_folded_in_the_same_way() -> None:
    for a, b in PAIRS:
        for op, wanted in (("max", greatest(a, b)), ("min", -greatest(-a, -b))):
            found = binary(op, const(a, "float32"), const(b, "float32"))
            assert isinstance(found, Const)
            assert bits(found.value) == bits(wanted), (op, a, b)
    found = binary("max", const(3), const(-4))
    assert isinstance(found, Const)
    assert found.value == 3
