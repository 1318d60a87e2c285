"""mma: matrix products on fragments held by the lanes of one warp (PTX ISA: "Matrix Fragments for mma").

Lane 4g + t holds rows g and g + 8 of A, column g of B, and columns 2t and 2t + 1 of rows g and g + 8 of C and D. A
register holds adjacent elements along K; the registers of the upper half of K follow those of the lower.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Protocol

import numpy as np

from tirx_mini.hardware import QUARTERS
from tirx_mini.isa import QuadProduct, WarpProduct

from .dtypes import numpy_dtype
from .interfaces import Warp
from .masks import LANES
from .sparse import unpacked


class Fragment(Protocol):
    """Registers of the warp, uint32[words, 32]."""

    def read(self, words: int) -> np.ndarray: ...
    def write(self, values: np.ndarray) -> None: ...


def multiply_matrices(
    w: Warp, d: Fragment, a: Fragment, b: Fragment, c: Fragment | None, product: WarpProduct, metadata: object = 0
) -> None:
    """Execute D = A B + C.

    The warp continues when the tensor core of its sub-partition can accept the next product.

    The tensor core serves its warps in turn, at the rate of the data sheet.
    """
    m, n, k = product.m, product.n, product.k
    width = numpy_dtype(product.a).itemsize
    _spend(w, 2 * m * n * k // (1 if product.selector is None else 2), width)
    w.cta.cluster.values.apply(_multiply_matrices, d, a, b, c, product, metadata)


def _multiply_matrices(
    d: Fragment, a: Fragment, b: Fragment, c: Fragment | None, product: WarpProduct, metadata: object
) -> None:
    """Compute D = A B + C."""
    m, n, k = product.m, product.n, product.k
    width = numpy_dtype(product.a).itemsize
    wide = np.dtype(np.float64 if product.d == "int32" else np.float32)
    words = m * k * width // 128
    held = words if product.selector is None else words // 2
    left = _numbers(a.read(held), product.a, wide).take(_rows_of_a(held, 4 // width))
    if product.selector is not None:
        left = unpacked(left, np.broadcast_to(np.asarray(metadata), (LANES,)), product.selector, width)
    right = _numbers(b.read(words // 2), product.b, wide).take(_columns_of_b(words // 2, 4 // width))
    held = numpy_dtype(product.d)
    places = _places_of_d(4 // held.itemsize)
    total = left @ right
    if c is not None:
        total += c.read(held.itemsize).view(held).reshape(-1).take(places)
    result = np.empty(m * n, held)
    result[places] = _rounded(total, product)
    d.write(result.view(np.uint32).reshape(held.itemsize, 32))


def _spend(w: Warp, flops: int, width: int) -> None:
    """Advance the warp's time by the given number of operations on elements of `width` bytes."""
    w.gpu.count("flops", float(flops))
    cycles = flops * width / 2 / w.gpu.spec.tensor_flops_per_cycle
    w.gpu.count("tensor_cycles", cycles)
    sharing = w.cta.sm.multipliers[w.warp_id % QUARTERS]
    sharing.add(w)
    w.time += cycles * QUARTERS * len(sharing)


QUADS = 4
"""The number of quad pairs of a warp: lanes 4q … 4q + 3 and 16 + 4q … 16 + 4q + 3."""


def multiply_quads(w: Warp, d: Fragment, a: Fragment, b: Fragment, c: Fragment, product: QuadProduct) -> None:
    """Execute four products D = A B + C of [8, 4] and [4, 8] float16, one for each quad pair of the warp.

    Its rate is that of the other shapes; hardware after Volta may be slower (PTX ISA: "mma").
    """
    _spend(w, QUADS * 2 * 8 * 8 * 4, 2)
    w.cta.cluster.values.apply(_multiply_quads, d, a, b, c, product)


