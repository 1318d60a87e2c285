"""Matrix multiplication on the tensor core by tcgen05.mma: ``C[M, N] (+)= A[M, K] @ B[N, K].T``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tirx_mini.ir import BOOL, UINT32, UNROLLED, Bind, Expr, For, If, Stmt, TileCall, const, int_value, seq
from tirx_mini.isa import InstructionDescriptor, issue, mma_depth, mma_format, value_of
from tirx_mini.records import dataclass

from .context import Context
from .matrices import accumulate, mma_operand
from .region import Tile, tiles_of
from .rule import NotMeant, Refusal, Rule
from .tensor_memory import accumulator_address, tmem_address

ROWS = 128
"""Rows of A per CTA; or half as many. M is that of both CTAs of a pair."""
MOST_N = 256
RESULTS = {"f16": "float32", "tf32": "float32", "f8f6f4": "float32", "i8": "int32"}
"""The dtype of the accumulator for each kind of MMA; an element occupies one column of tensor memory."""
_PATHS = {(1, 128): "D", (1, 64): "F", (2, 256): "A", (2, 128): "B", (0, 128): "D", (0, 64): "E", (0, 32): "G"}
"""The data path of the accumulator, by cta_group (0 for .ws) and M (PTX ISA: "tcgen05.mma data path layout
organization").
"""
DESCRIPTORS = ("hoist", "local_hoist", "recompute", "encode")
"""Values of `smem_desc`."""


@dataclass(frozen=True)
class Left:
    """Matrix A. bind: a statement before the loop; at: the instruction operand for the part at column `k`."""

    name: str
    bind: Bind | None
    at: Callable[[Context, Expr], Expr]


class Tcgen05Mma(Rule):
    """Issues a tcgen05.mma for every 32 bytes of K from one thread; cta_group=2 acts for a pair of CTAs."""

    name = "tcgen05"
    ops = ("gemm_async",)
    doc = "tcgen05.mma, B and mostly A in shared memory, accumulator in tensor memory, issued by one thread"

    def emit(self, call: TileCall, ctx: Context) -> Stmt:
        c, a, b, *scales = tiles_of(call)
        if scales:
            raise NotMeant("the call has scale factors SFA and SFB")
        check_place(call, ctx, c, a, b)
        product = _product(call, c, a, b)
        group: Any = call.option("cta_group", 1)
        left = _left(call, ctx, a)
        right = mma_operand(ctx, b, transposed=bool(call.option("transB", False)))
        columns = c.extents[1]
        stationary = bool(call.option("weight_stationary", False))
        address = accumulator_address(ctx, c, _PATHS[0 if stationary else group, product.m])
        modifiers = {} if stationary else {"cta_group": group}
        steps = a.extents[0 if call.option("transA", False) else 1] // product.depth
        var, inside = ctx.loop_var(steps, "step")
        step: Expr = var if steps > 1 else const(0)
        mmas = [
            issue(
                left.name,
                address + first if first else address,
                left.at(inside, step * product.depth),
                right.at(inside, step * product.depth, first // group),
                const(product.encode(_kind(a)), UINT32),
                accumulate(call, step),
                kind=_kind(a),
                span=ctx.span,
                **modifiers,
            )
            for first in range(0, columns, product.n)
        ]
        body = seq(*mmas, span=ctx.span)
        loop: Stmt = body if steps == 1 else For(var, const(0), const(steps), body, kind=UNROLLED, span=ctx.span)
        return seq(left.bind, right.bind, by_one_thread(ctx, loop), span=ctx.span)


def _left(call: TileCall, ctx: Context, a: Tile) -> Left:
    """Return matrix A in shared or tensor memory."""
    if a.scope == "tmem":
        if call.option("transA", False):
            raise Refusal("A is in tensor memory, where K runs along the columns", "remove transA")
        address, packed = tmem_address(ctx, a, ROWS, a.extents[1]), 32 // a.dtype.bits
        return Left("tcgen05.mma.a_in_tmem", None, lambda inside, k: address + inside.simplify(k // packed))
    operand = mma_operand(ctx, a, transposed=bool(call.option("transA", False)))
    if call.option("weight_stationary", False):
        return Left("tcgen05.mma.ws", operand.bind, operand.at)
    return Left("tcgen05.mma", operand.bind, operand.at)


def by_one_thread(ctx: Context, body: Stmt) -> Stmt:
    """Guard the body for the thread of the call, or for an elected thread of the warp."""
    return If(value_of("elect.sync", BOOL, span=ctx.span), body, span=ctx.span) if ctx.scope == "warp" else body


def check_place(call: TileCall, ctx: Context, c: Tile, a: Tile, b: Tile) -> None:
    split = ctx.split_scope() if ctx.scope == "warp" else None
    if split:
        raise Refusal(split, "all lanes of a warp elect the one that issues it")
    many = None if ctx.scope == "warp" else ctx.not_single_thread()
    if many:
        raise Refusal(
            f"a single thread must issue it, or a warp of which one is elected, but {many}",
            'put it under `with Tx.thread(parent="warp")[Tx.ptx.elect_sync()]:`, in one warp',
        )
    if a.scope not in ("shared", "tmem"):
        raise Refusal(f"A must be in shared or tensor memory, but {a.buffer.name} is in {a.scope} memory")
    if b.scope != "shared":
        raise Refusal(f"B must be in shared memory, but {b.buffer.name} is in {b.scope} memory")
    if c.scope != "tmem":
        raise Refusal(f"C must be in tensor memory, but {c.buffer.name} is in {c.scope} memory")
    if call.option("smem_desc", DESCRIPTORS[0]) not in DESCRIPTORS:
        listed = ", ".join(f'"{name}"' for name in DESCRIPTORS)
        raise Refusal(f"smem_desc must be one of {listed}, not {call.option('smem_desc')!r}")


def _kind(a: Tile) -> str:
    try:
        return mma_format(a.dtype)[0]
    except ValueError as error:
        raise Refusal(str(error)) from None


def _product(call: TileCall, c: Tile, a: Tile, b: Tile) -> InstructionDescriptor:
    """Return the shape and dtypes of one instruction. Raises Refusal for unsupported ones."""
    kind, group = _kind(a), call.option("cta_group", 1)
    if _kind(b) != kind or c.dtype != RESULTS[kind] or (kind == "f16" and a.dtype != b.dtype):
        raise Refusal(
            f"with A in {a.dtype}, B must be {a.dtype} and C {RESULTS[kind]}, but they are {b.dtype} and {c.dtype}"
        )
    if group not in (1, 2):
        raise Refusal(f"cta_group must be 1 or 2, not {group!r}")
    turned_a, turned_b = (bool(call.option(name, False)) for name in ("transA", "transB"))
    if (turned_a or turned_b) and kind == "tf32":
        raise Refusal(
            "32-bit operands that are contiguous along M or N need the 128-byte swizzle of 32-byte atoms, "
            "which layouts here do not have",
            "lay the operand out with K contiguous",
        )
    rows, k = a.extents[:: -1 if turned_a else 1]
    b_rows, depth = b.extents[1 if turned_b else 0], mma_depth(kind)
    if call.option("weight_stationary", False):
        if a.scope != "shared" or group != 1 or rows not in (32, 64, 128) or b_rows not in (64, 128, 256) or k % depth:
            raise Refusal(
                f"with weight_stationary=True, M is 32, 64 or 128, N 64, 128 or 256, K a multiple of {depth}, and A in "
                f"shared memory of one CTA, but M is {rows}, N {b_rows} and K {k}"
            )
        formats = mma_format(a.dtype)[1], mma_format(b.dtype)[1]
        return InstructionDescriptor(
            rows, b_rows, *formats, c.dtype, depth, transpose_a=turned_a, transpose_b=turned_b, ws=True
        )
    if rows not in (ROWS, ROWS // 2) or (rows != ROWS and a.scope == "tmem"):
        raise Refusal(f"A has {rows} rows per CTA, but the tensor core needs {ROWS}", f"use BLK_M = {ROWS}")
    if k % depth:
        raise Refusal(f"K is {k}, but must be a multiple of {depth}, the K of one instruction")
    m, n = instruction_shape(call, rows * group, b_rows, group)
    formats = mma_format(a.dtype)[1], mma_format(b.dtype)[1]
    return InstructionDescriptor(m, n, *formats, c.dtype, depth, transpose_a=turned_a, transpose_b=turned_b)


def instruction_shape(call: TileCall, m: int, b_rows: int, group: int) -> tuple[int, int]:
    """Return the (M, N) of one instruction: the call's choice, else the whole product split where N exceeds 256."""
    whole, step = b_rows * group, 8 if m == ROWS // 2 else 16 * group
    given = [int_value(call.option(name)) for name in ("mma_m", "mma_n") if call.option(name) is not None]
    if len(given) == 1:
        raise Refusal("mma_m and mma_n must be given together")
    if given and given[0] != m:
        raise Refusal(f"mma_m is {given[0]}, but M of the product is {m}, which is also that of an instruction")
    if given:
        n = given[1] or 0
    elif whole <= MOST_N or group == 2:
        n = whole
    else:
        n = next((size for size in range(MOST_N, 0, -step) if whole % size == 0), 0)
    if n % step or not step <= n <= MOST_N:
        raise Refusal(
            f"N is {whole} ({b_rows} rows of B per CTA), but for cta_group={group} "
            f"must be a multiple of {step} up to {MOST_N}"
        )
    if whole % n or (n < whole and group == 2):
        raise Refusal(
            f"mma_n is {n}, but N of the product is {whole}"
            + (", which a pair of CTAs computes by one instruction" if group == 2 else ", which it does not divide")
        )
    return m, n
