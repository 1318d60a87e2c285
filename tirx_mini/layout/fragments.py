"""Register fragments: the thread of a warpgroup, and its register, that hold each element of a tile."""

from __future__ import annotations

from .axis import LayoutError, laneid, tid_in_wg, whole, wid_in_wg
from .tile import S, TileLayout


def wgmma_accumulator_layout(n: int, rows: int = 64) -> TileLayout:
    """The `rows` × `n` accumulators of `wgmma.mma_async.m64nNk*`: maps (row, column) to warp, lane and register.

    Warp w holds rows 16w … 16w + 15. In each 8 × 8 block, lane l holds row l // 4 and columns 2 (l % 4) and
    2 (l % 4) + 1. The registers of a thread enumerate the two columns, then the upper and lower 8 rows, then the blocks
    of 8 columns and, for more than the 64 rows of one instruction, the blocks of 64 rows. PTX ISA, "Register Fragments
    for wgmma.mma_async.m64nNk16", matrix D. Raises LayoutError for an `n` or `rows` that wgmma does not support.
    """
    n, rows = whole("n", n), whole("rows", rows)
    if n % 8 or not 8 <= n <= 256:
        raise LayoutError(f"n is {n}, but wgmma accumulators are 8, 16, … 256 columns wide")
    if rows % 64 or rows < 64:
        raise LayoutError(f"rows is {rows}, but wgmma accumulators have a multiple of 64 rows")
    row_extents, row_strides = (4, 2, 8), (1 @ wid_in_wg, 2, 4 @ laneid)
    if rows > 64:
        row_extents, row_strides = (rows // 64, *row_extents), (n // 2, *row_strides)
    cols, col_strides = (n // 8, 4, 2), (4, 1 @ laneid, 1)
    return TileLayout(S[(row_extents, cols) : (row_strides, col_strides)])


def tcgen05_ld_layout(n: int, rows: int = 128) -> TileLayout:
    """A `rows` × `n` tile loaded by `tcgen05.ld.32x32b.xN`: thread r holds row r, with column c in register c.

    PTX ISA, "tcgen05 data movement shapes", .32x32b. Raises LayoutError for an `n` or `rows` below 1.
    """
    n, rows = whole("n", n), whole("rows", rows)
    if min(n, rows) < 1:
        raise LayoutError(f"n and rows must be at least 1, not {n} and {rows}")
    return TileLayout(S[(rows, n) : (1 @ tid_in_wg, 1)])
