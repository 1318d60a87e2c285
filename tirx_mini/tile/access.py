"""Loads and stores of tiles."""

from __future__ import annotations

from tirx_mini.ir import BufferLoad, BufferStore, Expr, Ramp, Stmt

from .context import Context
from .region import Tile


def load(ctx: Context, tile: Tile, at: tuple[Expr, ...], lanes: int) -> Expr:
    """Return the element of `tile` at the coordinates `at`, or the vector of `lanes` elements that starts there."""
    return BufferLoad(tile.dtype.with_lanes(lanes), tile.buffer, _index(ctx, tile, at, lanes), span=ctx.span)


def store(ctx: Context, tile: Tile, at: tuple[Expr, ...], lanes: int, value: Expr) -> Stmt:
    """Return the store ``tile[at] = value`` of the `lanes` elements that start there."""
    return BufferStore(tile.buffer, _index(ctx, tile, at, lanes), value, span=ctx.span)


def vector_index(indices: tuple[Expr, ...], lanes: int) -> tuple[Expr, ...]:
    """Return the index of a vector access of `lanes` elements, given the `indices` of the first."""
    if lanes == 1 or not indices:
        return indices
    *outer, last = indices
    return (*outer, Ramp(last.dtype, last, lanes, span=last.span))


def _index(ctx: Context, tile: Tile, at: tuple[Expr, ...], lanes: int) -> tuple[Expr, ...]:
    return vector_index(tuple(ctx.simplify(index) for index in tile.index(at)), lanes)
