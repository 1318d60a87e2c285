"""Copies between fragments and shared memory by stmatrix and ldmatrix, up to four 8 × 8 blocks at a time.

In a fragment, each row is scattered over the lanes of a warp, two elements per lane. Element-wise accesses to a row
would be many narrow ones. stmatrix gathers the 16-byte rows of a block and stores them to the addresses that the lanes
provide; ldmatrix loads and scatters them. Where the columns of the tile are contiguous in shared memory, blocks are
transposed on the way (.trans): lanes provide the addresses of columns.
"""

from __future__ import annotations

from tirx_mini.ir import HANDLE, UNROLLED, AddressOf, Expr, For, Stmt, TileCall, const, seq
from tirx_mini.isa import issue
from tirx_mini.layout import S, TileLayout, laneid
from tirx_mini.records import dataclass

from .context import Context
from .partition import contiguous, memory_lanes
from .region import Tile, tiles_of
from .registers import RegisterTile, in_threads, register_tile
from .rule import NotMeant, Refusal, Rule
from .wgmma import fragment

BLOCK = 8
"""Rows and columns of a block; a row has 16 bytes."""
LANE_ELEMENTS = 2
"""Of a block, in each lane."""


@dataclass(frozen=True)
class Blocks:
    """The blocks of one instruction, `high` vertically and `wide` horizontally."""

    high: int
    wide: int

    @property
    def count(self) -> int:
        return self.high * self.wide


def _blocks(rows: int, columns: int) -> Blocks:
    """Return the blocks that one instruction moves: 2 × 2 or 2 × 1, or for 8 rows 1 × 4, 1 × 2 or 1 × 1."""
    high = 1 if rows == BLOCK else 2
    return Blocks(high, next(n for n in (4 // high, 2, 1) if columns % (n * BLOCK) == 0))


def _moved(ctx: Context, memory: Tile, registers: RegisterTile, stores: bool) -> Stmt:
    """Emit the instructions that move a tile; each warp has one or two block rows of every stripe."""
    (rows, columns), turned = memory.extents, memory_lanes(ctx, memory) % BLOCK != 0
    blocks = _blocks(rows, columns)
    own, width = blocks.high * BLOCK, blocks.wide * BLOCK
    stripe = own * ctx.threads // 32
    var, inside = ctx.loop_var(columns // width, "j")
    j: Expr = var if columns > width else const(0)
    moves = []
    for number in range(rows // stripe):
        row = number * stripe + ctx.thread // 32 * own + ctx.thread % own
        column = j * width + (ctx.thread % 32 // own % blocks.wide * BLOCK if blocks.wide > 1 else 0)
        if turned:  # the lanes of a block differ by columns
            row, column = row - ctx.thread % BLOCK, column + ctx.thread % BLOCK
        at = memory.index((inside.simplify(row), inside.simplify(column)))
        address = AddressOf(HANDLE, memory.buffer, tuple(inside.simplify(index) for index in at))
        each = blocks.count * LANE_ELEMENTS
        pointer = registers.pointer(inside.simplify(j * each + number * (columns // width * each)))
        if stores:
            moves.append(issue("stmatrix", address, pointer, num=blocks.count, transpose=turned, span=ctx.span))
        else:
            moves.append(issue("ldmatrix", pointer, address, num=blocks.count, transpose=turned, span=ctx.span))
    body = seq(*moves, span=ctx.span)
    if columns == width:
        return body
    return For(var, const(0), const(columns // width), body, kind=UNROLLED, span=ctx.span)


class StoreMatrix(Rule):
    """Stores a fragment by stmatrix, 2 × 2 blocks per instruction, or 2 × 1 if the columns are not a multiple of 16.
    Warp w of a warpgroup stores rows 16w … 16w + 15 of every 64 rows; a single warp stores all rows.
    """

    name = "stmatrix"
    aliases = ("ldstmatrix",)
    ops = ("copy",)
    doc = "a fragment of 16-bit elements of a warpgroup or a warp to shared memory"

    def emit(self, call: TileCall, ctx: Context) -> Stmt:
        dst, src = tiles_of(call)
        moved = _moved(ctx, dst, _fragment(ctx, src, dst), stores=True)
        # As with every cooperative store to shared memory, a fence makes it visible to the async proxy.
        fence = issue("fence.proxy.async", space="shared::cta", span=ctx.span) if ctx.fences else None
        return seq(moved, fence, span=ctx.span)


class LoadMatrix(Rule):
    """Loads a fragment by ldmatrix, with the blocks of `StoreMatrix`."""

    name = "ldmatrix"
    aliases = ("ldstmatrix",)
    ops = ("copy",)
    doc = "a tile of 16-bit elements in shared memory to a fragment of a warpgroup or a warp"

    def emit(self, call: TileCall, ctx: Context) -> Stmt:
        dst, src = tiles_of(call)
        return _moved(ctx, src, _fragment(ctx, dst, src), stores=False)


def _fragment(ctx: Context, own: Tile, memory: Tile) -> RegisterTile:
    """Return the registers of `own`. Raises NotMeant for copies of the vector rule, and Refusal for others."""
    if (memory.scope, own.scope) != ("shared", "local") or not own.has_thread_axes:
        raise NotMeant("the copy is not between a register view and shared memory")
    if ctx.scope not in ("warpgroup", "warp") or own.dtype.bits != 16 or own.dtype != memory.dtype:
        raise NotMeant("the registers are not a tile of 16-bit elements of a warpgroup or a warp")
    if len(memory.extents) != 2:
        raise NotMeant("the tile is no matrix")
    registers = register_tile(ctx, own)
    rows, columns = memory.extents
    if registers.layout != (fragment(columns, rows) if ctx.scope == "warpgroup" else _of_warp(rows, columns)):
        raise NotMeant(f"{own.buffer.name} does not have the layout of a fragment of wgmma or mma.sync")
    if memory_lanes(ctx, memory) % BLOCK and contiguous(ctx, memory, 0) % BLOCK:
        raise NotMeant(f"neither rows nor columns of {memory.buffer.name} consist of whole 16-byte chunks")
    split = ctx.split_scope()
    if split:
        raise Refusal(split, f"all lanes of the {ctx.scope} must execute it")
    return registers


def _of_warp(rows: int, columns: int) -> object:
    """Return the warp layout of an mma.sync fragment: A, C and D, or B with 8 rows; None if there is none."""
    if columns % BLOCK or (rows != BLOCK and rows % (2 * BLOCK)):
        return None
    if rows == BLOCK:
        spec = S[(BLOCK, (columns // BLOCK, 4, 2)) : (4 @ laneid, (2, 1 @ laneid, 1))]
    else:
        row_extents, row_strides = (rows // 16, 2, BLOCK), (columns // 2, 2, 4 @ laneid)
        spec = S[(row_extents, (columns // BLOCK, 4, 2)) : (row_strides, (4, 1 @ laneid, 1))]
    return in_threads(TileLayout(spec)).reshape((rows, columns))
