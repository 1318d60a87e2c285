"""Tensor memory: its addressing, and copies to and from a warpgroup's registers.

An address is lane << 16 | column. ``tcgen05.ld.32x32b.xN`` loads N consecutive columns of its own lane into each thread
of a warp. Warp w of a warpgroup can only access lanes 32w … 32w + 31 (PTX ISA, tcgen05.ld, "Access restrictions").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tirx_mini.hardware import TMEM_LANES
from tirx_mini.ir import UINT32, Expr, Stmt, TileCall, as_expr, cast, const, int_value, seq, special
from tirx_mini.isa import issue
from tirx_mini.layout import (
    Axis,
    Iter,
    LayoutError,
    TCol,
    TileLayout,
    TLane,
    m,
    slice_region,
    tcgen05_atom_layout,
    tmem_datapath_layout,
    tx,
)
from tirx_mini.records import dataclass, replace

from .context import Context
from .region import Tile, coordinate, tiles_of
from .registers import RegisterTile, in_threads, register_tile
from .rule import NotMeant, Refusal, Rule

MOST_COLUMNS = 128
"""The largest number of columns in one tcgen05.ld.32x32b."""


def tmem_address(ctx: Context, tile: Tile, lanes: int, columns: int) -> Expr:
    """Return the address of the first element of `tile`, of `lanes` × `columns` elements starting at lane 0.

    Elements narrower than 32 bits share the columns of tensor memory. Raises Refusal if the tile has another shape, or
    if its layout is not (1@TLane, 1@TCol).
    """
    name = tile.buffer.name
    if tile.scope != "tmem":
        raise Refusal(f"{name} is in {tile.scope} memory, not in tensor memory", 'declare it with scope="tmem"')
    if tile.buffer.allocated_addr is None:
        raise Refusal(f"{name} has no address", "pass decl_buffer the word that tcgen05.alloc wrote: allocated_addr=")
    if 32 % tile.dtype.bits:
        raise Refusal(
            f"{name} is {tile.dtype}, but a column of tensor memory has 32 bits", "use a dtype of at most 32 bits"
        )
    if tile.extents != tuple(extent for extent in (lanes, columns) if extent != 1):
        raise Refusal(f"the {tile.describe()} is not {lanes} × {columns}")
    lane, address = _placed(ctx, tile, lambda layout: _is_plain(layout, columns, TLane, TCol), columns)
    if lane != 0:
        raise Refusal(f"the slice of {name} does not begin at lane 0", "slice its columns, not its rows")
    return address


def accumulator_address(ctx: Context, tile: Tile, path: str) -> Expr:
    """Return the address of an accumulator with the `tmem_datapath_layout` of a data path.

    Raises Refusal for another layout.
    """
    if path in "AD":
        return tmem_address(ctx, tile, TMEM_LANES, tile.extents[1])
    if tile.buffer.allocated_addr is None:
        raise Refusal(f"{tile.buffer.name} has no address", "allocate it from a TMEMPool")
    rows, columns = tile.extents
    try:
        wanted = tmem_datapath_layout(path, rows, columns)
    except LayoutError as error:
        raise Refusal(str(error)) from None
    flat = wanted.canonicalize()
    lane, address = _placed(ctx, tile, lambda layout: layout.canonicalize() == flat, columns, f"{wanted}")
    if lane not in (0, 16) or (lane and path != "F"):
        raise Refusal(f"the slice of {tile.buffer.name} does not begin at lane 0")
    return address + const(lane << 16, UINT32) if lane else address


def _placed(
    ctx: Context, tile: Tile, suits: Callable[[TileLayout], bool], columns: int, wanted: str | None = None
) -> tuple[int | None, Expr]:
    """Return the lane and column address of a tensor-memory tile, if its layout is suitable.

    wanted: the layout that does, for the hint.

    The lane is None if it is not known. Raises Refusal for another layout.
    """
    name = tile.buffer.name
    try:
        region = slice_region(tile.layout, [coordinate(s) for s in tile.starts], tile.region.extents, ctx.divisor)
    except LayoutError as error:
        raise Refusal(f"the slice of {name} is not one block of tensor memory: {error}") from None
    if not suits(region.layout.linear):
        raise Refusal(
            f"the layout of {name} does not map rows to lanes and columns to columns of tensor memory",
            f"declare it with layout={wanted or f'TileLayout(S[{tile.buffer.shape} : (1@TLane, 1@TCol)])'}",
        )
    element, packed = as_expr(region.base.get(TCol, 0)), 32 // tile.dtype.bits
    if ctx.divisor(coordinate(element)) % packed or columns % packed:
        raise Refusal(
            f"the slice of {name} does not begin and end at a column of 32 bits, which {packed} elements fill"
        )
    assert tile.buffer.allocated_addr is not None
    address = cast(UINT32, tile.buffer.allocated_addr) + cast(UINT32, ctx.simplify(element // packed))
    return int_value(ctx.simplify(as_expr(region.base.get(TLane, 0)))), address


def _is_plain(layout: TileLayout, columns: int, row_axis: Axis, column_axis: Axis) -> bool:
    """Return whether row r of 128 lies at r on `row_axis`, and column c at c on `column_axis`."""
    moving = [it for it in layout.simplify().iters if it.extent > 1]
    rows = [Iter(TMEM_LANES, 1, row_axis)]
    return moving == (rows if columns == 1 else [*rows, Iter(columns, 1, column_axis)])


def warp_lanes(ctx: Context) -> Expr:
    """Return the lane field of the executing warp's addresses, 32 lanes per warp of the warpgroup."""
    return cast(UINT32, ctx.simplify(special("warp_id_in_cta") % 4 * 32)) << 16


