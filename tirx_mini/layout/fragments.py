"""Register fragments: the mapping of tile elements to threads of a warpgroup and their registers."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tirx_mini.wording import described

from .axis import LayoutError, TCol, TLane, laneid, tid_in_wg, whole, wid_in_wg
from .spec import R, S
from .swizzle import dtype_bits
from .tile import TileLayout


def wgmma_accumulator_layout(n: int, rows: int = 64) -> TileLayout:
    """Return the layout of the `rows` × `n` accumulators of `wgmma.mma_async.m64nNk*` in a warpgroup's registers.

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


def mma_fragment_layout(rows: int, cols: int, bits: int = 16) -> TileLayout:
    """Return the layout of a matrix fragment of `mma.sync.m16n8k*` in a warp, from (row, column) to lane and register.

    rows: 16 for A, C and D; 8 for B, whose rows here are its columns. cols: along K; 8 for C and D.
    bits: of an element of A or B; C and D of any type lie as elements of 16 bits do. Registers are counted in elements.

    Lane 4g + t holds rows g and g + 8 and, of each 16 bytes along K, those at 4t. PTX ISA, "Matrix Fragments for
    mma.m16n8k16" and those of the other shapes. Raises LayoutError for other extents.
    """
    rows, cols, pack = whole("rows", rows), whole("cols", cols), 32 // whole("bits", bits)
    halves, rest = divmod(cols, 4 * pack)
    if rows not in (8, 16) or rest or halves not in (1, 2):
        found = f"{rows} × {cols} elements of {bits} bits"
        raise LayoutError(f"fragments of mma.sync have 16 or 8 rows of 16 or 32 bytes, not {found}")
    upper = rows // 8
    row_spec = ((upper, 8), (pack, 4 @ laneid)) if upper > 1 else ((8,), (4 @ laneid,))
    col_extents, col_strides = (halves, 4, pack), (upper * pack, 1 @ laneid, 1)
    return TileLayout(S[(row_spec[0], col_extents) : (row_spec[1], col_strides)])


def tcgen05_ld_layout(n: int, rows: int = 128) -> TileLayout:
    """Return the layout of a `rows` × `n` tile loaded by `tcgen05.ld.32x32b.xN`, with row r in thread r.

    PTX ISA, "tcgen05 data movement shapes", .32x32b. Raises LayoutError for an `n` or `rows` below 1.
    """
    n, rows = whole("n", n), whole("rows", rows)
    if min(n, rows) < 1:
        raise LayoutError(f"n and rows must be at least 1, not {n} and {rows}")
    return TileLayout(S[(rows, n) : (1 @ tid_in_wg, 1)])


def wg_local_layout(cols: int, rows: int = 128) -> TileLayout:
    """Return `tcgen05_ld_layout` under TVM's name: thread r of a warpgroup holds the `cols` elements of row r."""
    return tcgen05_ld_layout(cols, rows)


_ATOM_BITS = {"32x32b": 32, "16x64b": 64, "16x128b": 128, "16x256b": 256}
"""The width of one repetition of a shape, in bits of a row."""


