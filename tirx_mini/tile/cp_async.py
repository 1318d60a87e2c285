"""The copy_async rule for cp.async: each thread copies its own vectors, bypassing registers."""

from __future__ import annotations

import math

from tirx_mini.ir import HANDLE, AddressOf, Expr, Stmt, TileCall
from tirx_mini.isa import issue

from .context import Context
from .partition import linear, memory_lanes
from .region import Tile, tiles_of
from .rule import NotMeant, Refusal, Rule

SIZES = (4, 8, 16)
"""The sizes of one cp.async in bytes (PTX ISA, "cp.async")."""


class CpAsync(Rule):
    """Copies global to shared memory, completing after cp.async.wait_group in each issuing thread and a barrier."""

    name = "cp_async"
    aliases = ("ldgsts",)
    ops = ("copy_async",)
    doc = "16-byte cp.async by every thread of the scope, global to shared memory"

    def emit(self, call: TileCall, ctx: Context) -> Stmt:
        dst, src = tiles_of(call)
        if (dst.scope, src.scope) != ("shared", "global"):
            raise NotMeant(f"the copy is from {src.scope} to {dst.scope}, not from global to shared memory")
        if call.option("mbar") is not None:
            raise Refusal(
                "cp.async completes through a group of the issuing thread and takes no mbar",
                "remove mbar=, and follow the copy with Tx.ptx.cp_async.commit_group(), wait_group(n) and a barrier",
            )
        split = ctx.split_scope()
        if split:
            raise Refusal(split)
        lanes = math.gcd(memory_lanes(ctx, dst), memory_lanes(ctx, src))
        size = lanes * dst.dtype.itemsize
        if size not in SIZES:
            raise Refusal(f"only {size} bytes are contiguous and aligned on both sides, but cp.async moves 4, 8 or 16")

        def body(inside: Context, _: Expr, at: tuple[Expr, ...]) -> Stmt:
            def pointer(tile: Tile) -> Expr:
                return AddressOf(HANDLE, tile.buffer, tuple(inside.simplify(i) for i in tile.index(at)), span=ctx.span)

            return issue("cp.async", pointer(dst), pointer(src), bytes=size, span=ctx.span)

        return linear(ctx, dst.extents, lanes).loop(ctx, body, parallel=False)
