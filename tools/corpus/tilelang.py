"""Small programs in TileLang: products of many types and shapes, reductions, scans, and those of the benchmarks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import tirx_mini.tilelang.language as T
from tirx_mini.compat.tilelang import imports
from tirx_mini.course import load_module
from tirx_mini.ir import PrimFunc

from .program import Program

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PRODUCTS = (
    ("float16", "float32"), ("float16", "float16"), ("bfloat16", "float32"), ("float32", "float32"),
    ("float8_e4m3fn", "float32"), ("float8_e5m2", "float32"), ("int8", "int32"),
)  # fmt: skip
"""Types of the factors and of the sums."""
TILES = ((128, 128, 64, 128), (64, 64, 32, 128), (128, 256, 64, 256))
"""Rows, columns, steps and threads."""
TYPES = ("float32", "float16", "bfloat16", "float64", "int32", "int64")


def multiplied(dtype: str, sums: str, tile: tuple[int, int, int, int], turned: bool, held: bool) -> PrimFunc:
    """C = A B, or A Bᵀ; held: with A in registers."""
    m, n, k, threads = tile
    shape, part = ((2 * n, 256), (n, k)) if turned else ((256, 2 * n), (k, n))

    @T.prim_func
    def kernel(A: T.Tensor((2 * m, 256), dtype), B: T.Tensor(shape, dtype), C: T.Tensor((2 * m, 2 * n), sums)):
        with T.Kernel(2, 2, threads=threads) as (bx, by):
            a = T.alloc_fragment((m, k), dtype) if held else T.alloc_shared((m, k), dtype)
            b = T.alloc_shared(part, dtype)
            c = T.alloc_fragment((m, n), sums)
            T.clear(c)
            for step in T.Pipelined(256 // k, num_stages=2):
                T.copy(A[by * m, step * k], a)
                if turned:
                    T.copy(B[bx * n, step * k], b)
                else:
                    T.copy(B[step * k, bx * n], b)
                T.gemm(a, b, c, transpose_B=turned)
            T.copy(c, C[by * m, bx * n])

    return kernel


def reduced(dtype: str, op: Callable[..., Any], dim: int) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Tensor((32, 64), dtype), B: T.Tensor((64 if dim == 0 else 32,), dtype)):
        with T.Kernel(1, threads=128):
            tile = T.alloc_fragment((32, 64), dtype)
            result = T.alloc_fragment((64 if dim == 0 else 32,), dtype)
            T.copy(A, tile)
            op(tile, result, dim=dim)
            T.copy(result, B)

    return kernel


def scanned(dtype: str, dim: int) -> PrimFunc:
    @T.prim_func
    def kernel(A: T.Tensor((32, 64), dtype), B: T.Tensor((32, 64), dtype)):
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((32, 64), dtype)
            result = T.alloc_shared((32, 64), dtype)
            T.copy(A, tile)
            T.cumsum(tile, result, dim=dim)
            T.copy(result, B)

    return kernel


def tilelang_programs() -> Iterator[Program]:
    """Of products and reductions only texts count: tests judge what they compute."""
    with imports():
        benchmarks = load_module(BENCHMARKS / "tilelang_programs.py")
    for turned, threads in product((False, True), (128, 256)):
        made = benchmarks.matmul(256, 256, 256, 128, 128, 64, 3, threads, "float16", turned)
        yield Program(f"TileLang: matmul, turned={turned}, {threads} threads", lambda gpu, made=made: made)
    for causal in (False, True):
        made = benchmarks.attention(1, 2, 256, 64, causal, 64, 64, 2, 128)
        yield Program(f"TileLang: attention, causal={causal}", lambda gpu, made=made: made)
    for (dtype, sums), tile, turned in product(PRODUCTS, TILES, (False, True)):
        made = partial(multiplied, dtype, sums, tile, turned, False)
        yield Program(
            f"TileLang: {tile} of {dtype} to {sums}{', turned' * turned}", lambda gpu, made=made: made(), None
        )
    for dtype, sums in PRODUCTS:
        made = partial(multiplied, dtype, sums, TILES[0], True, True)
        yield Program(f"TileLang: A held, {dtype} to {sums}", lambda gpu, made=made: made(), None)
    for dtype, (name, op), dim in product(TYPES, (("sum", T.reduce_sum), ("max", T.reduce_max)), (0, 1)):
        made = partial(reduced, dtype, op, dim)
        yield Program(f"TileLang: {name} of {dtype} along {dim}", lambda gpu, made=made: made(), None)
    for dtype, dim in product(("float32", "int32"), (0, 1)):
        made = partial(scanned, dtype, dim)
        yield Program(f"TileLang: running sums of {dtype} along {dim}", lambda gpu, made=made: made(), None)
