"""Axe layouts: maps from logical coordinates to named places on the hardware.

A kernel indexes a tile, `tile[row, column]`. The hardware has bytes of memory, lanes and columns of tensor memory, and
registers of threads. A layout maps the coordinates to these places. It is written as a shape and, for each extent, a
stride together with the axis along which the stride moves:

    TileLayout(S[(128, 64) : (64, 1)])                    row-major in memory: place 64 r + c
    TileLayout(S[(128, 512) : (1@TLane, 1@TCol)])         tensor memory: row r in lane r, column c in column c
    TileLayout(S[(128, 64) : (1@tid_in_wg, 1)])           registers: thread r of a warpgroup holds row r, c its register

A stride without an axis moves along memory, the axis `m`, in elements; for registers, this is the register number. A
dimension may have several digits, each with its own stride. With extents (16, 8) for 128 rows, row r has the digits
r // 8 and r % 8. Therefore

    TileLayout(S[((16, 8), (8, 8)) : ((64, 8), (1024, 1))])

cuts a 128 × 64 tile into contiguous 8 × 8 blocks. That is the whole definition of `TileLayout`: write each coordinate
in the mixed radix of its extents, multiply each digit by its stride, and add up the products along each axis. `apply`
does this for ints, NumPy arrays and symbolic expressions:

    >>> layout = TileLayout(S[((2, 4), 8) : ((4@warpid, 1@warpid), 1)])
    >>> layout.apply(6, 3)
    {warpid: 6, m: 3}

Shared memory also needs a swizzle, because strides alone put a column of a tile into only a few banks. An XOR swizzle
moves 16-byte chunks within an atom of 8 rows, and `ComposeLayout(swizzle, tile)` applies it to the place given by the
tile. TMA and the tensor core support the same swizzles; `tma_shared_layout` builds the layout that both of them use:

    >>> a = tma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (2, 128, 64))     # 2 stages
    >>> a.apply_m(0, 0, 8), a.apply_m(0, 1, 8), a.apply_m(1, 1, 8)      # chunk 1 of row 1 is swapped with chunk 0
    (8, 64, 8256)

The operations on layouts:

    reshape, simplify                another shape; the fewest digits
    is_injective, is_bijective       whether elements have distinct places; whether every place is used
    inverse, compose                 map places back to elements; apply one layout after another
    slice_region                     split a slice, with symbolic starts, into a base and a layout
    tile, direct_sum, slice, …       TVM's algebra of layouts as flat lists of iters
    tma_boxes, mma_descriptor_params, vector_length      parameters for TMA, MMA and vector accesses of a slice

All layouts are immutable and hashable, compare by structure, and print as the expression that creates them. Errors are
`LayoutError`s of one sentence. Layouts follow Hou et al., "Axe" (2026); hardware facts come from the PTX ISA.
"""

from .algebra import compose, inverse, inverse_tile, is_bijective, is_injective
from .arith import Coord
from .axis import (
    AXES,
    Axis,
    Bank,
    ExecScope,
    F,
    LayoutError,
    P,
    Stride,
    TCol,
    TLane,
    bx,
    by,
    bz,
    cbx,
    cby,
    cbz,
    laneid,
    m,
    pid,
    tid_in_wg,
    tx,
    warpid,
    wgid,
    wid_in_wg,
)
from .fragments import (
    mma_fragment_layout,
    tcgen05_atom_layout,
    tcgen05_ld_layout,
    tmem_datapath_layout,
    tmem_mma_operand_layout,
    wg_local_layout,
    wgmma_accumulator_layout,
)
from .scales import sf_smem_layout, sf_tmem_layout
from .shared import DescriptorParams, TmaBox, mma_descriptor_params, swizzle_mode, tma_boxes, vector_length
from .slicing import SlicedLayout, slice_region
from .spec import Iter, R, Replica, S, Spec
from .swizzle import ComposeLayout, SwizzleLayout, SwizzleMode, dtype_bits, tma_shared_layout
from .tile import Layout, TileLayout

__all__ = [
    "AXES",
    "Axis",
    "Bank",
    "ComposeLayout",
    "Coord",
    "DescriptorParams",
    "ExecScope",
    "F",
    "Iter",
    "Layout",
    "LayoutError",
    "P",
    "R",
    "Replica",
    "SlicedLayout",
    "S",
    "Spec",
    "Stride",
    "SwizzleLayout",
    "SwizzleMode",
    "TCol",
    "TLane",
    "TileLayout",
    "TmaBox",
    "bx",
    "by",
    "bz",
    "cbx",
    "cby",
    "cbz",
    "compose",
    "dtype_bits",
    "inverse",
    "inverse_tile",
    "is_bijective",
    "is_injective",
    "laneid",
    "m",
    "mma_descriptor_params",
    "mma_fragment_layout",
    "pid",
    "slice_region",
    "swizzle_mode",
    "tcgen05_atom_layout",
    "tcgen05_ld_layout",
    "tid_in_wg",
    "tma_boxes",
    "tma_shared_layout",
    "tmem_datapath_layout",
    "tmem_mma_operand_layout",
    "tx",
    "vector_length",
    "warpid",
    "wg_local_layout",
    "wgid",
    "sf_smem_layout",
    "sf_tmem_layout",
    "wgmma_accumulator_layout",
    "wid_in_wg",
]
