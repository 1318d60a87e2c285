# pyright: reportMissingImports=false
"""A peer: persistent GEMM with TMA in Triton, D (M, N) = A (M, K) @ B (N, K).T, the fastest of a few tile shapes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor
from triton_tile import running


@triton.jit
def _tile_of(tile, tiles_m, tiles_n, GROUP: tl.constexpr):
    """The row and column of a tile in groups of GROUP tile rows, each walked column by column."""
    group = tile // (GROUP * tiles_n)
    rows = tl.minimum(tiles_m - group * GROUP, GROUP)
    within = tile % (GROUP * tiles_n)
    return group * GROUP + within % rows, within // rows


@triton.jit
def _persistent(
    a_desc, b_desc, d_desc, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr, PROGRAMS: tl.constexpr,
    HALVES: tl.constexpr,
):  # fmt: skip
    """HALVES: whether the result is stored in two halves of columns, which takes half the shared memory."""
    tiles_m, tiles_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    for tile in tl.range(tl.program_id(0), tiles_m * tiles_n, PROGRAMS, flatten=True):
        row, column = _tile_of(tile, tiles_m, tiles_n, GROUP)
        m, n = row * BLOCK_M, column * BLOCK_N
        acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for k in range(0, K, BLOCK_K):
            acc = tl.dot(a_desc.load([m, k]), b_desc.load([n, k]).T, acc)
        if HALVES:
            left, right = acc.reshape(BLOCK_M, 2, BLOCK_N // 2).permute(0, 2, 1).split()
            d_desc.store([m, n], left.to(d_desc.dtype))
            d_desc.store([m, n + BLOCK_N // 2], right.to(d_desc.dtype))
        else:
            d_desc.store([m, n], acc.to(d_desc.dtype))


@dataclass(frozen=True)
class Config:
    """A tile shape, and how it is pipelined."""

    block_m: int
    block_n: int
    stages: int
    warps: int
    halves: bool
    block_k: int = 64
    group: int = 8


CONFIGS = (
    Config(128, 256, 3, 8, True),
    Config(128, 256, 4, 8, True),
    Config(256, 128, 3, 8, True),
    Config(128, 128, 4, 4, False),
    Config(128, 128, 4, 8, False),
)


def candidates(a: torch.Tensor, b: torch.Tensor, d: torch.Tensor) -> dict[Config, Callable[[], Any]]:
    """A launch for each configuration that compiles and runs."""
    (m, k), n = a.shape, b.shape[0]
    programs = torch.cuda.get_device_properties(a.device).multi_processor_count
    found: dict[Config, Callable[[], Any]] = {}
    for config in CONFIGS:
        columns = config.block_n // 2 if config.halves else config.block_n
        maps = (
            TensorDescriptor.from_tensor(a, [config.block_m, config.block_k]),
            TensorDescriptor.from_tensor(b, [config.block_n, config.block_k]),
            TensorDescriptor.from_tensor(d, [config.block_m, columns]),
        )

        def launch(config: Config = config, maps: tuple[Any, ...] = maps) -> None:
            _persistent[(programs,)](
                *maps, m, n, k, BLOCK_M=config.block_m, BLOCK_N=config.block_n, BLOCK_K=config.block_k,
                GROUP=config.group, PROGRAMS=programs, HALVES=config.halves, num_stages=config.stages,
                num_warps=config.warps,
            )  # fmt: skip

        found[config] = launch
    return running(found)
