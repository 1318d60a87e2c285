"""Small programs in cuTile's language: products, reductions, scans, gathers and atomics, of many types."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from tirx_mini.ir import PrimFunc
from tirx_mini.tile_ir import TileKernel, compile, ct

from .program import Program

PRODUCTS = (
    ("float16", "float32"), ("float16", "float16"), ("bfloat16", "float32"), ("float32", "float32"),
    ("float8_e4m3fn", "float32"), ("float8_e5m2", "float32"), ("int8", "int32"), ("uint8", "int32"),
    ("float64", "float64"),
)  # fmt: skip
"""Types of the factors and of the sums."""
TILES = ((128, 128, 64), (64, 256, 64), (16, 32, 32))
TYPES = ("float32", "float16", "bfloat16", "float64", "int32", "uint32", "int64", "int8", "uint8", "int16")


@ct.kernel
def multiply(A, B, C, TM: ct.Constant[int], TN: ct.Constant[int], TK: ct.Constant[int], turned: ct.Constant[bool]):
    m, n = ct.bid(0), ct.bid(1)
    sums = ct.full((TM, TN), 0, C.dtype)
    for k in range(ct.cdiv(A.shape[1], TK)):
        a = ct.load(A, (m, k), shape=(TM, TK))
        if turned:
            b = ct.transpose(ct.load(B, (n, k), shape=(TN, TK)))
        else:
            b = ct.load(B, (k, n), shape=(TK, TN))
        sums = ct.mma(a, b, sums)
    ct.store(C, (m, n), sums)


@ct.kernel
def row_sums(A, B, M: ct.Constant[int], N: ct.Constant[int]):
    ct.store(B, (0,), ct.sum(ct.load(A, (0, 0), shape=(M, N)), axis=1).astype(B.dtype))


@ct.kernel
def column_maxima(A, B, M: ct.Constant[int], N: ct.Constant[int]):
    ct.store(B, (0,), ct.max(ct.load(A, (0, 0), shape=(M, N)), axis=0).astype(B.dtype))


@ct.kernel
def running_sums(A, B, M: ct.Constant[int], N: ct.Constant[int]):
    ct.store(B, (0, 0), ct.cumsum(ct.load(A, (0, 0), shape=(M, N)), axis=1))


@ct.kernel
def largest_places(A, B, M: ct.Constant[int], N: ct.Constant[int]):
    ct.store(B, (0,), ct.argmax(ct.load(A, (0, 0), shape=(M, N)), axis=1))


@ct.kernel
def counted(A, B, N: ct.Constant[int]):
    places = ct.load(A, (ct.bid(0),), shape=(N,))
    ct.atomic_add(B, (places,), 1)


def array(dtype: str, *shape: int) -> np.ndarray:
    return np.zeros(shape, np.dtype(getattr(ml_dtypes, dtype, dtype)))


def kernel(tile: TileKernel, args: tuple[Any, ...], grid: tuple[int, ...], gpu: str) -> PrimFunc:
    return compile(tile, args, gpu).func(grid)


def cutile_programs() -> Iterator[Program]:
    """Each has the name of its kernel and its types. Only texts count: tests judge what the programs compute."""
    for dtype, sums in PRODUCTS:
        for (m, n, k), turned in ((TILES[0], True), (TILES[1], False), (TILES[2], False)):
            b = array(dtype, 2 * n, 256) if turned else array(dtype, 256, 2 * n)
            args = (array(dtype, 2 * m, 256), b, array(sums, 2 * m, 2 * n), m, n, k, turned)
            name = f"cuTile: {m} x {n} x {k} of {dtype} to {sums}{', turned' * turned}"
            yield Program(name, partial(kernel, multiply, args, (2, 2, 1)), None)
    for dtype in TYPES:
        a, rows = array(dtype, 16, 64), array(dtype, 16)
        columns = array(dtype, 64)
        yield Program(f"cuTile: sums of {dtype}", partial(kernel, row_sums, (a, rows, 16, 64), (1, 1, 1)), None)
        yield Program(
            f"cuTile: maxima of {dtype}", partial(kernel, column_maxima, (a, columns, 16, 64), (1, 1, 1)), None
        )
    for dtype in ("float32", "float16", "int32"):
        a = array(dtype, 16, 64)
        yield Program(
            f"cuTile: running sums of {dtype}", partial(kernel, running_sums, (a, a, 16, 64), (1, 1, 1)), None
        )
        args = (a, array("int32", 16), 16, 64)
        yield Program(f"cuTile: places of {dtype}", partial(kernel, largest_places, args, (1, 1, 1)), None)
    args = (array("int32", 256), array("int32", 64), 64)
    yield Program("cuTile: a histogram", partial(kernel, counted, args, (4, 1, 1)), None)
