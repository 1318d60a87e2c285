"""The hardware's requirements on a tile in shared memory: TMA boxes, MMA matrix descriptors, vector widths.

Both engines work on the same shape, the atom of `swizzle.py`: 8 rows of 16, 32, 64 or 128 bytes. A TMA box is a stack
of atoms one span wide; a matrix descriptor gives the distance from one atom to the next in each direction.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from tirx_mini.hardware import MAX_TMA_BOX
from tirx_mini.records import dataclass

from .arith import Coord, add, to_bytes
from .axis import LayoutError, m
from .cutting import Divisor, known_divisor, unknown
from .slicing import SlicedLayout, slice_region
from .spec import Iter, coalesce
from .swizzle import ATOM_ROWS, CHUNK_BYTES, ComposeLayout, SwizzleLayout, SwizzleMode, dtype_bits
from .tile import Layout, TileLayout


@dataclass(frozen=True)
class TmaBox:
    """One box of a TMA copy: the part `[start, start + extent)` of a region, with packed rows in shared memory.

    offset: where the first row lies, in elements from the region's base.
    start: the first coordinate in each dimension of the region.
    extent: the number of elements in each dimension.
    """

    offset: int
    start: tuple[int, ...]
    extent: tuple[int, ...]


def tma_boxes(
    layout: Layout, starts: Sequence[Coord], extents: Sequence[int], divisor: Divisor = unknown
) -> tuple[Coord, tuple[TmaBox, ...]]:
    """Compute the shared-memory side of a TMA copy of `layout[start : start + extent, …]`.

    Returns the region's base in elements, and the boxes, each at most one swizzle span wide and 256 rows high. Raises
    LayoutError if the slice is not a whole number of atoms, or if its rows are not packed in the order in which TMA
    fills a box.
    """
    region = slice_region(layout, starts, extents, divisor)
    tile, mode = region.layout.linear, swizzle_mode(layout)
    cols = coalesce(tile.dims[-1]) or (Iter(1, 1),)
    rows = coalesce(tile.dims[-2]) if tile.ndim > 1 else ()
    width = layout.swizzle.span if isinstance(layout, ComposeLayout) else cols[-1].extent
    if tile.axes != (m,) or cols[-1] != Iter(width, 1) or (rows and rows[0].stride != width) or len(rows) > 1:
        raise LayoutError(
            f"TMA with {mode!r} fills packed rows of {width} elements, but the slice is laid out as {region.layout}"
        )
    if rows and width > MAX_TMA_BOX:
        raise LayoutError(f"a TMA box is at most {MAX_TMA_BOX} elements wide, but the rows of the slice have {width}")
    box = [*(1 for _ in extents[:-2]), MAX_TMA_BOX, min(width, MAX_TMA_BOX)][-len(extents) :]
    boxes: list[TmaBox] = []
    for start in itertools.product(*(range(0, extent, step) for extent, step in zip(extents, box, strict=True))):
        extent = tuple(min(step, whole - at) for step, whole, at in zip(box, extents, start, strict=True))
        boxes.append(TmaBox(tile.apply_m(*start), start, extent))
    return region.base[m], tuple(boxes)


@dataclass(frozen=True)
class DescriptorParams:
    """The parameters of the MMA matrix descriptor of an operand tile: rows × K, or K × rows where it is MN-major.

    mode: the swizzle.
    bits: the width of an element.
    rows: the number of rows (M or N) of the tile.
    cols: the extent of the tile along K, in elements.
    leading_byte_offset: without a swizzle, the distance between neighbouring 16-byte columns of core matrices, in
        bytes; with one, unused and 16 where K is contiguous, else the distance between swizzle spans along M or N.
    stride_byte_offset: the distance between neighbouring groups of 8 rows (8 of K, where M or N is contiguous), in
        bytes; for an MN-major operand without a swizzle the two are exchanged.
    base: where the first row starts in the buffer at the start of K, in elements.
    k_start: where the operand begins along K, in elements.
    tile: the layout of all rows and all of K, without the swizzle.
    mn_major: whether M or N is contiguous, and the dimensions are K × rows.

    PTX ISA, "Shared memory descriptor" and "Strides" (tcgen05, wgmma).
    """

    mode: SwizzleMode
    bits: int
    rows: int
    cols: int
    leading_byte_offset: int
    stride_byte_offset: int
    base: Coord
    k_start: Coord
    tile: TileLayout
    mn_major: bool = False

    def byte_offset(self, k: Coord = 0, row: int = 0) -> Coord:
        """Return the start address of a descriptor at column `k`, row `row`, in bytes from the start of the buffer.

        `k` is a multiple of 16 bytes and `row` a multiple of 8. Inside a swizzled row this is the address before the
        swizzle: the hardware adds its own offsets before it applies the XOR, so K advances by plain addition (32 bytes
        for K = 16 of a 16-bit type).
        """
        k = add(self.k_start, k)
        return to_bytes(add(self.base, self.tile.apply_m(*((k, row) if self.mn_major else (row, k)))), self.bits)


def mma_descriptor_params(
    layout: Layout,
    dtype: object,
    starts: Sequence[Coord] | None = None,
    extents: Sequence[int] | None = None,
    divisor: Divisor = unknown,
    mn_major: bool = False,
) -> DescriptorParams:
    """Return the descriptor parameters of the operand `layout[start : start + extent, …]`, by default the whole layout.

    The last two dimensions are rows (M or N) and K, in the other order with `mn_major`; all earlier dimensions have
    extent 1. Raises LayoutError if the slice does not consist of whole 8-row atoms in an order that a descriptor can
    express.
    """
    starts = tuple(starts) if starts is not None else (0,) * layout.ndim
    extents = tuple(extents) if extents is not None else layout.shape
    if len(extents) < 2 or math.prod(extents[:-2]) != 1:
        raise LayoutError(f"an MMA operand is rows × K, with extent 1 in any earlier dimension, not {extents}")
    bits = dtype_bits(dtype)
    swizzle = layout.swizzle if isinstance(layout, ComposeLayout) else SwizzleLayout(SwizzleMode.SWIZZLE_NONE, bits)
    if swizzle.bits != bits:
        raise LayoutError(f"the layout swizzles elements of {swizzle.bits} bits, but {dtype} has {bits}")
    if mn_major:
        return _mn_major(layout, swizzle, starts, extents, divisor)
    if known_divisor(starts[-1], divisor) % swizzle.chunk or extents[-1] % swizzle.chunk:
        raise LayoutError(f"K must begin and end at a multiple of {swizzle.chunk} elements ({CHUNK_BYTES} bytes)")
    # K may begin inside an atom: the start address accounts for it. Everything else must be a whole number of atoms.
    region = slice_region(layout, (*starts[:-1], 0), (*extents[:-1], layout.shape[-1]), divisor)
    rows, full_k = extents[-2], layout.shape[-1]
    group, row, slab, col = _atom_strides(region, (rows, full_k), swizzle)
    if row != swizzle.span or col != 1:
        raise LayoutError(
            f"MMA reads rows of {swizzle.mode.span_bytes} bytes, packed in groups of 8, which {layout} does not have"
        )
    none = swizzle.mode is SwizzleMode.SWIZZLE_NONE
    return DescriptorParams(
        mode=swizzle.mode,
        bits=bits,
        rows=rows,
        cols=extents[-1],
        leading_byte_offset=to_bytes(slab, bits) if none and slab else CHUNK_BYTES,
        stride_byte_offset=to_bytes(group or swizzle.atom, bits),
        base=region.base[m],
        k_start=starts[-1],
        tile=region.layout.linear.reshape((rows, full_k)),
    )


def _mn_major(
    layout: Layout, swizzle: SwizzleLayout, starts: Sequence[Coord], extents: Sequence[int], divisor: Divisor
) -> DescriptorParams:
    """Return the descriptor parameters of a K × rows slice whose rows (M or N) are contiguous."""
    if known_divisor(starts[-2], divisor) % ATOM_ROWS or extents[-2] % ATOM_ROWS:
        raise LayoutError(f"K must begin and end at a multiple of {ATOM_ROWS}, where M or N is contiguous")
    shape = (layout.shape[-2], extents[-1])
    region = slice_region(layout, (*starts[:-2], 0, starts[-1]), (*extents[:-2], *shape), divisor)
    group, row, slab, col = _atom_strides(region, shape, swizzle)
    if row != swizzle.span or col != 1:
        raise LayoutError(
            f"MMA reads rows of {swizzle.mode.span_bytes} bytes along M or N, packed in groups of 8, "
            f"which {layout} does not have"
        )
    across, along = (to_bytes(stride or swizzle.atom, swizzle.bits) for stride in (slab, group))
    leading, stride = (along, across) if swizzle.mode is SwizzleMode.SWIZZLE_NONE else (across, along)
    return DescriptorParams(
        swizzle.mode, swizzle.bits, extents[-1], extents[-2], leading, stride, region.base[m], starts[-2],
        region.layout.linear.reshape(shape), mn_major=True,
    )  # fmt: skip


def _atom_strides(region: SlicedLayout, shape: tuple[int, int], swizzle: SwizzleLayout) -> tuple[int, int, int, int]:
    """Return the strides of a tile as (8-row group, row in group, slab, column in slab), with 0 for an extent of 1."""
    rows, cols = shape
    if rows % ATOM_ROWS or cols % swizzle.span:
        raise LayoutError(f"{rows} × {cols} elements are not a whole number of {ATOM_ROWS} × {swizzle.span} atoms")
    tile = region.layout.linear.reshape((rows // ATOM_ROWS, ATOM_ROWS, cols // swizzle.span, swizzle.span))
    iters = [coalesce(dim) for dim in tile.dims]
    if tile.axes != (m,) or any(len(dim) > 1 for dim in iters):
        raise LayoutError(f"a matrix descriptor cannot express {region.layout}: its atoms are not evenly spaced")
    group, row, slab, col = (dim[0].stride if dim else 0 for dim in iters)
    return group, row, slab, col


def swizzle_mode(layout: Layout) -> SwizzleMode:
    """Return the swizzle mode of `layout`, or SWIZZLE_NONE."""
    return layout.swizzle.mode if isinstance(layout, ComposeLayout) else SwizzleMode.SWIZZLE_NONE


def vector_length(layout: Layout, dim: int = -1) -> int:
    """Return the length of the longest contiguous and aligned vectors along a dimension.

    Vectors begin at each multiple of that length. It is 1 if the dimension is not contiguous, and at most 16 bytes if
    the layout is swizzled.
    """
    dims = [coalesce(each) for each in layout.linear.dims]
    along = dims.pop(dim)
    if not along:
        return 1
    *others, last = (*(it for each in dims for it in each), *along)
    if last.axis != m or last.stride != 1:
        return 1
    run = math.gcd(last.extent, layout.linear.offset.get(m, 0), *(it.stride for it in others if it.axis == m))
    return math.gcd(run, layout.swizzle.chunk) if isinstance(layout, ComposeLayout) else run
