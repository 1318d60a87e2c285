"""Matrix multiplication on the tensor core: ``C[M, N] (+)= A[M, K] @ B[N, K].T``."""

from __future__ import annotations

from tirx_mini.ir import UINT32, UNROLLED, Expr, For, Stmt, TileCall, const, seq
from tirx_mini.isa import InstructionDescriptor, mma_depth, mma_format

from .context import Context
from .issue import issue
from .matrices import accumulate, mma_operand
from .region import Tile, tiles_of
from .rule import Refusal, Rule
from .tensor_memory import tmem_address

ROWS = 128
"""Rows of A per CTA. M is 128, or 256 for a pair of CTAs."""
RESULTS = {"f16": "float32", "tf32": "float32", "f8f6f4": "float32", "i8": "int32"}
"""The dtype of the accumulator for each kind of MMA; an element occupies one column of tensor memory."""


class Tcgen05Mma(Rule):
    """One thread issues a tcgen05.mma for every 32 bytes of K; with cta_group=2, on behalf of a pair of CTAs."""

    name = "tcgen05"
    ops = ("gemm_async",)
    doc = "tcgen05.mma, operands in shared memory, accumulator in tensor memory, issued by one thread"

    def emit(self, call: TileCall, ctx: Context) -> Stmt:
        c, a, b = tiles_of(call)
        _check_place(ctx, c, a, b)
        product = _product(c, a, b, call.option("cta_group", 1))
        address = tmem_address(ctx, c, ROWS, product.n)
        left, right = mma_operand(ctx, a), mma_operand(ctx, b)
        steps = a.extents[1] // product.depth
        var, inside = ctx.loop_var(steps, "step")
        step: Expr = var if steps > 1 else const(0)
        mma = issue(
            "tcgen05.mma",
            address,
            left.at(inside, step * product.depth),
            right.at(inside, step * product.depth),
            const(product.encode(_kind(a)), UINT32),
            accumulate(call, step),
            cta_group=call.option("cta_group", 1),
            kind=_kind(a),
            span=ctx.span,
        )
        return seq(
            left.bind,
            right.bind,
            mma if steps == 1 else For(var, const(0), const(steps), mma, kind=UNROLLED, span=ctx.span),
            span=ctx.span,
        )


def _check_place(ctx: Context, c: Tile, a: Tile, b: Tile) -> None:
    many = ctx.not_single_thread()
    if many:
        raise Refusal(
            f"a single thread must issue it, but {many}",
            'put it under `with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:`, in one warp',
        )
    for tile, role in ((a, "A"), (b, "B")):
        if tile.scope != "shared":
            raise Refusal(f"{role} must be in shared memory, but {tile.buffer.name} is in {tile.scope} memory")
    if c.scope != "tmem":
        raise Refusal(f"C must be in tensor memory, but {c.buffer.name} is in {c.scope} memory")


def _kind(a: Tile) -> str:
    try:
        return mma_format(a.dtype)[0]
    except ValueError as error:
        raise Refusal(str(error)) from None


def _product(c: Tile, a: Tile, b: Tile, group: int) -> InstructionDescriptor:
    """The shape and dtypes of one instruction. Raises Refusal for those that the tensor core does not support."""
    kind = _kind(a)
    if _kind(b) != kind or c.dtype != RESULTS[kind] or (kind == "f16" and a.dtype != b.dtype):
        raise Refusal(
            f"with A in {a.dtype}, B must be {a.dtype} and C {RESULTS[kind]}, but they are {b.dtype} and {c.dtype}"
        )
    if group not in (1, 2):
        raise Refusal(f"cta_group must be 1 or 2, not {group!r}")
    (rows, k), (b_rows, _) = a.extents, b.extents
    n, step, depth = b_rows * group, 16 * group, mma_depth(kind)
    if rows != ROWS:
        raise Refusal(f"A has {rows} rows per CTA, but the tensor core needs {ROWS}", f"use BLK_M = {ROWS}")
    if n % step or not step <= n <= 256:
        raise Refusal(
            f"N is {n} ({b_rows} rows of B per CTA), but for cta_group={group} must be a multiple of {step} up to 256"
        )
    if k % depth:
        raise Refusal(f"K is {k}, but must be a multiple of {depth}, the K of one instruction")
    return InstructionDescriptor(rows * group, n, mma_format(a.dtype)[1], mma_format(b.dtype)[1], c.dtype, depth)
