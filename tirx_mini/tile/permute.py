"""The permute_layout rule: move a shared-memory tile to another layout, possibly in place.

All threads of the scope read their elements into registers, meet, and write them. All reads complete before the first
write, so that both tiles may lie in the same memory.
"""

from __future__ import annotations

import math

from tirx_mini.ir import AllocBuffer, Buffer, BufferLoad, BufferStore, Expr, Stmt, TileCall, seq
from tirx_mini.isa import issue

from .access import load, store
from .context import Context
from .partition import linear, memory_lanes
from .region import tiles_of
from .rule import Refusal, Rule

MOST_REGISTERS = 128
"""32-bit registers of each thread that may hold elements; a thread has at most 255 (CUDA C++ Programming Guide)."""


class PermuteLayout(Rule):
    name = "registers"
    aliases = ("warp_xor_swizzle",)
    ops = ("permute_layout",)
    doc = "through the registers of a warp or a CTA"

    def emit(self, call: TileCall, ctx: Context) -> Stmt:
        dst, src = tiles_of(call)
        for tile in (dst, src):
            if tile.scope != "shared":
                raise Refusal(f"{tile.buffer.name} is in {tile.scope} memory, but both tiles must be in shared memory")
        if ctx.scope not in ("warp", "cta", "thread"):
            raise Refusal(
                f"the threads meet between reading and writing, and a {ctx.scope} has no barrier of its own",
                "call it in warp or CTA scope",
            )
        split = ctx.split_scope()
        if split:
            raise Refusal(split)
        lanes = math.gcd(memory_lanes(ctx, dst), memory_lanes(ctx, src))
        part = linear(ctx, dst.extents, lanes)
        words = part.steps * lanes * dst.dtype.itemsize / 4
        if words > MOST_REGISTERS:
            raise Refusal(
                f"each of {ctx.threads} threads would hold {words:.0f} registers of {dst.describe()}; "
                f"at most {MOST_REGISTERS} are used",
                "permute it in parts, or in a scope with more threads",
            )
        held = Buffer(f"{dst.buffer.name}_held", (part.steps * lanes,), dst.dtype, "local", span=ctx.span)

        def number(step: Expr, lane: int) -> tuple[Expr, ...]:
            return (step * lanes + lane,)

        def read(inside: Context, step: Expr, at: tuple[Expr, ...]) -> Stmt:
            return seq(*(
                BufferStore(held, number(step, i), load(inside, src, (*at[:-1], at[-1] + i), 1)) for i in range(lanes)
            ))  # fmt: skip

        def write(inside: Context, step: Expr, at: tuple[Expr, ...]) -> Stmt:
            return seq(*(
                store(inside, dst, (*at[:-1], at[-1] + i), 1, BufferLoad(held.dtype, held, number(step, i)))
                for i in range(lanes)
            ))  # fmt: skip

        meet = {"warp": "bar.warp.sync", "cta": "bar.sync.all"}.get(ctx.scope)
        barrier = None if meet is None else issue(meet, *((0,) if ctx.scope == "cta" else ()), span=ctx.span)
        fenced = ctx.fences and ctx.scope != "thread"
        fence = issue("fence.proxy.async", space="shared::cta", span=ctx.span) if fenced else None
        return seq(
            AllocBuffer(held, span=ctx.span), part.loop(ctx, read), barrier, part.loop(ctx, write), fence, barrier,
            span=ctx.span,
        )  # fmt: skip
