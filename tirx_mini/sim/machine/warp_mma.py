"""mma: the product of matrices whose fragments the lanes of one warp hold (PTX ISA: "Matrix Fragments for mma").

Lane 4g + t holds rows g and g + 8 of A, column g of B, and columns 2t and 2t + 1 of rows g and g + 8 of C and D. A
register holds neighbours along K; the registers of the upper half of K come after those of the lower.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Protocol

import numpy as np

from tirx_mini.isa import WarpProduct

from .dtypes import numpy_dtype
from .interfaces import QUARTERS, Warp


class Fragment(Protocol):
    """Registers of the warp, uint32[words, 32]."""

    def read(self, words: int) -> np.ndarray: ...
    def write(self, values: np.ndarray) -> None: ...


def multiply_matrices(w: Warp, d: Fragment, a: Fragment, b: Fragment, c: Fragment | None, product: WarpProduct) -> None:
    """D = A B + C. The warp goes on when the tensor core of its quarter of the SM can take its next product.

    That serves the warps that use it in turns, at the rate of the data sheet.
    """
    m, n, k = product.m, product.n, product.k
    width = numpy_dtype(product.a).itemsize
    w.gpu.count("flops", 2.0 * m * n * k)
    cycles = 2 * m * n * k * width / 2 / w.gpu.spec.tensor_flops_per_cycle
    w.gpu.count("tensor_cycles", cycles)
    sharing = w.cta.sm.multipliers[w.warp_id % QUARTERS]
    sharing.add(w)
    w.time += cycles * QUARTERS * len(sharing)
    if not w.gpu.data:
        return
    wide = np.dtype(np.float64 if product.d == "int32" else np.float32)
    words = m * k * width // 128
    left = _numbers(a.read(words), product.a, wide).take(_rows_of_a(words, 4 // width))
    right = _numbers(b.read(words // 2), product.b, wide).take(_columns_of_b(words // 2, 4 // width))
    held = numpy_dtype(product.d)
    places = _places_of_d(4 // held.itemsize)
    total = left @ right
    if c is not None:
        total += c.read(held.itemsize).view(held).reshape(-1).take(places)
    result = np.empty(m * n, held)
    result[places] = _rounded(total, product)
    d.write(result.view(np.uint32).reshape(held.itemsize, 32))


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
    """The elements of registers in a row; of float32, the upper 19 bits, which are tf32."""
    words = np.ascontiguousarray(words)
    if dtype == "float32":
        words = words & np.uint32(0xFFFFE000)
    return words.view(numpy_dtype(dtype)).reshape(-1).astype(wide)


@cache
def _rows_of_a(words: int, each: int) -> np.ndarray:
    """The place of A[row, k] among the elements of a fragment: register, lane, element of the register."""
    halves = np.arange(words * 32 * each).reshape(-1, 2, 8, 4, each)  # half of K, half of M, g, t, element
    return np.ascontiguousarray(halves.transpose(1, 2, 0, 3, 4)).reshape(16, -1)


@cache
def _columns_of_b(words: int, each: int) -> np.ndarray:
    """The same for B[k, column]."""
    halves = np.arange(words * 32 * each).reshape(-1, 8, 4, each)  # half of K, g, t, element
    return np.ascontiguousarray(halves.transpose(0, 2, 3, 1)).reshape(-1, 8)


@cache
def _places_of_d(each: int) -> np.ndarray:
    """The same for C[row, column] and D: a register holds `each` of columns 2t and 2t + 1."""
    halves = np.arange(128).reshape(2, 2 // each, 8, 4, each)  # half of M, register of the pair, g, t, element
    return np.ascontiguousarray(halves.transpose(0, 2, 3, 1, 4)).reshape(16, 8)
