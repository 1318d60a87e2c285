# pyright: reportMissingImports=false
"""Peers: the tile programs of kernels_ref/tile in Triton, by the same algorithms, the fastest of a few configurations.

Each function returns a launch for every configuration that compiles and runs, by a name for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import torch
import triton
import triton.language as tl

Launches = dict[str, Callable[[], Any]]
Name = TypeVar("Name")


@triton.jit
def _softmax(x, y, columns, BLOCK: tl.constexpr):
    """One row a program."""
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < columns
    values = tl.load(x + row * columns + column, mask=inside, other=-float("inf")).to(tl.float32)
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + row * columns + column, (powers / tl.sum(powers, axis=0)).to(y.dtype.element_ty), mask=inside)


def softmax(x: torch.Tensor, y: torch.Tensor) -> Launches:
    """y (M, N) = softmax of the rows of x."""
    rows, columns = x.shape
    block = triton.next_power_of_2(columns)
    return running({
        f"{warps} warps": lambda warps=warps: _softmax[(rows,)](x, y, columns, BLOCK=block, num_warps=warps)
        for warps in (4, 8, 16)
    })  # fmt: skip


@triton.jit
def _layer_norm(x, weight, bias, y, columns, eps, BLOCK: tl.constexpr):
    """One row a program."""
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < columns
    values = tl.load(x + row * columns + column, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(values, axis=0) / columns
    centred = tl.where(inside, values - mean, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, axis=0) / columns + eps)
    w = tl.load(weight + column, mask=inside).to(tl.float32)
    b = tl.load(bias + column, mask=inside).to(tl.float32)
    tl.store(y + row * columns + column, (centred * scale * w + b).to(y.dtype.element_ty), mask=inside)


def layer_norm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, y: torch.Tensor, eps: float) -> Launches:
    """y (M, N) = layer norm of the rows of x, with weight (N,) and bias (N,)."""
    rows, columns = x.shape
    block = triton.next_power_of_2(columns)
    return running({
        f"{warps} warps": lambda warps=warps: _layer_norm[(rows,)](
            x, weight, bias, y, columns, eps, BLOCK=block, num_warps=warps
        )
        for warps in (4, 8, 16)
    })  # fmt: skip


@triton.jit
def _attention(
    q, k, v, out, length, scale, HEAD: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr
):
    """One tile of queries of one head a program: a pass over the keys with a running maximum and sum."""
    first = tl.program_id(0) * BLOCK_M
    head = tl.program_id(1).to(tl.int64) * length * HEAD
    row, column, inner = first + tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N), tl.arange(0, HEAD)
    queries = tl.load(q + head + row[:, None] * HEAD + inner[None, :])
    most = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, HEAD), tl.float32)
    to_log2 = scale * 1.4426950408889634
    stop = first + BLOCK_M if CAUSAL else length
    for start in range(0, stop, BLOCK_N):
        keys = tl.load(k + head + (start + column)[:, None] * HEAD + inner[None, :])
        scores = tl.dot(queries, keys.T) * to_log2
        if CAUSAL:
            scores = tl.where(row[:, None] >= (start + column)[None, :], scores, -float("inf"))
        higher = tl.maximum(most, tl.max(scores, axis=1))
        powers = tl.exp2(scores - higher[:, None])
        fade = tl.exp2(most - higher)
        total = total * fade + tl.sum(powers, axis=1)
        values = tl.load(v + head + (start + column)[:, None] * HEAD + inner[None, :])
        acc = tl.dot(powers.to(values.dtype), values, acc * fade[:, None])
        most = higher
    tl.store(out + head + row[:, None] * HEAD + inner[None, :], (acc / total[:, None]).to(out.dtype.element_ty))


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, out: torch.Tensor, causal: bool) -> Launches:
    """Forward, of tensors (batch, heads, length, head). The length is a multiple of 128."""
    batch, heads, length, head = q.shape

    def launch(m: int, n: int, warps: int, stages: int) -> None:
        _attention[(length // m, batch * heads)](
            q, k, v, out, length, head**-0.5, HEAD=head, BLOCK_M=m, BLOCK_N=n, CAUSAL=causal,
            num_warps=warps, num_stages=stages,
        )  # fmt: skip

    configs = [(128, 128, 8, 2), (128, 64, 8, 3), (128, 64, 4, 3), (64, 64, 4, 3), (128, 128, 8, 3)]
    return running({
        f"{m}x{n}, {w} warps, {s} stages": lambda m=m, n=n, w=w, s=s: launch(m, n, w, s) for m, n, w, s in configs
    })  # fmt: skip


@triton.jit
def _moe(
    a, b, c, weights, token_ids, expert_ids, N, K, replicas, tokens,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr, WEIGHTED: tl.constexpr,
):  # fmt: skip
    """One tile of sorted tokens of one expert a program."""
    tiles_n = tl.cdiv(N, BLOCK_N)
    tiles_m = tl.num_programs(0) // tiles_n
    group = tl.program_id(0) // (GROUP * tiles_n)
    rows = tl.minimum(tiles_m - group * GROUP, GROUP)
    within = tl.program_id(0) % (GROUP * tiles_n)
    tile_m, tile_n = group * GROUP + within % rows, within // rows
    token = tl.load(token_ids + tile_m * BLOCK_M + tl.arange(0, BLOCK_M))
    real = token < tokens
    expert = tl.load(expert_ids + tile_m).to(tl.int64)
    column = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    a_rows = a + (token // replicas).to(tl.int64)[:, None] * K
    b_columns = b + expert * N * K + column[None, :].to(tl.int64) * K
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(0, K, BLOCK_K):
        left = tl.load(a_rows + (k + depth)[None, :], mask=real[:, None], other=0.0)
        acc = tl.dot(left, tl.load(b_columns + (k + depth)[:, None]), acc)
    if WEIGHTED:
        acc = acc * tl.load(weights + token, mask=real, other=0.0)[:, None]
    where = c + token[:, None].to(tl.int64) * N + column[None, :]
    tl.store(where, acc.to(c.dtype.element_ty), mask=real[:, None])


def moe(
    a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, weights: torch.Tensor, replicas: int,
    tokens: Mapping[int, torch.Tensor], experts: Mapping[int, torch.Tensor],
) -> Launches:  # fmt: skip
    """c (tokens, N) = rows of a (batch, K), each times its expert's weights b (experts, N, K).T.

    tokens, experts: by the rows of a tile, the tokens sorted by expert, padded with an index past the end, and the
    expert of each tile.
    """
    n, k = b.shape[1:]

    def launch(m: int, block_n: int, block_k: int, warps: int, stages: int) -> None:
        tiles = len(experts[m]) * triton.cdiv(n, block_n)
        _moe[(tiles,)](
            a, b, c, weights, tokens[m], experts[m], n, k, replicas, len(c), BLOCK_M=m, BLOCK_N=block_n,
            BLOCK_K=block_k, GROUP=8, WEIGHTED=False, num_warps=warps, num_stages=stages,
        )  # fmt: skip

    configs = [(128, 128, 64, 8, 3), (128, 128, 64, 4, 4), (128, 256, 64, 8, 3), (64, 128, 64, 4, 4)]
    return running({
        f"{m}x{bn}x{bk}, {w} warps, {s} stages": lambda m=m, bn=bn, bk=bk, w=w, s=s: launch(m, bn, bk, w, s)
        for m, bn, bk, w, s in configs
        if m in experts
    })  # fmt: skip


def running(launches: Mapping[Name, Callable[[], Any]]) -> dict[Name, Callable[[], Any]]:
    """Those that the GPU has room for."""
    found: dict[Name, Callable[[], Any]] = {}
    for name, launch in launches.items():
        try:
            launch()
            torch.cuda.synchronize()
        except triton.runtime.errors.OutOfResources:
            continue
        found[name] = launch
    return found
