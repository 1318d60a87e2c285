"""Reductions: sum, max and min of a tile by a thread, a warp or a CTA, and of one value per thread over a warp or CTA.

Each thread first combines its own elements. The lanes of a warp then exchange values by shuffles, halving the distance
in each step, and the warps of a CTA exchange one word each through shared memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from tirx_mini.hardware import WARP_SIZE
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
from tirx_mini.isa import issue, value_of
from tirx_mini.records import dataclass, replace
from tirx_mini.wording import described

from .access import load, store
from .checks import reduced_axes
from .context import Context
from .partition import linear
from .region import Tile, tiles_of
from .registers import RegisterTile, register_tile
from .rule import NotMeant, Refusal, Rule

T = TypeVar("T")

OPERATORS: Mapping[str, str] = {"sum": "+", "max": "max", "min": "min"}


@dataclass(frozen=True)
class Accumulator:
    """A thread's partial result, held in one register."""

    buffer: Buffer
    operator: str
    ctx: Context

    @staticmethod
    def make(ctx: Context, name: str, dtype: DataType, operator: str) -> Accumulator:
        """Create an accumulator for `dtype`: float32 for half precision, int32 for small integers."""
        wide = dtype if dtype.bits >= 32 else FLOAT32 if dtype.is_float else INT32
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

    def across_lanes(self, width: int = WARP_SIZE) -> Stmt:
        """Combine groups of `width` neighbouring lanes, leaving the result in every lane of a group."""
        distances = [width >> step for step in range(1, width.bit_length())]
        return seq(*(self.add(value_of("shfl.xor", self.dtype, self.value, d, span=self.ctx.span)) for d in distances))

    def across_warps(self, scratch: Buffer, first: Expr, warps: int) -> Stmt:
        """Combine the warps of the CTA through `warps` elements of shared memory, leaving the result in every thread.
        """
        ctx = self.ctx
        lane, warp = special("threadIdx.x") % WARP_SIZE, special("warp_id_in_cta")
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
    aliases = ("local", "packed_add_sum", "3input_maxmin")
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
        shape = Shape.of(call)
        rows, columns = math.prod(shape.rows), math.prod(shape.columns)
        acc = Accumulator.make(ctx, dst.buffer.name, dst.dtype, _operator(call))
        outer, inner = alone.loop_var(rows, "r")
        row = _unravel(outer if rows > 1 else const(0), shape.rows)
        column, inside = inner.loop_var(columns, "c")

        def element(number: Expr) -> Expr:
            return load(inside, src, shape.at(row, _unravel(number, shape.columns)), 1)

        body = seq(
            acc.begin(element(const(0))),
            _loop(ctx, column, 1, columns, acc.add(element(column))),
            _put(call, inner, dst, row, acc),
        )
        return seq(_loop(ctx, outer, 0, rows, body))


@dataclass(frozen=True)
class Shape:
    """The kept and the reduced dimensions of a reduction's source.

    rows, columns: the extents of the dimensions that stay, and of those that are reduced.
    reduced: for each dimension of the source tile, whether it is reduced.
    """

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    reduced: tuple[bool, ...]

    @staticmethod
    def of(call: TileCall) -> Shape:
        """Return the shape of a reduction with checked operands."""
        dst, src = tiles_of(call)
        axes = reduced_axes(call)
        if axes is None:
            reduced = tuple(number >= len(dst.extents) for number in range(len(src.extents)))
        else:
            reduced = tuple(axis in axes for axis in src.kept)
        pairs = list(zip(src.extents, reduced, strict=True))
        return Shape(tuple(n for n, gone in pairs if not gone), tuple(n for n, gone in pairs if gone), reduced)

    def row(self, at: Sequence[T]) -> tuple[T, ...]:
        """Drop the reduced coordinates of a source element."""
        return tuple(place for place, gone in zip(at, self.reduced, strict=True) if not gone)

    def at(self, row: Sequence[T], column: Sequence[T]) -> tuple[T, ...]:
        """Return the source coordinates of an element, given its kept and reduced coordinates."""
        rows, columns = iter(row), iter(column)
        return tuple(next(columns if gone else rows) for gone in self.reduced)


