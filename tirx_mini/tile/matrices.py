"""Tensor-core operands: matrices in shared memory, and the descriptors of their address and layout."""

from __future__ import annotations

from tirx_mini.ir import (
    HANDLE,
    UINT32,
    UINT64,
    AddressOf,
    Bind,
    Const,
    Expr,
    TileCall,
    Var,
    as_bool,
    as_expr,
    binary,
    cast,
    const,
)
from tirx_mini.isa import SmemDescriptor
from tirx_mini.layout import DescriptorParams, LayoutError, SwizzleMode, mma_descriptor_params
from tirx_mini.records import dataclass

from .context import Context
from .region import Tile, coordinate, offsets
from .rule import Refusal


@dataclass(frozen=True)
class MmaOperand:
    """An operand in shared memory.

    bind: the statement that binds the descriptor of its first element to `var`.
    """

    params: DescriptorParams
    var: Var
    bind: Bind

    @property
    def mn_major(self) -> bool:
        """Return whether M or N is contiguous, as encoded in the instruction descriptor."""
        return self.params.mn_major

    def at(self, ctx: Context, k: Expr, row: int = 0) -> Expr:
        """Return the descriptor of the part at column `k` and row `row`, which must be a multiple of 8.

        The byte offset to that part, >> 4, is added to the descriptor of the first element.
        """
        between = as_expr(self.params.byte_offset(coordinate(k), row)) - as_expr(self.params.byte_offset(0))
        return self.var + cast(UINT64, ctx.simplify(between // 16))


def mma_operand(ctx: Context, tile: Tile, kind: str = "tcgen05", transposed: bool = False) -> MmaOperand:
    """Return `tile` as an operand with a descriptor of `kind` ("tcgen05" or "wgmma"). Raises Refusal if there is none.

    transposed: whether the tile is K × rows, contiguous along its rows, and not rows × K.
    """
    params = _params(ctx, tile, transposed)
    var = Var(UINT64, f"{tile.buffer.name}_desc")
    return MmaOperand(params, var, Bind(var, _descriptor(ctx, tile, params, kind), span=ctx.span))


def _params(ctx: Context, tile: Tile, transposed: bool) -> DescriptorParams:
    try:
        starts = [coordinate(start) for start in tile.starts]
        return mma_descriptor_params(tile.layout, tile.dtype, starts, tile.region.extents, ctx.divisor, transposed)
    except LayoutError as error:
        raise Refusal(
            f"no matrix descriptor can describe this slice of {tile.buffer.name}: {error}",
            "allocate it with layout=tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, shape)",
        ) from None


def _descriptor(ctx: Context, tile: Tile, params: DescriptorParams, kind: str) -> Expr:
    """Return the 64-bit descriptor of an operand's address and layout."""
    swizzle = 0 if params.mode is SwizzleMode.SWIZZLE_NONE else params.mode.span_bytes
    rest = SmemDescriptor(0, params.leading_byte_offset, params.stride_byte_offset, swizzle).encode(kind)
    first = as_expr(params.byte_offset(0))
    if tile.dtype.itemsize:
        address = cast(UINT32, AddressOf(HANDLE, tile.buffer, (ctx.simplify(first // tile.dtype.itemsize),)))
    else:  # no element of 4 bits has an address
        address = _start_of(tile) + cast(UINT32, ctx.simplify(first))
    return ((cast(UINT64, address) >> 4) & 0x3FFF) | const(rest, UINT64)


def _start_of(tile: Tile) -> Expr:
    """Return the address of a buffer of 4-bit elements. Raises Refusal if its root is not made of bytes."""
    root = tile.buffer.root
    if not root.dtype.itemsize:
        raise Refusal(
            f"{tile.buffer.name} is not a view of bytes",
            f'allocate it in a pool, or as uint8 with buf.view(…, dtype="{tile.dtype}", layout=…)',
        )
    return cast(UINT32, AddressOf(HANDLE, root, tuple(const(0) for _ in root.shape))) + sum(offsets(tile))


def accumulate(call: TileCall, step: Expr) -> Expr:
    """Return the accumulate flag of a step: the call's option for the first step, and true for all others."""
    accum = as_bool(call.option("accum", False))
    if isinstance(accum, Const):
        return accum if accum.value else binary("!=", step, 0)
    return binary("or", accum, binary("!=", step, 0))