def tcgen05_atom_layout(instr_shape: str, tensor_shape: Sequence[int], dtype: object) -> TileLayout:
    """Return the layout of a warpgroup's registers in a `tcgen05.ld` or `tcgen05.st` of the given shape.

    instr_shape: "32x32b", "16x64b", "16x128b" or "16x256b". In .16x*b, warp w holds rows 16 w … 16 w + 15.
    tensor_shape: (rows, columns): 128 rows for .32x32b, 64 for the others, or 128 for two accesses of 64 rows;
        for .32x32b also 64 rows of float32, whose second half of columns is in threads 64 … 127.
    dtype: of an element, of 32 or 16 bits; two elements of 16 bits share a register.

    PTX ISA, "tcgen05 data movement shapes". Raises LayoutError for another shape or number of columns.
    """
    width = _ATOM_BITS.get(instr_shape)
    if width is None:
        raise LayoutError(f"instr_shape must be one of {', '.join(_ATOM_BITS)}, not {described(instr_shape)}")
    rows, cols = (whole("each extent of tensor_shape", extent) for extent in tensor_shape)
    per_word = 32 // dtype_bits(dtype) if dtype_bits(dtype) in (16, 32) else 0
    if not per_word:
        raise LayoutError(f"the elements of tcgen05.ld and tcgen05.st have 32 or 16 bits, unlike {dtype}")
    folded = instr_shape == "32x32b" and rows == 64
    if rows not in ((64, 128) if instr_shape != "32x32b" or per_word == 1 else (128,)):
        raise LayoutError(f"a fragment of .{instr_shape} of {dtype} has 128 or 64 rows as its shape allows, not {rows}")
    one = width // 32 * per_word * (2 if folded else 1)  # columns of one repetition
    repeats, rest = divmod(cols, one)
    most = min(128, 8192 // width)
    if rest or repeats < 1 or repeats > most or repeats & (repeats - 1):
        raise LayoutError(f".{instr_shape} has {one} columns of {dtype} times a power of two up to {most}, not {cols}")
    if instr_shape == "32x32b":
        if folded:
            return TileLayout(S[(64, (2, repeats)) : (1 @ tid_in_wg, (64 @ tid_in_wg, 1))])
        return TileLayout(S[(128, cols) : (1 @ tid_in_wg, 1)])
    return _sixteen_rows(rows, repeats, width, per_word)


def _sixteen_rows(rows: int, repeats: int, width: int, per_word: int) -> TileLayout:
    """Return the fragment of a .16x*b shape, counting registers in elements, `per_word` per 32-bit register."""
    if width == 64:  # lane 4 r + 2 c + h holds column c of row r + 8 h
        halves, columns, column_strides = 1 @ laneid, (repeats, 2), (per_word, 2 @ laneid)
        registers = repeats
    elif width == 128:  # a lane holds both rows r and r + 8
        halves, columns, column_strides = per_word, (repeats, 4), (2 * per_word, 1 @ laneid)
        registers = 2 * repeats
    else:  # and two neighbouring columns
        halves, columns, column_strides = 2 * per_word, (repeats, 4, 2), (4 * per_word, 1 @ laneid, per_word)
        registers = 4 * repeats
    row_extents, row_strides = (4, 2, 8), (1 @ wid_in_wg, halves, 4 @ laneid)
    if rows == 128:
        row_extents, row_strides = (4, 2, 2, 8), (1 @ wid_in_wg, registers * per_word, halves, 4 @ laneid)
    if per_word == 2:
        columns, column_strides = (*columns, 2), (*column_strides, 1)
    return TileLayout(S[(row_extents, columns) : (row_strides, column_strides)])


_DATAPATHS = {"A": 128, "B": 64, "C": 64, "D": 128, "E": 64, "F": 64, "G": 32}
"""The rows that a CTA has in each data path."""


def tmem_datapath_layout(datapath: str, rows: int, cols: int, sub_slab: int = 0) -> TileLayout:
    """Return the layout of a `tcgen05.mma` accumulator's rows in tensor memory, for one CTA.

    datapath: A (M = 256, cta_group 2), D (M = 128): row r in lane r. B (M = 128, cta_group 2) and E (M = 64, .ws): 64
        rows, the second half of the columns in lanes 64 … 127. C (sparse) and F (M = 64): 16 rows in each 32 lanes. G
        (M = 32, .ws): 32 rows, a quarter of the columns in each 32 lanes.
    rows, cols: the shape.
    sub_slab: for C and F, 1 for the upper 16 of each 32 lanes.

    PTX ISA, "tcgen05.mma data path layout organization". Raises LayoutError for another number of rows.
    """
    rows, cols = whole("rows", rows), whole("cols", cols)
    if _DATAPATHS.get(datapath) != rows:
        expected = f"has {_DATAPATHS[datapath]} rows, not {rows}" if datapath in _DATAPATHS else "is not one of A to G"
        raise LayoutError(f"the data path {described(datapath)} {expected}")
    if sub_slab not in (0, 1) or (sub_slab and datapath not in "CF"):
        raise LayoutError(f"sub_slab {sub_slab} is not a part of data path {datapath}, which fills all of its lanes")
    folds = {"B": 2, "E": 2, "G": 4}.get(datapath, 1)
    if cols % folds:
        raise LayoutError(f"the data path {datapath} needs a number of columns that {folds} divides, not {cols}")
    if folds > 1:
        return TileLayout(S[(rows, (folds, cols // folds)) : (1 @ TLane, (rows @ TLane, 1 @ TCol))])
    if datapath in "CF":
        spec = S[((4, 16), cols) : ((32 @ TLane, 1 @ TLane), 1 @ TCol)]
        return TileLayout(spec + 16 @ TLane if sub_slab else spec)
    return TileLayout(S[(rows, cols) : (1 @ TLane, 1 @ TCol)])


_DATAPATH_OF = {
    (1, 128, False): "D",
    (1, 64, True): "E",
    (1, 64, False): "F",
    (2, 256, False): "A",
    (2, 128, False): "B",
}
"""The data path by (cta_group, M, .ws) (PTX ISA: "tcgen05.mma data path layout organization")."""


def tmem_mma_operand_layout(
    operand: str,
    shape: Sequence[int],
    dtype: object,
    *,
    M: int,
    cta_group: int,
    ws: bool = False,
    sparse: bool = False,
    group: Sequence[int] | None = None,
) -> TileLayout:
    """Return the layout of a `tcgen05.mma` operand in tensor memory, for one CTA.

    operand: "D" for the accumulator, "A" for a matrix A in tensor memory.
    shape: its extents: (rows, columns); where the data path folds columns also (rows, 2, columns), (2, rows, columns),
        and of an accumulator (rows, segments, 2, columns).
    dtype: not used; TVM has it here.
    M, cta_group, ws, sparse: of the instruction. M counts the rows of both CTAs of a pair.
    group: (segments, 2, columns) for an accumulator (rows, N) whose columns are folded in segments.

    Raises LayoutError where no instruction has such an operand.
    """
    path = _DATAPATH_OF.get((cta_group, M, ws))
    if path is None or sparse or operand not in ("A", "D"):
        raise LayoutError(f"no dense tcgen05.mma has an operand {operand} with M {M}, cta_group {cta_group}, ws={ws}")
    rows, dims = M // cta_group, tuple(shape)
    folded = path in "BE"
    if group is not None:
        if not folded or operand != "D" or len(dims) != 2 or len(group) != 3 or prod(group) != dims[1] or group[1] != 2:
            raise LayoutError(f"group={tuple(group)} does not fold an accumulator of shape {dims} of data path {path}")
        dims = (dims[0], *group)
    if dims == (rows, dims[-1]):
        if operand == "A" and path == "B":  # each half of the lanes has all of A
            return TileLayout(S[dims : (1 @ TLane, 1 @ TCol)] + R[2 : 64 @ TLane])
        if operand == "A" and path == "F":
            return TileLayout(S[dims : (1 @ TLane, 1 @ TCol)])
        if operand == "D" or path in "AD":
            return tmem_datapath_layout(path, rows, dims[1])
    elif folded and dims == (2, rows, dims[-1]):
        return TileLayout(S[dims : (64 @ TLane, 1 @ TLane, 1 @ TCol)])
    elif folded and operand == "D" and dims == (rows, 2, dims[-1]):
        return TileLayout(S[dims : (1 @ TLane, 64 @ TLane, 1 @ TCol)])
    elif folded and operand == "D" and len(dims) == 4 and (dims[0], dims[2]) == (rows, 2):
        segments = TileLayout(S[dims : (1 @ TLane, dims[3] @ TCol, 64 @ TLane, 1 @ TCol)])
        return segments if group is None else segments.reshape((rows, prod(group)))
    raise LayoutError(f"an operand {operand} of data path {path} with {rows} rows has no shape {tuple(shape)}")
