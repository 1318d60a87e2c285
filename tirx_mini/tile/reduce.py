"""Reductions: sum, max and min of a tile by a thread, a warp or a CTA, and of one value per thread over a warp or CTA.

Each thread first combines its own elements. The lanes of a warp then exchange values by shuffles, halving the distance
in each step, and the warps of a CTA exchange one word each through shared memory.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tirx_mini.hardware import THREADS_OF
from tirx_mini.ir import (
    FLOAT32,
    INT32,
    UNROLLED,
    AddressOf,
    AllocBuffer,
    Buffer,
    BufferLoad,
    BufferStore,
    DataType,
    Expr,
    For,
    If,
    Stmt,
    TileCall,
    Var,
    binary,
    cast,
    const,
    int_value,
    seq,
    special,
)

from .access import load, store
from .context import Context
from .issue import issue, value_of
from .partition import linear
from .region import tiles_of
from .rule import NotMeant, Refusal, Rule

OPERATORS: Mapping[str, str] = {"sum": "+", "max": "max", "min": "min"}
WARP = THREADS_OF["warp"]


@dataclass(frozen=True)
class Accumulator:
    """The partial result of a thread: one register."""

    buffer: Buffer
    operator: str
    ctx: Context

    @staticmethod
    def make(ctx: Context, name: str, dtype: DataType, operator: str) -> Accumulator:
        """An accumulator for `dtype`: float32 for half precision, int32 for small integers. Refuses 64-bit types."""
        if dtype.bits > 32:
            raise Refusal(f"shuffles move 32 bits, but {name} is {dtype}")
        wide = dtype if dtype.bits == 32 else FLOAT32 if dtype.is_float else INT32
        return Accumulator(Buffer(f"{name}_acc", (1,), wide, "local", scalar=True, span=ctx.span), operator, ctx)

    @property
    def dtype(self) -> DataType:
        return self.buffer.dtype

    @property
    def value(self) -> Expr:
        return BufferLoad(self.dtype, self.buffer, (const(0),), span=self.ctx.span)

    def begin(self, value: Expr) -> Stmt:
        return seq(AllocBuffer(self.buffer, span=self.ctx.span), self.set(value))

    def set(self, value: Expr) -> Stmt:
        return BufferStore(self.buffer, (const(0),), cast(self.dtype, value), span=self.ctx.span)

    def add(self, value: Expr) -> Stmt:
        return self.set(binary(self.operator, self.value, cast(self.dtype, value), span=self.ctx.span))

    def across_lanes(self, width: int = WARP) -> Stmt:
        """Combine groups of `width` neighbouring lanes; every lane gets the result of its group."""
        distances = [width >> step for step in range(1, width.bit_length())]
        return seq(*(self.add(value_of("shfl.xor", self.dtype, self.value, d, span=self.ctx.span)) for d in distances))

    def across_warps(self, scratch: Buffer, first: Expr, warps: int) -> Stmt:
        """Combine the warps of the CTA through `warps` elements of shared memory; every thread gets the result."""
        ctx = self.ctx
        lane, warp = special("threadIdx.x") % WARP, special("warp_id_in_cta")
        var, _ = ctx.loop_var(warps, "w")
        sync = issue("bar.sync.all", 0, span=ctx.span)

        def partial(index: Expr) -> Expr:
            return BufferLoad(scratch.dtype, scratch, (first + index,), span=ctx.span)

        put = BufferStore(scratch, (first + warp,), cast(scratch.dtype, self.value), span=ctx.span)
        others = For(var, const(1), const(warps), self.add(partial(var)), kind=UNROLLED, span=ctx.span)
        # The last barrier protects the words until all threads have read them: the next reduction overwrites them.
        return seq(If(binary("==", lane, 0), put), sync, self.set(partial(const(0))), others, sync, span=ctx.span)


class ThreadReduce(Rule):
    name = "thread"
    ops = tuple(f"reduce_{kind}" for kind in OPERATORS)
    doc = "each thread by itself, element by element"

    def emit(self, call: TileCall, ctx: Context) -> Stmt:
        dst, src = tiles_of(call)
        private = all(tile.scope == "local" and not tile.has_thread_axes for tile in (dst, src))
        if ctx.scope != "thread" and not private:
            raise NotMeant(f"in {ctx.scope} scope every thread would reduce the whole tile")
        if any(tile.has_thread_axes for tile in (dst, src)):
            raise Refusal("a register view is spread over many threads", "use the alloc_local buffer under it")
        alone = replace(ctx, scope="thread")
        rows, columns = dst.extents, src.extents[len(dst.extents) :]
        acc = Accumulator.make(ctx, dst.buffer.name, dst.dtype, OPERATORS[call.op.removeprefix("reduce_")])
        outer, inner = alone.loop_var(math.prod(rows), "r")
        at_row = _unravel(outer if math.prod(rows) > 1 else const(0), rows)
        column, inside = inner.loop_var(math.prod(columns), "c")
        body = seq(
            acc.begin(load(inside, src, (*at_row, *_unravel(const(0), columns)), 1)),
            _loop(ctx, column, 1, columns, acc.add(load(inside, src, (*at_row, *_unravel(column, columns)), 1))),
            store(inner, dst, at_row, 1, cast(dst.dtype, acc.value)),
        )
        return seq(_loop(ctx, outer, 0, rows, body))


class CooperativeReduce(Rule):
    name = "shuffle"
    ops = tuple(f"reduce_{kind}" for kind in OPERATORS)
    doc = "a warp or a CTA cooperatively: shuffles, then shared memory between the warps"

    def emit(self, call: TileCall, ctx: Context) -> Stmt:
        dst, src = tiles_of(call)
        if ctx.scope not in ("warp", "cta"):
            raise NotMeant(f"a warp or a CTA must execute it, but the call is in {ctx.scope} scope")
        if dst.extents:
            raise Refusal(f"a cooperative reduction gives one element, but {dst.buffer.name} has {dst.size}")
        if "local" in (dst.scope, src.scope) or "tmem" in (dst.scope, src.scope):
            raise Refusal("the tile and the result must be in shared or global memory")
        _everyone(ctx)
        acc = Accumulator.make(ctx, dst.buffer.name, dst.dtype, OPERATORS[call.op.removeprefix("reduce_")])
        part = linear(ctx, src.extents, 1)
        start = src.index(tuple(const(0) for _ in src.extents))
        begin = acc.begin(_identity(acc, BufferLoad(src.dtype, src.buffer, start, span=ctx.span)))
        own = part.loop(ctx, lambda inside, _, at: acc.add(load(inside, src, at, 1)), parallel=False)
        steps = [begin, own, acc.across_lanes()]
        if ctx.scope == "cta" and ctx.launch.warps > 1:
            scratch = _scratch(ctx, acc)
            steps += [AllocBuffer(scratch, span=ctx.span), acc.across_warps(scratch, const(0), ctx.launch.warps)]
        put = store(ctx, dst, (), 1, cast(dst.dtype, acc.value))
        return seq(*steps, If(binary("==", ctx.thread, 0), put, span=ctx.span), span=ctx.span)


class ValueReduce(Rule):
    """Reductions such as ``cta_sum(dst, value)``: every thread supplies a value and gets the result in a register."""

    name = "shuffle"
    ops = tuple(f"{unit}_{op}" for unit in ("warp", "cta") for op in OPERATORS)
    doc = "one value per thread over a warp or a CTA"

    def emit(self, call: TileCall, ctx: Context) -> Stmt:
        unit, op = call.op.split("_")
        (dst,) = tiles_of(call)
        value = call.operands[1]
        if dst.extents or dst.scope != "local":
            raise Refusal(f"the result must go to a single register of each thread, unlike {dst.buffer.name}")
        together = replace(ctx, scope=unit)
        _everyone(together)
        acc = Accumulator.make(ctx, dst.buffer.name, value.dtype, OPERATORS[op])
        steps = [acc.begin(value)]
        if unit == "warp":
            steps.append(acc.across_lanes(_width(call)))
        else:
            steps.append(acc.across_lanes())
            if ctx.launch.warps > 1:
                steps.append(_between_warps(call, together, acc))
        return seq(*steps, store(ctx, dst, (), 1, cast(dst.dtype, acc.value)), span=ctx.span)


def _between_warps(call: TileCall, ctx: Context, acc: Accumulator) -> Stmt:
    warps, given, pointer = ctx.launch.warps, int_value(call.option("num_warps")), call.option("scratch")
    if given is not None and given != warps:
        raise Refusal(f"num_warps is {given}, but the CTA has {warps} warps", f"write num_warps={warps}")
    if pointer is None:
        scratch = _scratch(ctx, acc)
        return seq(AllocBuffer(scratch, span=ctx.span), acc.across_warps(scratch, const(0), warps))
    if not isinstance(pointer, AddressOf) or pointer.buffer.scope != "shared" or pointer.buffer.ndim != 1:
        raise Refusal("scratch must point into a one-dimensional shared buffer", "write scratch.ptr_to([0])")
    if pointer.buffer.size < warps:
        raise Refusal(
            f"{pointer.buffer.name} has {pointer.buffer.size} elements, but the {warps} warps need one each"
        )
    return acc.across_warps(pointer.buffer, pointer.indices[0], warps)


def _width(call: TileCall) -> int:
    width = int_value(call.option("width", WARP))
    if width not in (2, 4, 8, 16, 32):
        raise Refusal(f"width must be 2, 4, 8, 16 or 32 lanes, not {call.option('width')!r}")
    return width


def _identity(acc: Accumulator, first: Expr) -> Expr:
    """The neutral value: 0 for a sum; any element of the tile for max and min."""
    return const(0, acc.dtype) if acc.operator == "+" else first


def _scratch(ctx: Context, acc: Accumulator) -> Buffer:
    """Shared memory that the compiler adds: one word per warp."""
    return Buffer(f"{acc.buffer.name}_warps", (ctx.launch.warps,), acc.dtype, "shared", span=ctx.span)


def _everyone(ctx: Context) -> None:
    split = ctx.split_scope()
    if split:
        raise Refusal(split, "all of them must participate")


def _unravel(number: Expr, extents: Sequence[int]) -> tuple[Expr, ...]:
    at: list[Expr] = []
    for extent in reversed(extents):
        at.append(number % extent)
        number = number // extent
    return tuple(reversed(at))


def _loop(ctx: Context, var: Expr, first: int, extents: Sequence[int], body: Stmt) -> Stmt | None:
    """`body` for `var` from `first` to the product of `extents`, without a loop for one iteration; None for none."""
    count = math.prod(extents)
    if first >= count:
        return None
    if (first, count) == (0, 1):
        return body
    assert isinstance(var, Var)
    return For(var, const(first), const(count), body, kind=UNROLLED, span=ctx.span)
