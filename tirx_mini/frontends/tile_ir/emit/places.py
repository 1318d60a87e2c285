"""Tiles in shared memory and tensor memory, and the arrays that TMA copies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from tirx_mini.hardware import TMEM_ALLOCATIONS, TMEM_COLUMNS, TMEM_LANES
from tirx_mini.ir import (
    UINT32,
    Bind,
    Buffer,
    DataType,
    DeclBuffer,
    Expr,
    If,
    Range,
    Region,
    Var,
    as_expr,
    binary,
    const,
    int_value,
    seq,
    simplify,
    special,
)
from tirx_mini.layout import S, SwizzleMode, TCol, TileLayout, TLane, tma_shared_layout
from tirx_mini.records import dataclass

from ..layouts import SharedLayout
from .emitter import Emitter
from .values import Blocks, View

COLUMN_BITS = 32
"""Bits of a column of tensor memory in each lane."""
SWIZZLES = {
    0: SwizzleMode.SWIZZLE_NONE, 32: SwizzleMode.SWIZZLE_32B_ATOM,
    64: SwizzleMode.SWIZZLE_64B_ATOM, 128: SwizzleMode.SWIZZLE_128B_ATOM,
}  # fmt: skip


@dataclass(frozen=True)
class SharedTile:
    """A tile in shared memory.

    shape: of the tile.
    dims: for each dimension of the tile, the dimension of the memory that it runs along; None for one of extent 1 that
        the memory does not have. The memory's dimensions are counted after the stage.
    stage: the index of the stage, where the buffer has stages as its first dimension.
    """

    buffer: Buffer
    shape: tuple[int, ...]
    dims: tuple[int | None, ...]
    stage: Expr | None = None

    def at_stage(self, stage: Expr) -> SharedTile:
        return SharedTile(self.buffer, self.shape, self.dims, stage)

    def region(self, *ranges: tuple[Expr | int, int]) -> Region:
        """Return a box of the tile, (start, extent) along each dimension; by default the whole tile."""
        wanted = ranges or tuple((0, extent) for extent in self.shape)
        first = 0 if self.stage is None else 1
        keys: list[Expr | slice] = [slice(None)] * self.buffer.ndim
        if self.stage is not None:
            keys[0] = self.stage
        for along, (start, extent) in zip(self.dims, wanted, strict=True):
            if along is not None:
                keys[first + along] = slice(start, start + extent)
        found = self.buffer[tuple(keys)]
        assert isinstance(found, Region)
        return found

    @property
    def index(self) -> list[Expr]:
        """The stage index as a list, which is empty without stages."""
        return [] if self.stage is None else [self.stage]

    @property
    def axes(self) -> list[int]:
        """The tile dimension that corresponds to each memory dimension, slowest first."""
        rank = self.buffer.ndim - (self.stage is not None)
        return [self.dims.index(place) for place in range(rank)]

    @property
    def fastest(self) -> int:
        """The tile dimension that is contiguous in memory."""
        return self.axes[-1]

    def contiguous(self, dim: int) -> bool:
        """Return whether a dimension of the tile is contiguous in memory."""
        rank = self.buffer.ndim - (self.stage is not None)
        return self.dims[dim] == rank - 1

    def permuted(self, dims: Sequence[int]) -> SharedTile:
        """Return the permuted tile in the same memory; its dimension i is dimension dims[i] of this tile."""
        shape, along = tuple(self.shape[d] for d in dims), tuple(self.dims[d] for d in dims)
        return SharedTile(self.buffer, shape, along, self.stage)

    def reshaped(self, shape: Sequence[int]) -> SharedTile | None:
        """Return the tile reshaped by dimensions of extent 1 in the same memory, or None for other shapes."""
        kept = [along for extent, along in zip(self.shape, self.dims, strict=True) if extent > 1]
        if [extent for extent in shape if extent > 1] != [extent for extent in self.shape if extent > 1]:
            return None
        rest = iter(kept)
        return SharedTile(
            self.buffer, tuple(shape), tuple(next(rest) if extent > 1 else None for extent in shape), self.stage
        )


@dataclass(frozen=True)
class TmemTile:
    """A tile in tensor memory; block b of 128 rows occupies columns b · N to (b + 1) · N of the stage.

    memory: all columns of the kernel, of as many bits as the tile's elements. first: the first column of the tile, or
    of its first stage. columns: of a stage. pitch: N, of the whole tile where this is a slice of one.
    """

    memory: Buffer
    shape: tuple[int, ...]
    first: Expr
    columns: int
    pitch: int

    def at_stage(self, stage: Expr) -> TmemTile:
        return replace(self, first=self.first + stage * self.columns)

    def part(self, shape: Sequence[int], column: Expr | int) -> TmemTile:
        """Return the slice of columns starting at `column`."""
        return replace(self, shape=tuple(shape), first=self.first + column)

    def block(self, block: Expr | int, start: Expr | int = 0, extent: int | None = None) -> Region:
        """Return a block of 128 rows, with all columns or `extent` columns from `start`."""
        begin = self.first + as_expr(block) * self.pitch + start
        found = self.memory[:, begin : begin + (extent or self.shape[-1])]
        assert isinstance(found, Region)
        return found


def shared_tile(
    emitter: Emitter, name: str, shape: Sequence[int], dtype: str, layout: SharedLayout, stages: int | None = None
) -> SharedTile:
    """Allocate shared memory for a tile, or for one tile per stage."""
    slow = [axis for axis in layout.dims(len(shape)) if shape[axis] > 1] or [len(shape) - 1]
    extents = (*((stages,) if stages is not None else ()), *(shape[axis] for axis in slow))
    buffer = emitter.shared(name, extents, dtype, tma_shared_layout(dtype, SWIZZLES[layout.swizzle], extents))
    dims = tuple(slow.index(axis) if axis in slow else None for axis in range(len(shape)))
    return SharedTile(buffer, tuple(shape), dims)


def seen_as(emitter: Emitter, buffer: Buffer, dtype: DataType) -> Buffer:
    """Return a view of a buffer with another dtype of the same size."""
    if buffer.dtype == dtype:
        return buffer
    view = Buffer(f"{buffer.name}_{dtype}", buffer.shape, dtype, buffer.scope, buffer.layout, buffer)
    emitter.add(DeclBuffer(view, span=emitter.span))
    return view


def tmem_tile(emitter: Emitter, shape: Sequence[int], stages: int, dtype: str) -> TmemTile:
    """Allocate tensor-memory columns for a tile in each stage."""
    rows, cols = shape[-2:]
    packed = COLUMN_BITS // DataType(dtype).bits
    columns = cols * max(1, rows // TMEM_LANES)
    first = emitter.tmem_columns * packed
    emitter.tmem_columns += columns * stages // packed
    if emitter.tmem_columns > TMEM_COLUMNS:
        raise emitter.refuse(
            f"the accumulators need {emitter.tmem_columns} columns of tensor memory, which has {TMEM_COLUMNS}",
            "make the tiles smaller",
        )
    return TmemTile(_tensor_memory(emitter, dtype), tuple(shape), const(first), columns, cols)


def covering(emitter: Emitter, tile: TmemTile, shape: Sequence[int], dtype: str) -> TmemTile:
    """Return a tile that reuses the columns of another one, block by block."""
    packed = COLUMN_BITS // DataType(dtype).bits
    first, columns, pitch = tile.first * packed, tile.columns * packed, tile.pitch * packed
    return TmemTile(_tensor_memory(emitter, dtype), tuple(shape), first, columns, pitch)


def _tensor_memory(emitter: Emitter, dtype: str) -> Buffer:
    """Return all of tensor memory as elements of a type, based at the address from tcgen05.alloc.

    Each thread reads the address once: the tensor core issues several MMAs in the time of a load from shared memory.
    """
    if not emitter.tmem:
        emitter.tmem_word = emitter.shared("tmem_addr", (1,), "uint32", align=16)
        emitter.tmem_address = Var(UINT32, "tmem_base")
    if dtype not in emitter.tmem:
        shape = TMEM_LANES, TMEM_COLUMNS * (COLUMN_BITS // DataType(dtype).bits)
        layout = TileLayout(S[shape : (1 @ TLane, 1 @ TCol)])
        name = "tmem" if DataType(dtype).bits == COLUMN_BITS else f"tmem_{dtype}"
        emitter.tmem[dtype] = Buffer(name, shape, DataType(dtype), "tmem", layout, allocated_addr=emitter.tmem_address)
    return emitter.tmem[dtype]


def allocate(emitter: Emitter, ctas: int) -> None:
    """Emit the allocation of tensor memory by the first warp, and its deallocation after all warps have finished.

    ctas: those that allocate together, and wait for each other before they free it: a pair, or 1.
    """
    count = next(size for size in TMEM_ALLOCATIONS if size >= emitter.tmem_columns)
    word, address = emitter.tmem_word, emitter.tmem_address
    assert word is not None and address is not None
    first = binary("==", special("warp_id_in_cta"), 0)
    emitter.prologue.append(
        If(first, emitter.instruction("tcgen05.alloc", word.ptr_to([0]), n_cols=count, cta_group=ctas))
    )
    emitter.add(Bind(address, emitter.load(word, const(0))), *(DeclBuffer(memory) for memory in emitter.tmem.values()))
    emitter.epilogue += [
        emitter.instruction("bar.sync.all", 0) if ctas == 1 else emitter.instruction("barrier.cluster.sync"),
        If(first, seq(emitter.instruction("tcgen05.relinquish_alloc_permit", cta_group=ctas),
                      emitter.instruction("tcgen05.dealloc", address, n_cols=count, cta_group=ctas))),
    ]  # fmt: skip


def array_of(emitter: Emitter, view: View) -> tuple[Buffer, tuple[int, ...]]:
    """Return the array of a view as TMA addresses it, and its dimensions from slowest to fastest.

    Raises TirxError for a view whose extents, strides or base are only known at run time.
    """
    shape, strides = [int_value(n) for n in view.shape], [int_value(n) for n in view.strides]
    if None in shape or None in strides or int_value(view.base) != 0:
        raise emitter.refuse("TMA needs an array whose extents and strides are known when the program is compiled")
    known = [(stride or 0, extent or 0) for stride, extent in zip(strides, shape, strict=True)]
    dims = tuple(sorted(range(len(known)), key=lambda d: (-known[d][0], known[d][1] > 1, d)))
    extents, steps = tuple(known[d][1] for d in dims), tuple(known[d][0] for d in dims)
    source = view.buffer
    if source.shape == extents and steps == tuple(math.prod(extents[i + 1 :]) for i in range(len(extents))):
        return source, dims
    layout = TileLayout(S[extents:steps])
    array = Buffer(f"{source.name}_array", extents, source.dtype, "global", layout, source)
    emitter.add(DeclBuffer(array, span=emitter.span))
    return array, dims


def tile_region(
    emitter: Emitter, blocks: Blocks, indices: Sequence[Expr], box: Sequence[tuple[Expr | int, int]] = ()
) -> Region:
    """Return the array region of the tile at `indices`, which may be partly out of bounds.

    box: (first, extent) along each dimension of the tile, for a part of it.
    """
    array, dims = array_of(emitter, blocks.view)
    ranges = [Range(const(0), const(1))] * len(dims)
    parts = box or [(0, extent) for extent in blocks.tile]
    for axis, (index, tile, (first, extent)) in enumerate(zip(indices, blocks.tile, parts, strict=True)):
        start = simplify(as_expr(index) * tile + first)
        ranges[dims.index(blocks.order[axis])] = Range(start, const(extent))
    return Region(array.dtype, array, tuple(ranges))
