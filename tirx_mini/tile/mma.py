"""Matrix multiplication on the tensor core: ``C[M, N] (+)= A[M, K] @ B[N, K].T``."""

from __future__ import annotations

from tirx_mini.ir import (
    UINT32,
    UINT64,
    UNROLLED,
    Bind,
    Const,
    Expr,
    For,
    Stmt,
    TileCall,
    Var,
    as_bool,
    as_expr,
    binary,
    cast,
    const,
    seq,
)  # fmt: skip
from tirx_mini.layout import DescriptorParams, LayoutError, mma_descriptor_params

from .context import Context
from .descriptors import A_TYPES, D_TYPES, instruction_descriptor, shared_descriptor
from .issue import issue
from .region import Tile, coordinate
from .rule import Refusal, Rule
from .tensor_memory import tmem_address

K_BYTES = 32
"""Depth of one tcgen05.mma: 16 elements of 16 bits (PTX ISA, "Matrix shape")."""


class Tcgen05Mma(Rule):
    """One thread issues a tcgen05.mma for every 32 bytes of K; with cta_group=2, on behalf of a pair of CTAs."""

    name = "tcgen05"
    ops = ("gemm_async",)
    doc = "tcgen05.mma, operands in shared memory, accumulator in tensor memory, issued by one thread"

    def emit(self, call: TileCall, ctx: Context) -> Stmt:
        c, a, b = (Tile(operand) for operand in call.operands)  # type: ignore[arg-type]
        group = call.option("cta_group", 1)
        _check_place(ctx, c, a, b)
        rows, n, k = _check_shape(c, a, b, group)
        address = tmem_address(ctx, c, rows, n)
        a_params, b_params = _params(ctx, a), _params(ctx, b)
        a_desc, b_desc = Var(UINT64, f"{a.buffer.name}_desc"), Var(UINT64, f"{b.buffer.name}_desc")
        idesc = const(instruction_descriptor(a.dtype, b.dtype, c.dtype, rows * group, n), UINT32)
        steps = k * a.dtype.itemsize // K_BYTES
        var, inside = ctx.loop_var(steps, "step")
        step: Expr = var if steps > 1 else const(0)
        k_elements = K_BYTES // a.dtype.itemsize
        mma = issue(
            "tcgen05.mma",
            address,
            a_desc + _advance(inside, a_params, step * k_elements),
            b_desc + _advance(inside, b_params, step * k_elements),
            idesc,
            _accumulate(call, step),
            cta_group=group,
            kind="f16",
            span=ctx.span,
        )
        loop = mma if steps == 1 else For(var, const(0), const(steps), mma, kind=UNROLLED, span=ctx.span)
        return seq(
            Bind(a_desc, _descriptor(ctx, a, a_params), span=ctx.span),
            Bind(b_desc, _descriptor(ctx, b, b_params), span=ctx.span),
            loop,
            span=ctx.span,
        )


def _check_place(ctx: Context, c: Tile, a: Tile, b: Tile) -> None:
    many = ctx.not_single_thread()
    if many:
        raise Refusal(
            f"one thread issues it for all, but {many}",
            'put it under `with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:`, in one warp',
        )
    for tile, role in ((a, "A"), (b, "B")):
        if tile.scope != "shared":
            raise Refusal(f"{role} is read from shared memory, and {tile.buffer.name} is in {tile.scope} memory")
    if c.scope != "tmem":
        raise Refusal(f"C is accumulated in tensor memory, and {c.buffer.name} is in {c.scope} memory")


def _check_shape(c: Tile, a: Tile, b: Tile, group: int) -> tuple[int, int, int]:
    """Rows of this CTA, N of the instruction, and K. The instruction's M is rows * group."""
    if a.dtype not in A_TYPES or a.dtype != b.dtype or c.dtype not in D_TYPES:
        raise Refusal(f"it multiplies float16 or bfloat16 into float32, not {a.dtype} × {b.dtype} into {c.dtype}")
    if group not in (1, 2):
        raise Refusal(f"cta_group is 1 or 2, not {group!r}")
    (rows, k), (b_rows, _) = a.extents, b.extents
    n, step = b_rows * group, 16 * group
    if rows != 128:
        raise Refusal(f"A has {rows} rows in each CTA, and the tensor core takes 128", "choose BLK_M = 128")
    if n % step or not step <= n <= 256:
        raise Refusal(
            f"N is {n} ({b_rows} rows of B a CTA), and with cta_group={group} it is a multiple of {step} up to 256"
        )
    if k * a.dtype.itemsize % K_BYTES:
        raise Refusal(f"K is {k}, and has to be a multiple of the {K_BYTES // a.dtype.itemsize} of one instruction")
    return rows, n, k


def _params(ctx: Context, tile: Tile) -> DescriptorParams:
    try:
        starts = [coordinate(start) for start in tile.starts]
        return mma_descriptor_params(tile.layout, tile.dtype, starts, tile.region.extents, ctx.divisor)
    except LayoutError as error:
        raise Refusal(
            f"no matrix descriptor can describe this slice of {tile.buffer.name}: {error}",
            "allocate it with layout=tma_shared_layout(dtype, SwizzleMode.SWIZZLE_128B_ATOM, shape)",
        ) from None


def _descriptor(ctx: Context, tile: Tile, params: DescriptorParams) -> Expr:
    first = as_expr(params.byte_offset(0))
    return shared_descriptor(tile.buffer, ctx.simplify(first // tile.dtype.itemsize), params)


def _advance(ctx: Context, params: DescriptorParams, k: Expr) -> Expr:
    """What to add to the descriptor to begin `k` elements further along K: the bytes between, >> 4."""
    between = as_expr(params.byte_offset(coordinate(k))) - as_expr(params.byte_offset(0))
    return cast(UINT64, ctx.simplify(between // 16))


def _accumulate(call: TileCall, step: Expr) -> Expr:
    """Whether the instruction adds to the accumulator: the first as the call says, the others always."""
    accum = as_bool(call.option("accum", False))
    if isinstance(accum, Const):
        return accum if accum.value else binary("!=", step, 0)
    return binary("or", accum, binary("!=", step, 0))
