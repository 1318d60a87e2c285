"""Copies from shared to tensor memory by ``tcgen05.cp``: rows, optionally multicast, and scale factors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tirx_mini.distinct import distinct
from tirx_mini.hardware import TMEM_LANES
from tirx_mini.ir import (
    HANDLE,
    UINT32,
    UINT64,
    AddressOf,
    Bind,
    Expr,
    Range,
    Stmt,
    TileCall,
    Var,
    as_expr,
    cast,
    const,
    int_value,
    seq,
)
from tirx_mini.isa import CP_SHAPES, SmemDescriptor, issue
from tirx_mini.layout import (
    LayoutError,
    R,
    S,
    TCol,
    TileLayout,
    TLane,
    m,
    sf_smem_layout,
    sf_tmem_layout,
    slice_region,
)
from tirx_mini.records import replace

from .context import Context
from .matrices import mma_operand
from .region import Tile, coordinate, tiles_of
from .rule import NotMeant, Refusal, Rule
from .tensor_memory import tmem_address

BLOCK_BYTES = 512
"""128 rows × four scale factors: 32 lanes of 16 bytes."""
GROUP_BYTES = 128
"""Eight of these lanes."""


class TensorMemoryCopy(Rule):
    """Copies by tcgen05.cp from one thread; its later MMAs are ordered after the copy."""

    name = "tcgen05.cp"
    aliases = ("smem->tmem",)
    ops = ("copy_async",)
    doc = "shared to tensor memory, by one thread"

    def emit(self, call: TileCall, ctx: Context) -> Stmt:
        dst, src = tiles_of(call)
        if (dst.scope, src.scope) != ("tmem", "shared"):
            raise NotMeant(f"the copy is from {src.scope} to {dst.scope}, not from shared to tensor memory")
        if call.option("mbar") is not None:
            raise Refusal(
                "tcgen05.cp signals no mbarrier by itself", "remove mbar=, and follow it with Tx.ptx.tcgen05.commit(…)"
            )
        many = ctx.not_single_thread()
        if many:
            raise Refusal(
                f"a single thread must issue it, but {many}",
                'put it under `with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:`, in one warp',
            )
        if call.option("cta_group", 1) not in (1, 2):
            raise Refusal(f"cta_group must be 1 or 2, not {call.option('cta_group')!r}")
        few = _few_rows(call, ctx, dst, src)
        if few is not None:
            return few
        return _scale_factors(call, ctx, dst, src) if dst.layout.linear.spec.replica else _rows(call, ctx, dst, src)


def _given_shape(call: TileCall, shape: str, multicast: str) -> None:
    """Raise Refusal if the call names another shape than its layouts imply."""
    for option, name, value in (("shape", "shape", shape), ("cta_mask", "multicast", multicast)):
        if call.option(option) not in (None, value):
            raise Refusal(f"{name} is {call.option(option)!r}, but the layouts of this copy are those of {value!r}")


def _rows(call: TileCall, ctx: Context, dst: Tile, src: Tile) -> Stmt:
    """Emit the copy of 128 rows, one per lane, in steps of 32 or 16 bytes."""
    if len(dst.extents) != 2:
        raise Refusal(f"the {dst.describe()} is not a tile of {TMEM_LANES} rows")
    width = dst.extents[1]
    address = tmem_address(ctx, dst, TMEM_LANES, width)
    row_bytes = width * dst.dtype.bits // 8
    step = 32 if row_bytes % 32 == 0 else 16
    if row_bytes % step:
        raise Refusal(f"the rows of {src.buffer.name} have {row_bytes} bytes, but tcgen05.cp copies multiples of 16")
    shape = f"128x{step * 8}b"
    _given_shape(call, shape, "")
    return _copies(call, ctx, address, src, row_bytes // step, step, shape=shape)


def _copies(
    call: TileCall, ctx: Context, address: Expr, src: Tile, count: int, step: int, shape: str, multicast: str = ""
) -> Stmt:
    """Emit `count` copies of `step` bytes per row, at consecutive addresses from `address`."""
    source, elements = mma_operand(ctx, _whole_group(src)), step * 8 // src.dtype.bits
    copies = [
        issue(
            "tcgen05.cp", address + number * step // 4, source.at(ctx, const(number * elements)), shape=shape,
            multicast=multicast, cta_group=call.option("cta_group", 1), span=ctx.span,
        )
        for number in range(count)
    ]  # fmt: skip
    return seq(source.bind, *copies, span=ctx.span)


def _whole_group(src: Tile) -> Tile:
    """Extend a four-row tile to the eight rows that start with it, since descriptors count groups of eight."""
    if not src.extents or src.extents[0] != 4:
        return src
    axis = src.kept[0]
    ranges = list(src.region.ranges)
    start = int_value(ranges[axis].start)
    if start is None or start % 8 or start + 8 > src.buffer.shape[axis]:
        raise Refusal(
            f"the four rows of the {src.describe()} are not the first of eight",
            "allocate a multiple of eight rows, and begin the slice at one",
        )
    ranges[axis] = Range(ranges[axis].start, const(8))
    return Tile(replace(src.region, ranges=tuple(ranges)))


def _layout_of(shape: str, multicast: str, width: int) -> TileLayout:
    """Return the layout of a copy of this shape with rows of `width` elements and their multicast lanes."""
    if shape == "4x256b":
        return TileLayout(S[(4, width) : (32 @ TLane, 1 @ TCol)])
    if multicast == "warpx4":
        return TileLayout(S[(32, width) : (1 @ TLane, 1 @ TCol)] + R[4 : 32 @ TLane])
    if multicast == "warpx2::02_13":
        return TileLayout(S[(64, width) : (1 @ TLane, 1 @ TCol)] + R[2 : 64 @ TLane])
    return TileLayout(S[(2, 32, width) : (64 @ TLane, 1 @ TLane, 1 @ TCol)] + R[2 : 32 @ TLane]).reshape((64, width))


FEW_ROWS = (("4x256b", ""), ("64x128b", "warpx2::02_13"), ("64x128b", "warpx2::01_23"), ("32x128b", "warpx4"))
"""The shapes and multicasts of copies of less than 128 rows."""


def _few_rows(call: TileCall, ctx: Context, dst: Tile, src: Tile) -> Stmt | None:
    """Emit the copy of 4, 32 or 64 rows to the lanes of `dst`, or return None for another layout."""
    if len(dst.extents) != 2 or dst.buffer.allocated_addr is None:
        return None
    try:
        region = slice_region(dst.layout, [coordinate(s) for s in dst.starts], dst.region.extents, ctx.divisor)
        layout = region.layout.linear.reshape(dst.extents)
    except LayoutError:
        return None
    rows, width = dst.extents
    for shape, multicast in FEW_ROWS:
        if CP_SHAPES[shape, multicast][0] != rows or layout != _layout_of(shape, multicast, width):
            continue
        _given_shape(call, shape, multicast)
        step, row_bits = CP_SHAPES[shape, multicast][1] * 4, width * dst.dtype.bits
        column, lane = as_expr(region.base.get(TCol, 0)), as_expr(region.base.get(TLane, 0))
        if row_bits % (step * 8) or ctx.divisor(coordinate(column)) * dst.dtype.bits % 32:
            raise Refusal(f"rows of {width} × {dst.dtype} are not whole copies of {step} bytes, from a column on")
        place = cast(UINT32, ctx.simplify(column * dst.dtype.bits // 32)) | (cast(UINT32, ctx.simplify(lane)) << 16)
        address = cast(UINT32, dst.buffer.allocated_addr) + place
        return _copies(call, ctx, address, src, row_bits // (step * 8), step, shape, multicast)
    return None


def _scale_factors(call: TileCall, ctx: Context, dst: Tile, src: Tile) -> Stmt:
    """Emit the copy of 128 rows × four factor blocks to all lane groups."""
    _given_shape(call, "32x128b", "warpx4")
    if dst.dtype.bits != 8 or len(dst.extents) != 2:
        raise Refusal(f"the {dst.describe()} is no tile of scale factors, rows × factors of 8 bits")
    rows, width = dst.extents
    factors = width // _reuse(ctx, dst)
    extents, reuse = (rows, width), width // factors
    column = _first(ctx, dst, lambda: sf_tmem_layout(rows, factors, 4, reuse).reshape(extents))
    first = _first(ctx, src, lambda: sf_smem_layout(rows, factors, 4, reuse).reshape(extents))
    if ctx.divisor(coordinate(column)) % 16 or ctx.divisor(coordinate(first)) % 16:
        raise Refusal("scale factors begin at multiples of 16 bytes of shared memory and of 4 columns of tensor memory")
    rest = SmemDescriptor(0, 16, GROUP_BYTES, 0).encode()
    var = Var(UINT64, f"{src.buffer.name}_desc")
    start = cast(UINT32, AddressOf(HANDLE, src.buffer, (ctx.simplify(first),)))
    bind = Bind(var, ((cast(UINT64, start) >> 4) & 0x3FFF) | const(rest, UINT64), span=ctx.span)
    base = cast(UINT32, dst.buffer.allocated_addr) + cast(UINT32, ctx.simplify(column // 4))
    copies = [
        issue(
            "tcgen05.cp",
            base + (outer * (rows // 32) + 4 * block),
            var + const((block * (factors // 4) + outer) * BLOCK_BYTES // 16, UINT64),
            shape="32x128b", multicast="warpx4", cta_group=call.option("cta_group", 1), span=ctx.span,
        )
        for block in range(rows // 128)
        for outer in range(factors // 4)
    ]  # fmt: skip
    return seq(bind, *copies, span=ctx.span)


def _reuse(ctx: Context, tile: Tile) -> int:
    """Return the number of columns per factor in a scale-factor tile."""
    try:
        region = slice_region(tile.layout, [coordinate(s) for s in tile.starts], tile.region.extents, ctx.divisor)
        places = region.layout.linear.reshape(tile.extents).apply(0, np.arange(tile.extents[1]))
    except LayoutError:
        return 1
    return tile.extents[1] // len(distinct(np.asarray(places.get(TCol, 0))))


def _first(ctx: Context, tile: Tile, wanted: Callable[[], object]) -> Expr:
    """Return the first location of a scale-factor tile. Raises Refusal for a layout other than `wanted`."""
    name = tile.buffer.name
    try:
        region = slice_region(tile.layout, [coordinate(s) for s in tile.starts], tile.region.extents, ctx.divisor)
        layout, meant = region.layout.linear.reshape(tile.extents), wanted()
    except LayoutError as error:
        raise Refusal(f"{name} has no layout of scale factors: {error}") from None
    if layout != meant:
        raise Refusal(
            f"the layout of {name}, {layout}, is not that of scale factors, {meant}",
            "allocate shared memory with layout=sf_smem_layout(…) and tensor memory with TMEMPool.alloc_sf",
        )
    axis = TCol if tile.scope == "tmem" else m
    return as_expr(region.base.get(axis, 0))