def chunks(columns: int) -> Iterator[tuple[int, int]]:
    """Yield (first column, number of columns) of accesses that cover `columns`: powers of two, widest first."""
    first = 0
    while first < columns:
        number = min(MOST_COLUMNS, 1 << ((columns - first).bit_length() - 1))
        yield first, number
        first += number


@dataclass(frozen=True)
class Access:
    """A tcgen05.ld or tcgen05.st of each warp, with its first 32-bit register and its address."""

    register: int
    address: Expr
    shape: str
    num: int


@dataclass(frozen=True)
class _Form:
    """A shape of tcgen05.ld and .st, with the rows and tensor-memory data path it applies to.

    bits: of a row, in one repetition.
    slabs: the first of its 32 lanes at which a warp accesses 16 of them, or all.
    """

    shape: str
    bits: int
    rows: int
    path: str
    slabs: tuple[int, ...]


_FORMS = (
    *(_Form(shape, bits, 64, "F", (0,)) for shape, bits in (("16x64b", 64), ("16x128b", 128), ("16x256b", 256))),
    *(_Form(shape, bits, 128, "D", (0, 16)) for shape, bits in (("16x64b", 64), ("16x128b", 128), ("16x256b", 256))),
    _Form("32x32b", 64, 64, "B", (0,)),
)


def _fragments(ctx: Context, memory: Tile, registers: RegisterTile) -> list[Access] | None:
    """Return the accesses for a `tcgen05_atom_layout` fragment, or None if the registers are not one.

    Raises Refusal if tensor memory is not laid out as the fragment.
    """
    extents, dtype = registers.tile.extents, registers.tile.dtype
    for form in _FORMS:
        if len(extents) != 2 or extents[0] != form.rows or dtype.bits not in (16, 32):
            continue
        try:
            atom = in_threads(tcgen05_atom_layout(form.shape, extents, dtype)).reshape(extents)
        except LayoutError:  # there is no such number of columns
            continue
        if atom != registers.layout:
            continue
        wanted = tmem_datapath_layout(form.path, *extents).canonicalize()
        lane, address = _placed(ctx, memory, lambda layout: layout.canonicalize() == wanted, extents[1])  # noqa: B023
        if lane not in (0, 16) or (lane == 16 and form.path != "F"):
            raise Refusal(f"the slice of {memory.buffer.name} does not begin at lane 0")
        num = extents[1] * dtype.bits // form.bits
        step = registers.count * dtype.bits // 32 // len(form.slabs)
        places = [address + const(lane + slab << 16, UINT32) if lane + slab else address for slab in form.slabs]
        return [Access(step * number, place, form.shape, num) for number, place in enumerate(places)]
    return None


