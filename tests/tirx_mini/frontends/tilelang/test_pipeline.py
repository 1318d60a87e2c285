"""Programs over tiles as kernels: right in the simulator, and accepted by the compiler."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.frontends.tilelang.pipeline import lower
from tirx_mini.tilelang import language as T


def run(kernel: Any, *args: Any) -> None:
    report = tvm.simulate(lower(kernel, "sm_90a"), *args, gpu="h100")
    assert report.verdict == "ok" and not report.findings, report


def softmax(M: int, N: int, rows: int) -> Any:
    @T.prim_func
    def main(X: T.Tensor((M, N), "float16"), Y: T.Tensor((M, N), "float16")):
        with T.Kernel(T.ceildiv(M, rows), threads=128) as bx:
            x = T.alloc_fragment((rows, N), "float32")
            top = T.alloc_fragment((rows,), "float32")
            total = T.alloc_fragment((rows,), "float32")
            T.copy(X[bx * rows : (bx + 1) * rows, :], x)
            T.reduce_max(x, top, dim=1)
            for i, j in T.Parallel(rows, N):
                x[i, j] = T.exp2((x[i, j] - top[i]) * 1.44269504)
            T.reduce_sum(x, total, dim=1)
            for i, j in T.Parallel(rows, N):
                x[i, j] = x[i, j] / total[i]
            T.copy(x, Y[bx * rows : (bx + 1) * rows, :])

    return main


@pytest.mark.parametrize(("M", "N", "rows"), [(8, 256, 4), (3, 1000, 1), (16, 96, 8)])
def test_softmax(M: int, N: int, rows: int) -> None:
    x = np.random.default_rng(0).standard_normal((M, N)).astype(np.float16)
    y = np.zeros_like(x)
    run(softmax(M, N, rows), x, y)
    powers = np.exp(x.astype(np.float32) - x.astype(np.float32).max(1, keepdims=True))
    np.testing.assert_allclose(y, powers / powers.sum(1, keepdims=True), atol=1e-3)


@pytest.mark.parametrize("n", [1024, 1000, 37])
def test_elements_beyond_an_argument_are_left_out(n: int) -> None:
    @T.prim_func
    def add(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32"), C: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, 512), threads=128) as bx:
            for i in T.Parallel(512):
                C[bx * 512 + i] = A[bx * 512 + i] + B[bx * 512 + i]

    a, b = (np.arange(n, dtype=np.float32) * scale for scale in (1, 2))
    c = np.zeros_like(a)
    run(add, a, b, c)
    np.testing.assert_array_equal(c, a + b)


def test_threads_wait_for_what_others_have_stored() -> None:
    @T.prim_func
    def transposed(A: T.Tensor((70, 50), "float32"), B: T.Tensor((50, 70), "float32")):
        with T.Kernel(T.ceildiv(50, 32), T.ceildiv(70, 32), threads=256) as (bx, by):
            tile = T.alloc_shared((32, 33), "float32")
            for i, j in T.Parallel(32, 32):
                tile[i, j] = A[by * 32 + i, bx * 32 + j]
            for i, j in T.Parallel(32, 32):
                B[bx * 32 + i, by * 32 + j] = tile[j, i]

    a = np.random.default_rng(0).random((70, 50), np.float32)
    b = np.zeros((50, 70), np.float32)
    run(transposed, a, b)
    np.testing.assert_array_equal(b, a.T)


@pytest.mark.compiler
@pytest.mark.parametrize("arch", ["sm_90a", "sm_100a"])
def test_the_compiler_takes_it(arch: str) -> None:
    exe = tvm.compile(lower(softmax(16, 96, 8), arch), target=f"cuda:{arch}")
    assert "shfl" in exe.source("ptx")
