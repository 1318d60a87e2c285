"""Written tiles: the tile element that each 16-byte chunk of shared memory holds."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from math import prod

import numpy as np

from tirx_mini.ir import Buffer, DataType
from tirx_mini.layout import Layout, S, SwizzleMode, TileLayout, m, swizzle_mode
from tirx_mini.records import dataclass

CHUNK = 16


@dataclass(frozen=True, eq=False)
class ChunkTable:
    """The elements of a tile by 16-byte chunk, in order of address.

    coords: int32[dimensions, chunks], of the first element of a chunk. valid: bool[chunks], whether the elements are
    adjacent along the dimension `along`.
    """

    coords: np.ndarray
    valid: np.ndarray
    along: int


@dataclass(frozen=True, eq=False)
class WrittenTile:
    """A range of shared memory that a tile operation or a tensor map writes with one layout.

    name: of the buffer, or of the loaded tensor. loaded: whether TMA writes it. start, nbytes: in shared memory. shape:
    of the buffer or of the box. swizzle, row_bytes: the widths of its swizzle and of its rows.
    """

    name: str
    loaded: bool
    start: int
    nbytes: int
    dtype: DataType
    shape: tuple[int, ...]
    swizzle: int
    row_bytes: int
    make: Callable[[], ChunkTable | None]

    @cached_property
    def table(self) -> ChunkTable | None:
        """The tile's elements by chunk; None for a tile without rows."""
        return self.make() if sum(extent > 1 for extent in self.shape) > 1 else None

    @property
    def per_chunk(self) -> int:
        """The number of elements in 16 bytes."""
        return CHUNK // self.dtype.itemsize


def tile_of_buffer(buffer: Buffer, start: int) -> WrittenTile | None:
    """Return the tile that a buffer holds from byte `start` on; None unless its elements fill whole chunks."""
    layout = buffer.layout if buffer.layout is not None else TileLayout(S[tuple(buffer.shape)])
    bits = buffer.dtype.bits
    if bits not in (8, 16, 32) or start % CHUNK or layout.axes != (m,):
        return None
    size = buffer.dtype.itemsize
    mode = swizzle_mode(layout)
    swizzle = 0 if mode is SwizzleMode.SWIZZLE_NONE else mode.span_bytes
    nbytes = -(-layout.cosize() * size // CHUNK) * CHUNK
    return WrittenTile(
        buffer.name, False, start, nbytes, buffer.dtype, tuple(buffer.shape), swizzle, _row(layout) * size,
        partial(_table, layout, tuple(buffer.shape), size, nbytes // CHUNK),
    )  # fmt: skip


def _row(layout: Layout) -> int:
    """Return the number of adjacent elements along the contiguous dimension that no swizzle separates."""
    for dim in layout.linear.dims:
        run = 1
        for it in reversed(dim):
            if it.extent > 1 and it.stride != run:
                break
            run *= it.extent
        if run > 1:
            return run
    return 1


def _table(layout: Layout, shape: tuple[int, ...], itemsize: int, chunks: int) -> ChunkTable | None:
    per = CHUNK // itemsize
    elements = np.full(chunks * per, -1, np.int64)
    elements[np.asarray(layout.to_table()[m]).reshape(-1)] = np.arange(prod(shape))
    rows = elements.reshape(chunks, per)
    steps = np.diff(rows, axis=1)
    whole = (rows >= 0).all(axis=1) & (steps == steps[:, :1]).all(axis=1)
    strides = [prod(shape[d + 1 :]) for d in range(len(shape))]
    coords = np.array(np.unravel_index(np.maximum(rows[:, 0], 0), shape), np.int32)
    best: ChunkTable | None = None
    for d, extent in enumerate(shape):
        if extent > 1:
            valid = whole & (steps[:, 0] == strides[d]) & (coords[d] + per <= extent)
            if valid.any() and (best is None or valid.sum() > best.valid.sum()):
                best = ChunkTable(coords, valid, d)
    return best
