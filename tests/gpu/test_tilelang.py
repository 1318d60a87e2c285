"""Programs in TileLang launched on tensors of a GPU."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from tests.tirx_mini.frontends.tilelang.test_programs import attention, matmul
from tirx_mini import tilelang
from tirx_mini.tilelang import language as T

pytestmark = pytest.mark.gpu

TOLERANCE = {"rtol": 2e-2, "atol": 2e-2}


def randn(*shape: int, dtype: torch.dtype = torch.float16) -> torch.Tensor:
    return torch.randn(shape, device="cuda", dtype=dtype)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("sizes", "tiles", "stages", "threads"),
    [
        ((512, 512, 512), (128, 128, 64), 3, 256),
        ((512, 512, 512), (128, 256, 64), 4, 256),
        ((300, 200, 136), (64, 64, 32), 2, 128),
        ((256, 256, 256), (64, 64, 32), 0, 128),
        ((256, 256, 256), (32, 32, 32), 2, 64),
    ],
)
def test_gemm(
    sizes: tuple[int, int, int], tiles: tuple[int, int, int], stages: int, threads: int, turned: bool
) -> None:
    m, n, k = sizes
    kernel = tilelang.compile(matmul(m, n, k, tiles, stages, threads, turned), out_idx=-1)
    a, b = randn(m, k), randn(n, k) if turned else randn(k, n)
    torch.testing.assert_close(kernel(a, b), a.float() @ (b.T if turned else b).float(), **TOLERANCE)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("stages", [1, 2])
def test_attention(causal: bool, stages: int) -> None:
    kernel = attention(2, 2, 256, 64, causal, stages)
    q, k, v = (randn(2, 256, 2, 64) for _ in range(3))
    want = F.scaled_dot_product_attention(*(x.transpose(1, 2).float() for x in (q, k, v)), is_causal=causal)
    torch.testing.assert_close(kernel(q, k, v).float(), want.transpose(1, 2), **TOLERANCE)


def softmax(rows: int, columns: int, threads: int) -> Any:
    @T.prim_func
    def main(X: T.Tensor((rows, columns), "float16"), Y: T.Tensor((rows, columns), "float16")):
        with T.Kernel(rows, threads=threads) as bx:
            x = T.alloc_fragment((1, columns), "float32")
            most = T.alloc_fragment((1,), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.copy(X[bx, 0], x)
            T.reduce_max(x, most, dim=1)
            for i, j in T.Parallel(1, columns):
                x[i, j] = T.exp(x[i, j] - most[i])
            T.reduce_sum(x, total, dim=1)
            for i, j in T.Parallel(1, columns):
                x[i, j] /= total[i]
            T.copy(x, Y[bx, 0])

    return main


@pytest.mark.parametrize(("columns", "threads"), [(512, 128), (4096, 256), (96, 32)])
def test_rows(columns: int, threads: int) -> None:
    x = randn(64, columns)
    found = tilelang.compile(softmax(64, columns, threads), out_idx=-1)(x)
    torch.testing.assert_close(found, torch.softmax(x.float(), 1).half(), **TOLERANCE)


def test_split_k() -> None:
    m = n = 128
    k, parts = 512, 4

    @T.prim_func
    def main(A: T.Tensor((m, k), "float16"), B: T.Tensor((k, n), "float16"), C: T.Tensor((m, n), "float32")):
        with T.Kernel(T.ceildiv(n, 64), T.ceildiv(m, 64), parts, threads=128) as (bx, by, bz):
            left = T.alloc_shared((64, 32), "float16")
            right = T.alloc_shared((32, 64), "float16")
            sums = T.alloc_fragment((64, 64), "float32")
            T.clear(sums)
            for step in T.Pipelined(k // parts // 32, num_stages=2):
                T.copy(A[by * 64, bz * (k // parts) + step * 32], left)
                T.copy(B[bz * (k // parts) + step * 32, bx * 64], right)
                T.gemm(left, right, sums)
            for i, j in T.Parallel(64, 64):
                T.atomic_add(C[by * 64 + i, bx * 64 + j], sums[i, j])

    a, b, c = randn(m, k), randn(k, n), torch.zeros((m, n), device="cuda")
    tilelang.compile(main)(a, b, c)
    torch.testing.assert_close(c, a.float() @ b.float(), **TOLERANCE)
