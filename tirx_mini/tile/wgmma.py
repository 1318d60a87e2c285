"""Warpgroup matrix multiplication: ``C[M, N] (+)= A[M, K] @ B[N, K].T``, with C in registers."""

from __future__ import annotations

from collections.abc import Callable

from tirx_mini.fragments import STEP_BYTES, WGMMA, TensorProduct, choices, tensor_product
from tirx_mini.ir import UNROLLED, Bind, Expr, For, Stmt, TileCall, const, seq
from tirx_mini.isa import FRAGMENT_REGISTERS, issue
from tirx_mini.layout import LayoutError, wgmma_accumulator_layout
from tirx_mini.records import dataclass

from .context import Context
from .matrices import accumulate, mma_operand
from .region import Tile, tiles_of
from .registers import RegisterTile, in_threads, register_tile
from .rule import NotMeant, Refusal, Rule

ROWS = 64
"""Rows of one instruction."""
THREADS = 128
"""Of a warpgroup."""


class Wgmma(Rule):
    """Issues one wgmma.mma_async for every 64 rows of A and 32 bytes of K.

    The kernel itself must issue the fence before it, the commit and the wait. Until then nothing may access the
    registers of C.
    """

    name = "wgmma"
    ops = ("gemm_async",)
    doc = "wgmma.mma_async, B and mostly A in shared memory, accumulator in a warpgroup's registers"

    def emit(self, call: TileCall, ctx: Context) -> Stmt:
        c, a, b, *scales = tiles_of(call)
        if scales:
            raise NotMeant("the call has scale factors, which the tensor core of Hopper does not have")
        turned = [bool(call.option(name, False)) for name in ("transA", "transB")]
        product, rows, n, k = _check_place(call, ctx, c, a, b)
        registers = _accumulators(ctx, c)
        left, right = _left(ctx, a, turned[0]), mma_operand(ctx, b, "wgmma", turned[1])
        transposed = {name: True for name, on in zip(("transpose_a", "transpose_b"), turned, strict=True) if on}
        depth = product.depth
        var, inside = ctx.loop_var(k // depth, "step")
        step: Expr = var if k > depth else const(0)
        name = f"{left.name}.f16" if product.sums == "float16" else left.name
        blocks = [
            issue(
                name,
                registers.pointer(block * n // 2),
                left.at(inside, step * depth, block * ROWS),
                right.at(inside, step * depth),
                accumulate(call, step),
                n=n,
                dtype=product.ptx,
                **transposed,
                span=ctx.span,
            )
            for block in range(rows // ROWS)
        ]
        mma = seq(*blocks, span=ctx.span)
        loop = mma if k == depth else For(var, const(0), const(k // depth), mma, kind=UNROLLED, span=ctx.span)
        return seq(left.bind, right.bind, loop, span=ctx.span)


@dataclass(frozen=True)
class Left:
    """Matrix A. bind: a statement before the loop; at: the instruction operand for column `k` and a block of 64 rows.
    """

    name: str
    bind: Bind | None
    at: Callable[[Context, Expr, int], Expr]


def _left(ctx: Context, a: Tile, turned: bool) -> Left:
    """Return matrix A in shared memory, or in registers with the accumulator's element order."""
    if a.scope != "local":
        operand = mma_operand(ctx, a, "wgmma", turned)
        return Left("wgmma.mma_async", operand.bind, operand.at)
    if turned:
        raise Refusal("A is in registers, where each thread holds parts of rows", "remove transA")
    if a.dtype.bits != 16:
        raise Refusal(
            f"A is in registers, where elements must have 16 bits here, not {a.dtype}", "store it to shared memory"
        )
    rows, k = a.extents
    fragments = _fragments(ctx, a, rows, k)
    elements = FRAGMENT_REGISTERS * 32 // a.dtype.bits

    def at(inside: Context, start: Expr, row: int) -> Expr:
        part = inside.simplify(start // (STEP_BYTES // a.dtype.itemsize) * elements)
        return fragments.pointer(part + row // ROWS * (k * ROWS // THREADS))

    return Left("wgmma.mma_async.rs", None, at)


def _check_place(call: TileCall, ctx: Context, c: Tile, a: Tile, b: Tile) -> tuple[TensorProduct, int, int, int]:
    """Return the product with its M, N and K.

    Raises Refusal for scopes, memories, shapes and dtypes that wgmma does not support.
    """
    if c.scope == "tmem":
        raise NotMeant("C is in tensor memory, but wgmma accumulates in registers")
    if ctx.scope != "warpgroup":
        raise Refusal(
            f"all four warps of a warpgroup must issue it, but the call is in {ctx.scope} scope",
            "call it in `with Tx.warpgroup():`",
        )
    split = ctx.split_scope()
    if split:
        raise Refusal(split, "all four warps of the warpgroup must issue it")
    if a.scope not in ("shared", "local"):
        raise Refusal(f"A must be in shared memory or in registers, but {a.buffer.name} is in {a.scope} memory")
    if b.scope != "shared":
        raise Refusal(f"B must be in shared memory, but {b.buffer.name} is in {b.scope} memory")
    if c.scope != "local":
        raise Refusal(f"C must be in registers, but {c.buffer.name} is in {c.scope} memory")
    product = tensor_product(WGMMA, a.dtype, c.dtype)
    if product is None or b.dtype != a.dtype:
        raise Refusal(
            f"wgmma multiplies two operands of one dtype: {choices(WGMMA)}, not {a.dtype} × {b.dtype} into {c.dtype}"
        )
    if a.dtype.bits != 16 and (call.option("transA", False) or call.option("transB", False)):
        raise Refusal(
            f"operands of {a.dtype} must be contiguous along K; only those of 16 bits may be contiguous along M or N",
            "lay the operand out with K contiguous",
        )
    if call.option("cta_group", 1) != 1:
        raise Refusal("wgmma involves a single CTA", "remove cta_group")
    rows, k = a.extents[:: -1 if call.option("transA", False) else 1]
    n = b.extents[1 if call.option("transB", False) else 0]
    if rows % ROWS:
        raise Refusal(f"A has {rows} rows, but the tensor core needs a multiple of {ROWS}")
    if n % 8 or n > 256:
        raise Refusal(f"N is {n}, but must be a multiple of 8 up to 256")
    if a.dtype.is_integer and n > 24 and n % 16:
        raise Refusal(f"N is {n}; for integers, an N above 24 must be a multiple of 16")
    if k % product.depth:
        raise Refusal(f"K is {k}, but must be a multiple of {product.depth}, the K of one instruction")
    return product, rows, n, k


def _accumulators(ctx: Context, c: Tile) -> RegisterTile:
    """Return the registers of C. Raises Refusal without wgmma's accumulator layout."""
    rows, n = c.extents
    return _fragments(ctx, c, rows, n)


def _fragments(ctx: Context, c: Tile, rows: int, n: int) -> RegisterTile:
    """Return the registers of a tile in accumulator layout. Raises Refusal for any other layout."""
    hint = f"view {c.buffer.root.name} with layout=wgmma_accumulator_layout({n}{f', {rows}' if rows > ROWS else ''})"
    if not c.has_thread_axes:
        raise Refusal(f"{c.buffer.name} belongs to one thread and is not a tile of the warpgroup", hint)
    registers = register_tile(ctx, c)
    if registers.layout != fragment(n, rows):
        raise Refusal(f"{c.buffer.name} does not have the layout of wgmma's accumulators", hint)
    return registers


def fragment(n: int, rows: int) -> object:
    """Return the layout of a rows × n accumulator over a warpgroup's threads, or None if unsupported."""
    try:
        return in_threads(wgmma_accumulator_layout(n, rows)).reshape((rows, n))
    except LayoutError:
        return None