def _multiply_quads(d: Fragment, a: Fragment, b: Fragment, c: Fragment, product: QuadProduct) -> None:
    """Compute the four products."""
    left = _halves(a).take(_places_of_factor(product.a_columns))
    right = _halves(b).take(_places_of_factor(not product.b_columns)).transpose(0, 2, 1)
    held = numpy_dtype(product.d)
    words = 2 * held.itemsize
    places = _places_of_sum(held.itemsize)
    total = left @ right + c.read(words).T.copy().view(held).reshape(-1).take(places).astype(np.float32)
    result = np.empty(QUADS * 64, held)
    with np.errstate(over="ignore"):
        result[places] = total.astype(held)
    d.write(np.ascontiguousarray(result.view(np.uint32).reshape(32, words).T))


def _halves(registers: Fragment) -> np.ndarray:
    """Return the four float16 values of each lane, [32 · 4]."""
    return registers.read(2).T.copy().view(np.float16).reshape(-1).astype(np.float32)


@cache
def _places_of_factor(across: bool) -> np.ndarray:
    """Return int[4, 8, 4]: the index of A[row, k] of each quad pair among the lanes' elements, 4 per lane; for B[k,
    column], the column replaces the row. across: whether a lane holds four rows of one k, instead of four k of one row.
    """
    quad, row, k = np.ogrid[:QUADS, :8, :4]
    lane = 4 * quad + 16 * (row // 4) + (k if across else row % 4)
    return lane * 4 + (row % 4 if across else k)


@cache
def _places_of_sum(itemsize: int) -> np.ndarray:
    """Return int[4, 8, 8]: the index of C[row, column] of each quad pair among the lanes' elements, 8 per lane."""
    quad, row, column = np.ogrid[:QUADS, :8, :8]
    if itemsize == 2:
        return (4 * quad + 16 * (row // 4) + row % 4) * 8 + column
    lane = 4 * quad + 16 * (row // 4) + (row & 1) + (column & 2)
    return lane * 8 + (row & 2) + (column & 5)


def _rounded(total: np.ndarray, product: WarpProduct) -> np.ndarray:
    if product.d == "float32":
        return total
    if product.d == "float16":
        with np.errstate(over="ignore"):
            return total.astype(np.float16)
    if product.satfinite:
        return np.clip(total, -(1 << 31), (1 << 31) - 1).astype(np.int32)
    return total.astype(np.int64).astype(np.int32)


def _numbers(words: np.ndarray, dtype: str, wide: np.dtype[Any]) -> np.ndarray:
    """Return the elements of registers as a flat array; of float32, only the upper 19 bits, which are tf32."""
    words = np.ascontiguousarray(words)
    if dtype == "float32":
        words = words & np.uint32(0xFFFFE000)
    return words.view(numpy_dtype(dtype)).reshape(-1).astype(wide)


@cache
def _rows_of_a(words: int, each: int) -> np.ndarray:
    """Return the index of A[row, k] among the elements of a fragment: register, lane, element of the register."""
    halves = np.arange(words * 32 * each).reshape(-1, 2, 8, 4, each)  # half of K, half of M, g, t, element
    return np.ascontiguousarray(halves.transpose(1, 2, 0, 3, 4)).reshape(16, -1)


@cache
def _columns_of_b(words: int, each: int) -> np.ndarray:
    """Return the index of B[k, column] among the elements of a fragment."""
    halves = np.arange(words * 32 * each).reshape(-1, 8, 4, each)  # half of K, g, t, element
    return np.ascontiguousarray(halves.transpose(0, 2, 3, 1)).reshape(-1, 8)


@cache
def _places_of_d(each: int) -> np.ndarray:
    """Return the index of C[row, column] and D among the elements of a fragment: a register holds `each` of columns 2t
    and 2t + 1."""
    halves = np.arange(128).reshape(2, 2 // each, 8, 4, each)  # half of M, register of the pair, g, t, element
    return np.ascontiguousarray(halves.transpose(0, 2, 3, 1, 4)).reshape(16, 8)