class ViewReduce(Rule):
    name = "registers"
    aliases = ("local", "packed_add_sum", "3input_maxmin")
    ops = tuple(f"reduce_{kind}" for kind in OPERATORS)
    doc = "register views, each thread its own registers"

    def emit(self, call: TileCall, ctx: Context) -> Stmt:
        dst, src = tiles_of(call)
        if not (dst.has_thread_axes and src.has_thread_axes):
            raise NotMeant("one of the tiles is not a register view")
        _everyone(ctx)
        into, out_of = register_tile(ctx, dst, copies=True), register_tile(ctx, src)
        together = bool(call.option("thread_reduce", False)) or bool(into.layout.replica)
        groups, masks = _registers_of(Shape.of(call), into, out_of, together)

        def register(tile: RegisterTile, number: int) -> BufferLoad:
            index = (ctx.simplify(tile.base + number),)
            return BufferLoad(tile.root.dtype, tile.root, index, span=ctx.span)

        acc = Accumulator.make(ctx, dst.buffer.name, dst.dtype, _operator(call))
        parts: list[Stmt] = [AllocBuffer(acc.buffer, span=ctx.span)]
        for number, sources in sorted(groups.items()):
            first, *others = [register(out_of, source) for source in sources]
            target = register(into, number)
            parts += [acc.set(first), *(acc.add(other) for other in others)]
            parts += [acc.add(value_of("shfl.xor", acc.dtype, acc.value, mask, span=ctx.span)) for mask in masks]
            if accumulates(call):
                parts.append(acc.add(target))
            parts.append(BufferStore(into.root, target.indices, cast(dst.dtype, acc.value), span=ctx.span))
        body = seq(*parts, span=ctx.span)
        return If(ctx.thread < out_of.threads, body, span=ctx.span) if out_of.threads < ctx.threads else body


def _registers_of(
    shape: Shape, into: RegisterTile, out_of: RegisterTile, together: bool
) -> tuple[dict[int, list[int]], list[int]]:
    """Return the source registers reduced into each destination register, and the shuffle masks if threads reduce
    `together`.
    """
    kept = len(into.tile.extents) > len(shape.rows)  # the destination has an element for each thread of a row
    holders: dict[tuple[int, ...], dict[int, int]] = {}
    for at, thread, register in into.places():
        holders.setdefault(shape.row(at) if kept else at, {})[thread] = register
    groups: dict[int, list[int]] = {}
    lanes: dict[tuple[int, ...], set[int]] = {}
    for at, thread, register in out_of.places():
        row = shape.row(at)
        if thread not in holders[row]:
            raise Refusal(
                f"thread {thread} holds elements of {out_of.tile.buffer.name} that are reduced to an element of thread "
                f"{min(holders[row])}",
                f"give {into.tile.buffer.name} a copy in each of these threads, as with + R[4 : 1@laneid] in its "
                "layout: then shuffles combine the threads",
            )
        known = groups.setdefault(holders[row][thread], [])
        lanes.setdefault(row, set()).add(thread)
        if register not in known:
            known.append(register)
    return groups, _masks(lanes.values(), out_of.tile.buffer.name) if together else []


def _masks(rows: Iterable[set[int]], name: str) -> list[int]:
    """Return the shuffle masks that combine the threads of each row. Raises Refusal if rows need different masks."""
    found: set[tuple[int, ...]] = set()
    for threads in rows:
        first = min(threads)
        bits = [1 << bit for bit in range(max(threads).bit_length()) if any((t ^ first) >> bit & 1 for t in threads)]
        if len(threads) != 1 << len(bits) or (bits and bits[-1] >= WARP_SIZE):
            raise Refusal(f"the threads that hold a row of {name} are not the lanes that shuffles combine")
        found.add(tuple(bits))
    if len(found) != 1:
        raise Refusal(f"the rows of {name} are spread over lanes in different ways")
    return list(found.pop())


class CooperativeReduce(Rule):
    name = "shuffle"
    aliases = ("local", "shared")
    ops = tuple(f"reduce_{kind}" for kind in OPERATORS)
    doc = "a warp or a CTA cooperatively: shuffles, then shared memory between the warps"

    def emit(self, call: TileCall, ctx: Context) -> Stmt:
        dst, src = tiles_of(call)
        if ctx.scope not in ("warp", "warpgroup", "cta"):
            raise NotMeant(f"a warp, a warpgroup or a CTA must execute it, but the call is in {ctx.scope} scope")
        if "local" in (dst.scope, src.scope) or "tmem" in (dst.scope, src.scope):
            raise Refusal("the tile and the result must be in shared or global memory")
        _everyone(ctx)
        if dst.extents or ctx.scope == "warpgroup":
            return _rows_by_groups(call, ctx)
        acc = Accumulator.make(ctx, dst.buffer.name, dst.dtype, _operator(call))
        part = linear(ctx, src.extents, 1)
        start = src.index(tuple(const(0) for _ in src.extents))
        begin = acc.begin(_identity(acc, BufferLoad(src.dtype, src.buffer, start, span=ctx.span)))
        own = part.loop(ctx, lambda inside, _, at: acc.add(load(inside, src, at, 1)), parallel=False)
        steps = [begin, own, acc.across_lanes()]
        if ctx.scope == "cta" and ctx.launch.warps > 1:
            scratch = _scratch(ctx, acc)
            steps += [AllocBuffer(scratch, span=ctx.span), acc.across_warps(scratch, const(0), ctx.launch.warps)]
        return seq(*steps, If(binary("==", ctx.thread, 0), _put(call, ctx, dst, (), acc), span=ctx.span), span=ctx.span)


