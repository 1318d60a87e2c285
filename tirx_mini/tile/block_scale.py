"""Matrix multiplication with block scaling: ``C[M, N] (+)= (A * SFA) @ (B * SFB).T``."""

from __future__ import annotations

from math import gcd
from typing import Any

import numpy as np

from tirx_mini.ir import UINT32, Expr, Stmt, TileCall, as_expr, cast, const, int_value, seq
from tirx_mini.isa import SCALED_KINDS, InstructionDescriptor, issue, mma_depth, scaled_format
from tirx_mini.layout import LayoutError, TCol, TileLayout, TLane, sf_tmem_layout, slice_region

from .context import Context
from .matrices import accumulate, mma_operand
from .region import Tile, coordinate, tiles_of
from .rule import NotMeant, Refusal, Rule
from .tcgen05 import ROWS, by_one_thread, check_place, instruction_shape
from .tensor_memory import tmem_address

PER_COLUMN = 4
"""Scale factors in a column of tensor memory."""
LANES = 32


class Tcgen05BlockScaled(Rule):
    """Issues a tcgen05.mma.block_scale for every 32 bytes of K, from one thread.

    The scale factors are in tensor memory, where tcgen05.cp has put them.
    """

    name = "tcgen05"
    ops = ("gemm_async",)
    doc = "tcgen05.mma.block_scale, with scale factors SFA and SFB in tensor memory"

    def emit(self, call: TileCall, ctx: Context) -> Stmt:
        c, a, b, *scales = tiles_of(call)
        if not scales:
            raise NotMeant("the call has no scale factors SFA and SFB")
        sfa, sfb = scales
        check_place(call, ctx, c, a, b)
        if a.scope != "shared":
            raise Refusal(f"A of a product with block scaling must be in shared memory, not in {a.scope} memory")
        kind, vec = _kind(a, b, sfa, sfb)
        group: Any = call.option("cta_group", 1)
        turned = [bool(call.option(name, False)) for name in ("transA", "transB")]
        if any(turned) and a.dtype.bits < 8:
            raise Refusal("operands of 4 bits cannot be contiguous along M or N", "lay them out with K contiguous")
        (rows, k), (b_rows, _) = a.extents[:: -1 if turned[0] else 1], b.extents[:: -1 if turned[1] else 1]
        depth = mma_depth(kind)
        if rows != ROWS or k % depth or c.dtype != "float32":
            raise Refusal(
                f"A is {rows} × {k} and C {c.dtype}, but {kind} takes {ROWS} rows per CTA, a multiple of {depth} along "
                "K, and C in float32"
            )
        m, n = instruction_shape(call, rows * group, b_rows, group)
        if n != b_rows * group:
            raise Refusal(f"N is {b_rows * group}, but with block scaling one instruction computes all of N")
        of_a = _factors(ctx, sfa, rows, k // depth * vec, vec)
        of_b = _factors(ctx, sfb, n, k // depth * vec, vec)
        address = tmem_address(ctx, c, ROWS, n)
        left, right = mma_operand(ctx, a, transposed=turned[0]), mma_operand(ctx, b, transposed=turned[1])
        format_a, format_b = scaled_format(kind, a.dtype), scaled_format(kind, b.dtype)
        assert format_a is not None and format_b is not None
        mmas: list[Stmt] = []
        for step, ((at_a, byte_a), (at_b, byte_b)) in enumerate(zip(of_a, of_b, strict=True)):
            shape = InstructionDescriptor(
                m, n, format_a, format_b, "float32", depth, transpose_a=turned[0], transpose_b=turned[1],
                scale=str(sfa.dtype), sfa_id=int_value(byte_a) or 0, sfb_id=int_value(byte_b) or 0,
            )  # fmt: skip
            word = const(shape.encode(kind), UINT32)
            for byte, bit in ((byte_a, 29), (byte_b, 4)):  # PTX ISA: "Instruction descriptor", with block scaling
                if int_value(byte) is None:
                    word = word | (cast(UINT32, byte) << bit)
            mmas.append(issue(
                "tcgen05.mma.block_scale", address, left.at(ctx, const(step * depth)),
                right.at(ctx, const(step * depth)), word, at_a, at_b,
                accumulate(call, const(step)), cta_group=group, kind=kind, scale_vec=vec, span=ctx.span,
            ))  # fmt: skip
        return seq(left.bind, right.bind, by_one_thread(ctx, seq(*mmas, span=ctx.span)), span=ctx.span)


def _rows(tile: Tile) -> int:
    """Return the rows of the scale-factor buffer, which determine its column stride."""
    return tile.buffer.shape[-2]


def _kind(a: Tile, b: Tile, sfa: Tile, sfb: Tile) -> tuple[str, int]:
    """Return the MMA kind and the factors per row and instruction. Raises Refusal for unsupported dtypes."""
    if sfa.dtype == sfb.dtype:
        for kind, scales in SCALED_KINDS.items():
            if scaled_format(kind, a.dtype) and scaled_format(kind, b.dtype) and str(sfa.dtype) in scales:
                return kind, scales[str(sfa.dtype)][-1]
    raise Refusal(
        f"no kind of MMA has A in {a.dtype} and B in {b.dtype} with scale factors in {sfa.dtype} and {sfb.dtype}",
        "A and B are float8_e4m3fn or float8_e5m2 with factors in float8_e8m0fnu, or float4_e2m1fn with factors in "
        "float8_e8m0fnu or float8_e4m3fn",
    )


def _factors(ctx: Context, tile: Tile, rows: int, factors: int, vec: int) -> list[tuple[Expr, Expr]]:
    """Return, for each MMA along K, the address of its scale factors and the byte within the column.

    MMAs may share factors. Raises Refusal for another place, shape or layout.
    """
    name = tile.buffer.name
    if tile.scope != "tmem" or tile.buffer.allocated_addr is None:
        raise Refusal(f"the scale factors {name} must be in tensor memory, at an address from tcgen05.alloc")
    extents = tile.region.extents[-2:]
    if extents[-1] != factors or extents[0] < rows or extents[0] != _rows(tile):
        raise Refusal(
            f"{name} is {' × '.join(map(str, extents))}, but the product needs {rows} × {factors} scale factors, and "
            "all rows of the buffer"
        )
    try:
        whole = slice_region(tile.layout, [coordinate(s) for s in tile.starts], tile.region.extents, ctx.divisor)
        firsts = _first_places(whole.layout.linear.reshape((extents[0], factors)), extents[0], factors, vec)
    except LayoutError as error:
        raise Refusal(f"the scale factors {name} have no layout of the tensor core: {error}") from None
    if firsts is None:
        raise Refusal(
            f"the layout of {name} is not that of scale factors",
            f"allocate it with TMEMPool.alloc_sf, or with layout=sf_tmem_layout({extents[0]}, {factors}, {vec})",
        )
    start = as_expr(whole.base.get(TCol, 0))
    known = gcd(ctx.divisor(coordinate(start)), PER_COLUMN)
    if int_value(ctx.simplify(as_expr(whole.base.get(TLane, 0)))) != 0 or known % vec or any(f % vec for f in firsts):
        raise Refusal(f"the slice of {name} does not begin at lane 0 and at the factors of one MMA")
    places = []
    for first in firsts:
        element = ctx.simplify(start + first)
        byte = const(first % PER_COLUMN) if known == PER_COLUMN else ctx.simplify(element % PER_COLUMN)
        column = cast(UINT32, ctx.simplify(element // PER_COLUMN))
        places.append((cast(UINT32, tile.buffer.allocated_addr) + column, byte))
    return places


def _first_places(layout: TileLayout, rows: int, factors: int, vec: int) -> list[int] | None:
    """Return the first byte of each MMA's factors in a row, or None for a layout of other data.

    The `vec` factors of an MMA lie side by side, those of row r in lane r % 32 and in column r // 32.
    """
    row, factor = np.meshgrid(np.arange(rows), np.arange(factors), indexing="ij")
    found = layout.apply(row, factor)
    lanes, columns = (np.asarray(found.get(axis, 0)) + 0 * row for axis in (TLane, TCol))
    firsts = columns[0, ::vec]
    wanted = row // LANES * PER_COLUMN + np.repeat(firsts, vec) + factor % vec
    same = np.array_equal(lanes, row % LANES) and np.array_equal(columns, wanted)
    return firsts.tolist() if same and layout.spec.replica == sf_tmem_layout(LANES, 4, 4).spec.replica else None