class _TensorMemoryCopy(Rule):
    """Copies between the 128 lanes of a tile and the threads of a warpgroup, one column per 32-bit register."""

    def accesses(self, ctx: Context, memory: Tile, view: Tile) -> tuple[RegisterTile, list[Access]]:
        """Return the registers of the view and each warp's accesses. Raises Refusal if there are none."""
        if ctx.scope != "warpgroup":
            raise Refusal(
                f"a warp can access only 32 of the 128 lanes, so a warpgroup must execute it, "
                f"but the call is in {ctx.scope} scope",
                "call it in `with Tx.warpgroup():`",
            )
        if view.scope != "local":
            raise Refusal(f"{view.buffer.name} must be in registers, but is in {view.scope} memory")
        if not view.has_thread_axes:
            raise Refusal(
                f"{view.buffer.name} belongs to one thread and is not a tile of the warpgroup",
                f"use {view.buffer.name}.view(128, N, layout=TileLayout(S[(128, N) : (1@tid_in_wg, 1)]))",
            )
        registers = register_tile(ctx, view)
        split = ctx.split_scope()
        if split:
            raise Refusal(split, "all four warps of the warpgroup must execute it")
        found = None if _is_plain(registers.layout, registers.count, tx, m) else _fragments(ctx, memory, registers)
        if found is not None:
            lanes = warp_lanes(ctx)
            return registers, [replace(access, address=access.address + lanes) for access in found]
        if not _is_plain(registers.layout, registers.count, tx, m):
            raise Refusal(
                f"{view.buffer.name} does not hold row r in thread r",
                f"give the view layout=TileLayout(S[(128, {registers.count}) : (1@tid_in_wg, 1)])",
            )
        address = tmem_address(ctx, memory, TMEM_LANES, registers.count) + warp_lanes(ctx)
        packed = 32 // view.dtype.bits
        return registers, [
            Access(first, address + first, "32x32b", number) for first, number in chunks(registers.count // packed)
        ]


class TensorMemoryLoad(_TensorMemoryCopy):
    name = "tcgen05.ld"
    aliases = ("tmem<->local",)
    ops = ("copy", "copy_async")
    doc = "tensor memory to a warpgroup's registers"

    def emit(self, call: TileCall, ctx: Context) -> Stmt:
        dst, src = tiles_of(call)
        if src.scope != "tmem":
            raise NotMeant(f"{src.buffer.name} is in {src.scope} memory, not in tensor memory")
        registers, accesses = self.accesses(ctx, src, dst)
        packed = 32 // dst.dtype.bits
        loads = [
            issue(
                "tcgen05.ld", registers.pointer(access.register * packed), access.address,
                shape=access.shape, num=access.num, span=ctx.span,
            )
            for access in accesses
        ]  # fmt: skip
        return seq(*loads, issue("tcgen05.wait.ld", span=ctx.span) if call.op == "copy" else None, span=ctx.span)


class TensorMemoryStore(_TensorMemoryCopy):
    name = "tcgen05.st"
    aliases = ("tmem<->local",)
    ops = ("copy", "copy_async")
    doc = "a warpgroup's registers to tensor memory"

    def emit(self, call: TileCall, ctx: Context) -> Stmt:
        dst, src = tiles_of(call)
        if dst.scope != "tmem":
            raise NotMeant(f"{dst.buffer.name} is in {dst.scope} memory, not in tensor memory")
        registers, accesses = self.accesses(ctx, dst, src)
        packed = 32 // src.dtype.bits
        stores: list[Stmt] = []
        for access in accesses:
            if stores and access.shape != "32x32b":  # the simulator orders the accesses of all 32 lanes of a warp
                stores.append(issue("tcgen05.wait.st", span=ctx.span))
            pointer = registers.pointer(access.register * packed)
            how = {"shape": access.shape, "num": access.num}
            stores.append(issue("tcgen05.st", access.address, pointer, **how, span=ctx.span))
        return seq(*stores, issue("tcgen05.wait.st", span=ctx.span) if call.op == "copy" else None, span=ctx.span)