def _rows_by_groups(call: TileCall, ctx: Context) -> Stmt:
    """Reduce by groups of up to 32 neighbouring lanes, one row at a time."""
    dst, src = tiles_of(call)
    shape = Shape.of(call)
    rows, columns = math.prod(shape.rows), math.prod(shape.columns)
    width = min(WARP_SIZE, 1 << (columns - 1).bit_length())
    groups, lane = ctx.threads // width, ctx.thread % width
    turn, inner = ctx.loop_var(-(-rows // groups), "r")
    number = inner.simplify((turn if rows > groups else const(0)) * groups + ctx.thread // width)
    row = _unravel(number if rows % groups == 0 else binary("min", number, rows - 1), shape.rows)
    acc = Accumulator.make(ctx, dst.buffer.name, dst.dtype, _operator(call))
    step, inside = inner.loop_var(-(-columns // width), "c")
    column = (step if columns > width else const(0)) * width + lane

    def element(ctx: Context, column: Expr) -> Expr:
        return load(ctx, src, shape.at(row, _unravel(column, shape.columns)), 1)

    add: Stmt = acc.add(element(inside, column))
    if columns % width:
        add = If(inside.simplify(column < columns), add, span=ctx.span)
    put: Expr = binary("==", lane, 0) if rows % groups == 0 else binary("and", binary("==", lane, 0), number < rows)
    body = seq(
        acc.begin(_identity(acc, element(inner, const(0)))),
        _loop(ctx, step, 0, -(-columns // width), add),
        acc.across_lanes(width),
        If(inner.simplify(put), _put(call, inner, dst, row, acc), span=ctx.span),
    )
    return seq(_loop(ctx, turn, 0, -(-rows // groups), body), span=ctx.span)


class ValueReduce(Rule):
    """Reduces one value per thread, as in ``cta_sum(dst, value)``, leaving the result in every thread."""

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


def _operator(call: TileCall) -> str:
    return OPERATORS[call.op.removeprefix("reduce_")]


def accumulates(call: TileCall) -> bool:
    """Return whether a reduction accumulates into the destination. Raises Refusal if this is unknown."""
    accum = call.option("accum", False)
    value = int_value(accum) if isinstance(accum, Expr) else accum
    if value not in (0, 1):
        raise Refusal(f"accum of a reduction must be True or False, known at compile time, not {described(accum)}")
    return bool(value)


def _put(call: TileCall, ctx: Context, dst: Tile, row: tuple[Expr, ...], acc: Accumulator) -> Stmt:
    """Store the result of a row in the destination."""
    value = acc.value
    if accumulates(call):
        value = binary(acc.operator, cast(acc.dtype, load(ctx, dst, row, 1)), value)
    return store(ctx, dst, row, 1, cast(dst.dtype, value))


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
    width = int_value(call.option("width", WARP_SIZE))
    if width not in (2, 4, 8, 16, 32):
        raise Refusal(f"width must be 2, 4, 8, 16 or 32 lanes, not {call.option('width')!r}")
    return width


def _identity(acc: Accumulator, first: Expr) -> Expr:
    """Return the initial value: 0 for a sum, or an element of the tile for max and min."""
    return const(0, acc.dtype) if acc.operator == "+" else first


def _scratch(ctx: Context, acc: Accumulator) -> Buffer:
    """Return compiler-allocated shared memory of one word per warp."""
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


def _loop(ctx: Context, var: Expr, first: int, count: int, body: Stmt) -> Stmt | None:
    """Emit `body` for `var` from `first` up to `count`: a loop, a single iteration, or None."""
    if first >= count:
        return None
    if (first, count) == (0, 1):
        return body
    assert isinstance(var, Var)
    return For(var, const(first), const(count), body, kind=UNROLLED, span=ctx.span)
