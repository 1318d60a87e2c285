"""The copy_async rule for the shared memory of another CTA of the cluster, by cp.async.bulk.

The copy completes on an mbarrier of the receiving CTA, to which `remote_cta_id` maps the destination and `mbar`.
"""

from __future__ import annotations

import math
from typing import Any

from tirx_mini.ir import HANDLE, INT32, UINT32, UNROLLED, AddressOf, Expr, For, Stmt, TileCall, as_expr, const, seq
from tirx_mini.isa import issue, value_of
from tirx_mini.layout import ComposeLayout, LayoutError, m, slice_region

from .context import Context
from .region import Tile, coordinate, tiles_of
from .rule import NotMeant, Refusal, Rule

CHUNK = 16
"""cp.async.bulk copies multiples of 16 bytes (PTX ISA, "cp.async.bulk")."""


class ClusterCopy(Rule):
    """Copies the runs of elements contiguous on both sides, from one thread."""

    name = "dsmem"
    ops = ("copy_async",)
    doc = "shared memory of the CTA to that of another one, by cp.async.bulk, completing on its mbarrier"

    def emit(self, call: TileCall, ctx: Context) -> Stmt:
        dst, src = tiles_of(call)
        if (dst.scope, src.scope) != ("shared", "shared"):
            raise NotMeant(f"the copy is from {src.scope} to {dst.scope}, not between CTAs of a cluster")
        bar: Any = call.option("mbar")
        rank = call.option("remote_cta_id")
        if bar is None or rank is None:
            raise Refusal(
                "a copy between CTAs needs the mbarrier that counts its bytes, and the rank of the receiving CTA",
                "pass mbar=bar.ptr_to([0]), remote_cta_id=rank",
            )
        many = ctx.not_single_thread()
        if many:
            raise Refusal(f"a single thread must issue it, but {many}", "put it under `if T.ptx.elect_sync():`")
        run = math.gcd(_run(ctx, dst), _run(ctx, src), dst.size)
        size = run * dst.dtype.bits // 8
        if not size or size % CHUNK:
            raise Refusal(
                f"only {size} bytes are contiguous on both sides, but cp.async.bulk copies multiples of {CHUNK}"
            )

        def there(address: Expr) -> Expr:
            return value_of("mapa", UINT32, address, as_expr(rank), span=ctx.span)

        number, inside = ctx.loop_var(dst.size // run, "chunk")
        first = inside.simplify(number * run) if dst.size > run else const(0, INT32)
        one = issue(
            "cp.async.bulk.copy", there(_address(inside, dst, first)), _address(inside, src, first), size, there(bar),
            span=ctx.span,
        )  # fmt: skip
        if dst.size == run:
            return seq(one, span=ctx.span)
        return For(number, const(0), const(dst.size // run), one, kind=UNROLLED, span=ctx.span)


def _address(ctx: Context, tile: Tile, number: Expr) -> Expr:
    """Return the address of a tile element, given its row-major index."""
    at: list[Expr] = []
    for extent in reversed(tile.extents):
        at.append(ctx.simplify(number % extent))
        number = ctx.simplify(number // extent)
    indices = tuple(ctx.simplify(index) for index in tile.index(tuple(reversed(at))))
    return AddressOf(HANDLE, tile.buffer, indices, span=ctx.span)


def _run(ctx: Context, tile: Tile) -> int:
    """Return the length of aligned runs of contiguous elements."""
    try:
        part = slice_region(tile.layout, [coordinate(s) for s in tile.starts], tile.region.extents, ctx.divisor)
    except LayoutError as error:
        raise Refusal(f"the slice of {tile.buffer.name} has no strides of its own: {error}") from None
    run = 1
    for it in reversed(part.layout.linear.canonicalize().shard):
        if it.axis != m or it.stride != run:
            break
        run *= it.extent
    run = math.gcd(run, ctx.divisor(part.base.get(m, 0)))
    return math.gcd(run, part.layout.swizzle.chunk) if isinstance(part.layout, ComposeLayout) else run
