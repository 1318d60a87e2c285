"""The tile programs: right by the meaning of cuda_tile, and right and free of findings on simulated GPUs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import torch

from kernels_ref.tile import (
    attention,
    batched_gemm,
    gemm,
    layer_norm,
    moe,
    persistent_gemm,
    softmax,
    transpose,
    vector_add,
)
from tirx_mini.tile_ir import interpreted, simulated

GPUS = ("b200", "h100")
SCHEDULES = 5
HALF, BRAIN, SINGLE = torch.float16, torch.bfloat16, torch.float32


def random(*shape: int, dtype: torch.dtype = SINGLE, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def close(got: torch.Tensor, wanted: torch.Tensor, dtype: torch.dtype) -> None:
    """Compare up to the rounding of the dtype, for products of float32 up to that of tf32."""
    tolerance = {HALF: 2e-3, BRAIN: 1.6e-2, SINGLE: 2e-3}[dtype]
    torch.testing.assert_close(got.float(), wanted.float(), rtol=tolerance, atol=tolerance * float(wanted.abs().max()))


def run_vector_add(dtype: torch.dtype) -> None:
    a, b = random(1500, dtype=dtype), random(1500, dtype=dtype, seed=1)
    c = torch.zeros(1500, dtype=dtype)
    vector_add.add(a, b, c)
    assert torch.equal(c, a + b)


def run_transpose(dtype: torch.dtype) -> None:
    x = random(100, 130, dtype=dtype)
    y = torch.zeros(130, 100, dtype=dtype)
    transpose.transpose(x, y)
    assert torch.equal(y, x.T)


def run_softmax(dtype: torch.dtype) -> None:
    x = random(3, 200, dtype=dtype) * 4
    y = torch.zeros_like(x)
    softmax.softmax(x, y)
    close(y, torch.softmax(x.float(), 1), dtype)


def run_layer_norm(dtype: torch.dtype) -> None:
    x, weight, bias = random(3, 200, dtype=dtype), random(200, dtype=dtype, seed=1), random(200, dtype=dtype, seed=2)
    y = torch.zeros_like(x)
    layer_norm.layer_norm(x, weight, bias, y)
    close(y, torch.nn.functional.layer_norm(x.float(), (200,), weight.float(), bias.float()), dtype)


Matrices = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


def matrices(*batch: int, m: int, n: int, k: int, dtype: torch.dtype) -> Matrices:
    a, b = random(*batch, m, k, dtype=dtype), random(*batch, k, n, dtype=dtype, seed=1)
    return a, b, torch.zeros(*batch, m, n, dtype=dtype)


def run_gemm(dtype: torch.dtype) -> None:
    a, b, c = matrices(m=130, n=72, k=72, dtype=dtype)
    gemm.gemm(a, b, c, tiles=(128, 64, 32))
    close(c, a.float() @ b.float(), dtype)


def run_persistent_gemm(dtype: torch.dtype) -> None:
    a, b, c = matrices(m=130, n=72, k=72, dtype=dtype)
    persistent_gemm.gemm(a, b, c, sms=2, tiles=(64, 64, 32))
    close(c, a.float() @ b.float(), dtype)


def run_batched_gemm(dtype: torch.dtype) -> None:
    a, b, c = matrices(2, m=70, n=40, k=64, dtype=dtype)
    batched_gemm.batched_gemm(a, b, c, tiles=(64, 64, 32))
    close(c, a.float() @ b.float(), dtype)


def run_attention(dtype: torch.dtype, causal: bool = False) -> None:
    q, k, v = (random(1, 1, 100, 64, dtype=dtype, seed=seed) for seed in range(3))
    o = torch.zeros_like(q)
    attention.attention(q, k, v, o, causal, tiles=(64, 64))
    scores = q.float() @ k.float().transpose(2, 3) / math.sqrt(64)
    if causal:
        scores.masked_fill_(torch.ones(100, 100).triu(1).bool(), -math.inf)
    close(o, torch.softmax(scores, 3) @ v.float(), dtype)


def run_causal_attention(dtype: torch.dtype) -> None:
    run_attention(dtype, causal=True)


def run_moe(dtype: torch.dtype) -> None:
    tokens, width, hidden, experts, choices = 20, 64, 32, 3, 2
    x = random(tokens, width, dtype=dtype) / 4
    gate_up = random(experts, 2 * hidden, width, dtype=dtype, seed=1) / 8
    down = random(experts, width, hidden, dtype=dtype, seed=2) / 8
    weights, ids = torch.topk(torch.softmax(random(tokens, experts, seed=3), 1), choices)
    weights = weights.to(dtype)
    got = moe.moe(x, gate_up, down, ids, weights, tiles=(64, 64, 32))
    wanted = torch.zeros(tokens, width)
    for token in range(tokens):
        for choice in range(choices):
            expert = int(ids[token, choice])
            gate, up = (gate_up[expert].float() @ x[token].float()).chunk(2)
            inner = torch.nn.functional.silu(gate) * up
            wanted[token] += weights[token, choice].float() * (down[expert].float() @ inner)
    close(got, wanted, BRAIN if dtype is BRAIN else HALF)


RUNS: dict[str, Callable[[torch.dtype], None]] = {
    name.removeprefix("run_"): run for name, run in list(globals().items()) if name.startswith("run_")
}


@pytest.mark.parametrize("dtype", [HALF, BRAIN, SINGLE], ids=lambda d: str(d).removeprefix("torch."))
@pytest.mark.parametrize("name", RUNS)
def test_the_program_means_what_it_should(name: str, dtype: torch.dtype) -> None:
    with interpreted():
        RUNS[name](dtype)


@contextmanager
def proved(gpu: str) -> Iterator[None]:
    """Within the block, every launch must be free of findings in all orders that are tried."""
    with simulated(gpu, schedules=SCHEDULES) as reports:
        yield
    assert reports
    for report in reports:
        assert report.ok and not report.findings, str(report)


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("name", RUNS)
def test_the_compiled_kernel_is_right_in_every_order(name: str, gpu: str) -> None:
    with proved(gpu):
        RUNS[name](HALF)


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("dtype", [BRAIN, SINGLE], ids=["bfloat16", "float32"])
@pytest.mark.parametrize("name", ["gemm", "attention", "softmax"])
def test_the_compiled_kernel_is_right_for_every_dtype(name: str, dtype: torch.dtype, gpu: str) -> None:
    with simulated(gpu) as reports:
        RUNS[name](dtype)
    assert all(not report.findings for report in reports)
