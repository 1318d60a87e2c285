"""Partitions: the distribution of a tile's elements over the threads of a scope.

Tiles in memory are distributed in order: neighbouring threads get neighbouring vectors, so the accesses of a warp are
coalesced. The layout of a register view assigns elements to threads itself, and every other operand follows it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tirx_mini.ir import UNROLLED, Expr, For, If, Stmt, as_expr, const
from tirx_mini.layout import inverse, m, tx, vector_length
from tirx_mini.records import dataclass

from .context import Context
from .region import Tile, coordinate, offsets
from .registers import RegisterTile

VECTOR_BYTES = 16
"""The widest access of one thread, in bytes (PTX ISA: ld, st with .v4.b32)."""


@dataclass(frozen=True)
class Partition:
    """A distribution in which each thread handles `lanes` consecutive elements in each of `steps` steps.

    coords(step): the tile coordinates of the first of these elements, for the executing thread.
    guard(step): the condition under which the thread participates; None if all threads do.
    """

    steps: int
    lanes: int
    coords: Callable[[Expr], tuple[Expr, ...]]
    guard: Callable[[Expr], Expr | None]

    def loop(
        self, ctx: Context, body: Callable[[Context, Expr, tuple[Expr, ...]], Stmt], *, parallel: bool = True
    ) -> Stmt:
        """Emit ``body(context, step, coordinates)`` in a loop over the steps, or directly for a single step.

        parallel: whether the steps are independent, so that they may be executed as one operation.
        """
        var, inside = ctx.loop_var(self.steps)
        step: Expr = var if self.steps > 1 else const(0)
        coords = tuple(inside.simplify(coord) for coord in self.coords(step))
        stmt = body(inside, step, coords)
        guard = self.guard(step)
        if guard is not None:
            stmt = If(inside.simplify(guard), stmt, span=ctx.span)
        if self.steps == 1:
            return stmt
        return For(var, const(0), const(self.steps), stmt, kind=UNROLLED, parallel=parallel, span=ctx.span)


def linear(ctx: Context, extents: Sequence[int], lanes: int) -> Partition:
    """Distribute the elements in row-major order, `lanes` per thread in turn."""
    vectors = math.prod(extents) // lanes

    def number(step: Expr) -> Expr:
        return step * ctx.threads + ctx.thread

    def coords(step: Expr) -> tuple[Expr, ...]:
        if not extents:
            return ()
        *outer, last = extents
        rest, at = number(step), []
        for extent in (last // lanes, *reversed(outer)):
            at.append(rest % extent)
            rest = rest // extent
        return (*reversed(at[1:]), at[0] * lanes)

    def guard(step: Expr) -> Expr | None:
        return number(step) < vectors if vectors % ctx.threads else None

    return Partition(-(-vectors // ctx.threads), lanes, coords, guard)


def by_register(ctx: Context, registers: RegisterTile, lanes: int) -> Partition:
    """Distribute the elements so that each thread handles its own registers, `lanes` per step."""
    layout = registers.layout
    element_at = inverse(layout)

    def coords(step: Expr) -> tuple[Expr, ...]:
        place = {tx: ctx.thread, m: step * lanes}
        return tuple(as_expr(coord) for coord in element_at(*(place[axis] for axis in layout.axes)))

    def guard(step: Expr) -> Expr | None:
        return ctx.thread < registers.threads if registers.threads < ctx.threads else None

    return Partition(registers.count // lanes, lanes, coords, guard)


def register_lanes(ctx: Context, registers: RegisterTile) -> int:
    """Return the number of aligned registers of a thread that are consecutive along the last dimension."""
    most = VECTOR_BYTES // registers.tile.dtype.itemsize
    return math.gcd(vector_length(registers.layout), most, registers.count, ctx.divisor(coordinate(registers.base)))


def memory_lanes(ctx: Context, tile: Tile) -> int:
    """Return the number of consecutive elements per aligned access: a power of two, at most 16 bytes."""
    return contiguous(ctx, tile, -1) if tile.kept and tile.kept[-1] == tile.buffer.ndim - 1 else 1


def contiguous(ctx: Context, tile: Tile, dim: int) -> int:
    """Return how many elements are consecutive and aligned along a dimension of the tile: 16 bytes at most."""
    axis = tile.kept[dim]
    run = math.gcd(vector_length(tile.layout, axis), tile.extents[dim], ctx.divisor(coordinate(tile.starts[axis])))
    bytes_apart = math.gcd(VECTOR_BYTES, *offsets(tile))
    return math.gcd(run, max(1, bytes_apart // tile.dtype.itemsize))
