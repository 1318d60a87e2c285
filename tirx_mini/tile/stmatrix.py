"""Copies of a warpgroup's fragment to shared memory by stmatrix, four 8 × 8 blocks at a time.

In a fragment, each row is scattered over the lanes of a warp, two elements per lane. Element-wise stores of a row would
take many narrow accesses. stmatrix gathers the 16-byte rows of a block and stores them to the addresses that the lanes
provide.
"""

from __future__ import annotations

from tirx_mini.ir import HANDLE, UNROLLED, AddressOf, Expr, For, Stmt, TileCall, const, seq
from tirx_mini.isa import issue

from .context import Context
from .partition import memory_lanes
from .region import Tile, tiles_of
from .registers import RegisterTile, register_tile
from .rule import NotMeant, Refusal, Rule
from .wgmma import ROWS, fragment

BLOCK = 8
"""Rows and columns of a block; a row has 16 bytes."""


class StoreMatrix(Rule):
    """Warp w stores rows 16w … 16w + 15 of every 64 rows. One instruction stores 2 × 2 blocks, or 2 × 1 blocks if the
    number of columns is not a multiple of 16.
    """

    name = "stmatrix"
    aliases = ("ldstmatrix",)
    ops = ("copy",)
    doc = "a warpgroup's fragment of 16-bit elements to shared memory"

    def emit(self, call: TileCall, ctx: Context) -> Stmt:
        dst, src = tiles_of(call)
        registers = _fragment(ctx, dst, src)
        rows, columns = dst.extents
        blocks = 4 if columns % (2 * BLOCK) == 0 else 2
        width = BLOCK * blocks // 2
        var, inside = ctx.loop_var(columns // width, "j")
        j: Expr = var if columns > width else const(0)
        stores = []
        for block in range(rows // ROWS):
            row = block * ROWS + ctx.thread // 32 * (2 * BLOCK) + ctx.thread % (2 * BLOCK)
            column = j * width + (ctx.thread % 32 // (2 * BLOCK) * BLOCK if blocks == 4 else 0)
            at = dst.index((inside.simplify(row), inside.simplify(column)))
            first = inside.simplify(j * width // 2 + block * columns // 2)
            address = AddressOf(HANDLE, dst.buffer, tuple(inside.simplify(index) for index in at))
            stores.append(issue("stmatrix", address, registers.pointer(first), num=blocks, span=ctx.span))
        body = seq(*stores, span=ctx.span)
        loop = (
            body
            if columns == width
            else For(var, const(0), const(columns // width), body, kind=UNROLLED, span=ctx.span)
        )
        # As with every cooperative store to shared memory, a fence makes it visible to the async proxy.
        fence = issue("fence.proxy.async", space="shared::cta", span=ctx.span) if ctx.fences else None
        return seq(loop, fence, span=ctx.span)


def _fragment(ctx: Context, dst: Tile, src: Tile) -> RegisterTile:
    """The registers of `src`. Raises NotMeant for copies that the vector rule handles, and Refusal for any other."""
    if (dst.scope, src.scope) != ("shared", "local") or not src.has_thread_axes:
        raise NotMeant("the copy is not from a register view to shared memory")
    if ctx.scope != "warpgroup" or src.dtype.bits != 16 or len(dst.extents) != 2:
        raise NotMeant("the source is not a warpgroup's tile of 16-bit elements")
    registers = register_tile(ctx, src)
    rows, columns = dst.extents
    if registers.layout != fragment(columns, rows):
        raise NotMeant(f"{src.buffer.name} does not have the layout of wgmma_accumulator_layout")
    if memory_lanes(ctx, dst) % BLOCK:
        raise NotMeant(f"the rows of {dst.buffer.name} do not consist of whole 16-byte chunks")
    split = ctx.split_scope()
    if split:
        raise Refusal(split, "all four warps of the warpgroup must execute it")
    return registers
