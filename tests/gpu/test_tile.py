"""Tile programs launched on tensors of a GPU."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from kernels_ref.tile import attention, gemm, layer_norm, moe, persistent_gemm, softmax, transpose, vector_add

pytestmark = pytest.mark.gpu

TOLERANCE = {"rtol": 2e-2, "atol": 2e-2}


def randn(*shape: int, dtype: torch.dtype = torch.float16) -> torch.Tensor:
    return torch.randn(shape, device="cuda", dtype=dtype)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("shape", [(512, 512, 512), (300, 200, 136)])
@pytest.mark.parametrize("tiles", [(128, 128, 64), (128, 256, 64), (64, 64, 32)])
def test_gemm(shape: tuple[int, int, int], tiles: tuple[int, int, int], dtype: torch.dtype) -> None:
    m, n, k = shape
    a, b, c, d = randn(m, k, dtype=dtype), randn(k, n, dtype=dtype), *(randn(m, n, dtype=dtype) for _ in range(2))
    gemm.gemm(a, b, c, tiles)
    persistent_gemm.gemm(a, b, d, 5, tiles)
    want = (a.double() @ b.double()).to(dtype)
    torch.testing.assert_close(c, want, rtol=2e-2, atol=5e-2)
    torch.testing.assert_close(d, want, rtol=2e-2, atol=5e-2)


@pytest.mark.parametrize("columns", [100, 1024, 4096])
def test_rows(columns: int) -> None:
    x, y, w, b = randn(64, columns), randn(64, columns), randn(columns), randn(columns)
    softmax.softmax(x, y)
    torch.testing.assert_close(y, torch.softmax(x.float(), 1).half(), **TOLERANCE)
    layer_norm.layer_norm(x, w, b, y)
    torch.testing.assert_close(y, F.layer_norm(x.float(), (columns,), w.float(), b.float()).half(), **TOLERANCE)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("tiles", [(128, 128), (64, 64)])
def test_attention(causal: bool, tiles: tuple[int, int]) -> None:
    q, k, v, o = (randn(2, 2, 384, 128) for _ in range(4))
    attention.attention(q, k, v, o, causal, tiles)
    torch.testing.assert_close(o, F.scaled_dot_product_attention(q, k, v, is_causal=causal), **TOLERANCE)


def test_moe() -> None:
    tokens, experts, width, hidden = 200, 4, 256, 128
    x, gate_up, down = randn(tokens, width), randn(experts, 2 * hidden, width), randn(experts, width, hidden)
    gate_up, down = gate_up / width**0.5, down / hidden**0.5
    weights, ids = torch.softmax(randn(tokens, experts, dtype=torch.float32), 1).topk(2)
    found = moe.moe(x, gate_up, down, ids, weights)
    want = torch.zeros_like(x, dtype=torch.float32)
    for choice in range(2):
        both = torch.einsum("tw,thw->th", x.float(), gate_up[ids[:, choice]].float())
        inner = F.silu(both[:, :hidden]) * both[:, hidden:]
        want += weights[:, choice, None] * torch.einsum("th,twh->tw", inner, down[ids[:, choice]].float())
    torch.testing.assert_close(found.float(), want, **TOLERANCE)


def test_vectors_and_transposes() -> None:
    a, b, c = (randn(1000, dtype=torch.float32) for _ in range(3))
    vector_add.add(a, b, c)
    assert torch.equal(c, a + b)
    x, y = randn(300, 200), randn(200, 300)
    transpose.transpose(x, y)
    assert torch.equal(y, x.t())
