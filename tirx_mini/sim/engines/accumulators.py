"""The layout of MMA operands in tensor memory (PTX ISA: "Data Path Layout Organization").

Layouts A and D: row r in lane r. F, with M = 64: 16 rows in each 32 lanes, from lane 0 or from lane 16 on. B (M = 128
of a pair), E and G (M = 64 and 32 of tcgen05.mma.ws): the columns are split into two or four parts, stacked vertically,
and each part has its own rows of A if A is in tensor memory.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import numpy as np

from tirx_mini.hardware import TMEM_LANES
from tirx_mini.isa import InstructionDescriptor, Kept

from ..machine import GROUP_LANES, TensorMemory

Places = np.ndarray | slice
"""Lanes of tensor memory, as an index of NumPy."""
_LAYOUT_F = np.concatenate([np.arange(16) + 32 * group for group in range(4)])


def lanes_of(shape: InstructionDescriptor, lane: int) -> Places:
    """Return the lanes of an accumulator that begins at `lane`, concatenated over the parts of its columns."""
    return _LAYOUT_F + lane if shape.half else slice(None)


def groups_of(shape: InstructionDescriptor, lane: int) -> slice:
    """Return the lane groups of an accumulator that begins at `lane`."""
    return slice(lane // GROUP_LANES, None, 2) if shape.half else slice(None)


def rows_in_tmem(words: np.ndarray, shape: InstructionDescriptor, parts: int, lane: int) -> list[np.ndarray]:
    """Return matrix A for each part of the columns, read from the 128 lanes of tensor memory: float32[rows, depth]."""
    return [words[lanes_of(shape, lane)]] if shape.half else np.split(words, parts)


@contextmanager
def keeping(words: np.ndarray, kept: Kept, rank: int) -> Generator[None]:
    """Restore the lanes that an MMA does not write. words: its columns. rank: of the CTA in its pair."""
    if not kept.lanes:
        yield
        return
    lanes = [lane for lane in range(TMEM_LANES) if kept.lanes[rank] >> lane & 1]
    before = words[lanes]
    yield
    words[lanes] = before


def store_narrow(
    words: np.ndarray, lanes: Places, product: np.ndarray, dtype: str, accumulate: bool, scale: int = 0
) -> None:
    """Store results of 16 bits (in the lower half of each column) or 32-bit integers; see `Kept` for `scale`."""
    if dtype == "int32":
        result = product.astype(np.int64)
        old = words[lanes].view(np.int32).astype(np.int64)
        words[lanes] = ((result + old if accumulate else result) & 0xFFFFFFFF).astype(np.uint32)
        return
    old = np.ascontiguousarray(words[lanes] & 0xFFFF).astype(np.uint16).view(np.float16).astype(np.float32)
    result = (product + old * np.float32(2.0**-scale) if accumulate else product).astype(np.float16)
    words[lanes] = np.ascontiguousarray(result).view(np.uint16).astype(np.uint32)


def store_product(
    tmem: TensorMemory, column: int, lanes: Places, product: np.ndarray, dtype: str, accumulate: bool, scale: int
) -> None:
    """Add a product to the columns from `column` on, or overwrite them; see `Kept` for `scale`."""
    words = tmem.words(column, product.shape[1])
    if dtype != "float32":
        store_narrow(words, lanes, product, dtype, accumulate, scale)
        return
    target = words.view(np.float32)
    if scale and accumulate:
        target[lanes] *= np.float32(2.0**-scale)
    target[lanes] = target[lanes] + product if accumulate else product
