"""Elementwise operations: copies through registers, casts, fills and arithmetic.

All of them emit the same code: the partition assigns elements to threads, every source is read at the coordinates of
the destination, and the operation is applied to one vector at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from tirx_mini.ir import (
    FLOAT32,
    BufferLoad,
    BufferStore,
    Const,
    DataType,
    Expr,
    Region,
    Stmt,
    TileCall,
    binary,
    cast,
    const,
    seq,
    unary,
)
from tirx_mini.isa import issue, value_of
from tirx_mini.records import replace

from .access import load, store, vector_index
from .context import Context
from .partition import VECTOR_BYTES, by_register, linear, memory_lanes, register_lanes
from .region import Tile, tiles_of
from .registers import RegisterTile, register_tile
from .rule import NotMeant, Refusal, Rule

MEMORY = ("global", "shared")

LOG2_E = 1.4426950408889634

Compute = Callable[[DataType, Sequence[Expr]], Expr]
"""Computes the value to store from the destination's (vector) dtype and the values of the operands."""

COMPUTE: Mapping[str, Compute] = {
    "copy": lambda dtype, v: v[0],
    "cast": lambda dtype, v: cast(dtype, v[0]),
    "fill": lambda dtype, v: cast(dtype, v[0]),
    "add": lambda dtype, v: binary("+", v[0], v[1]),
    "sub": lambda dtype, v: binary("-", v[0], v[1]),
    "mul": lambda dtype, v: binary("*", v[0], v[1]),
    "fdiv": lambda dtype, v: binary("/", v[0], v[1]),
    "maximum": lambda dtype, v: binary("max", v[0], v[1]),
    "minimum": lambda dtype, v: binary("min", v[0], v[1]),
    "neg": lambda dtype, v: unary("-", v[0]),
    "zero": lambda dtype, v: const(0, dtype),
    "fma": lambda dtype, v: _fma(dtype, *v),
    "exp2": lambda dtype, v: _exp2(_scaled(v)),
    "exp": lambda dtype, v: _exp2(binary("*", _scaled(v), LOG2_E)),
    "log2": lambda dtype, v: value_of("lg2.approx", FLOAT32, _scaled(v), ftz=False),
    "sqrt": lambda dtype, v: value_of("sqrt.rn", FLOAT32, _scaled(v)),
    "reciprocal": lambda dtype, v: binary("/", const(1.0, FLOAT32), v[0]),
    "silu": lambda dtype, v: binary("/", v[0], binary("+", 1.0, _exp2(binary("*", v[0], -LOG2_E)))),
}


def _fma(dtype: DataType, a: Expr, b: Expr, c: Expr) -> Expr:
    return value_of("fma.rn", FLOAT32, a, b, c) if dtype.is_float else binary("+", binary("*", a, b), c)


def _exp2(value: Expr) -> Expr:
    return value_of("ex2.approx", FLOAT32, value, ftz=False)


def _scaled(values: Sequence[Expr]) -> Expr:
    """Return src * scale + bias for the values (src, bias, scale), skipping omitted operands."""
    src, bias, scale = (*values, *(const(0.0), const(1.0))[len(values) - 1 :])
    if not (isinstance(scale, Const) and scale.value == 1):
        src = binary("*", src, scale)
    return src if isinstance(bias, Const) and bias.value == 0 else binary("+", src, bias)


INSTRUCTIONS = frozenset({"fma", "exp2", "exp", "log2", "sqrt", "silu"})
"""Operations that issue an instruction for each element, which the simulator charges one after the other."""

MOST_LANES: Mapping[str, int] = {"copy": VECTOR_BYTES, "cast": 2}
"""Elements that an operation handles at once; 1 if not listed. A cast converts pairs (PTX ISA, cvt.rn.f16x2.f32)."""


class Elementwise(Rule):
    """Assigns vectors to each thread of the scope, in registers or memory."""

    name = "vector"
    aliases = ("vec_auto", "vec_16b", "vec_32b", "vec_64b", "vec_128b", "vec_256b", "fallback", "reg", "smem")
    ops = tuple(COMPUTE)
    doc = "element by element, in vectors of up to 16 bytes"

    def emit(self, call: TileCall, ctx: Context) -> Stmt:
        tiles = tiles_of(call)
        for tile in tiles:
            if tile.scope not in (*MEMORY, "local"):
                raise NotMeant(f"{tile.buffer.name} is in tensor memory, which only tcgen05 instructions can access")
        views = [tile for tile in tiles if tile.has_thread_axes]
        private = [tile for tile in tiles if tile.scope == "local" and not tile.has_thread_axes]
        if views and private:
            view, own = views[0].buffer, private[0].buffer
            raise Refusal(
                f"{view.name} is spread over the registers of many threads, but {own.name} belongs to one thread",
                f"in thread scope, use {view.root.name}, the alloc_local buffer under the view",
            )
        if views:
            return _spread(call, ctx, tiles, views)
        return _dealt(call, ctx, tiles, private)


def _dealt(call: TileCall, ctx: Context, tiles: list[Tile], private: list[Tile]) -> Stmt:
    """Emit an operation whose tiles are all in memory, or all private to the executing thread."""
    dst, inner = tiles[0], ctx
    if len(private) == len(tiles) or (private and dst.scope == "local"):
        inner = replace(ctx, scope="thread")  # each thread computes its own registers, whatever the scope
    elif private and ctx.scope != "thread":
        raise Refusal(
            f"{private[0].buffer.name} is private to each thread, but in {ctx.scope} scope all threads store one tile",
            "call it in thread scope, or use a view of the registers whose layout assigns elements to threads",
        )
    _whole_scope(inner)
    lanes = _vector(call, [memory_lanes(inner, tile) for tile in tiles])

    def body(inside: Context, step: Expr, at: tuple[Expr, ...]) -> Stmt:
        def read(operand: Expr) -> Expr:
            return _read(inside, dst, Tile(operand), at, lanes) if isinstance(operand, Region) else operand

        return store(inside, dst, at, lanes, _value(call, dst, lanes, [read(operand) for operand in call.operands[1:]]))

    parallel = call.op not in INSTRUCTIONS
    loop = linear(inner, dst.extents, lanes).loop(inner, body, parallel=parallel)
    return seq(loop, _proxy_fence(dst, inner), span=ctx.span)


def _spread(call: TileCall, ctx: Context, tiles: list[Tile], views: list[Tile]) -> Stmt:
    """Emit an operation in which register views determine the threads, and all other operands follow."""
    if ctx.scope == "thread":
        raise Refusal(
            f"{views[0].buffer.name} is spread over the registers of many threads, but the call is in thread scope",
            f"use {views[0].buffer.root.name}, the alloc_local buffer under the view, or call it in warpgroup scope",
        )
    _whole_scope(ctx)
    dst, registers = tiles[0], [register_tile(ctx, view) for view in views]
    first = registers[0]
    for other in registers[1:]:
        if other.layout != first.layout:
            one, two = first.tile.buffer.name, other.tile.buffer.name
            raise Refusal(f"{one} and {two} hold their elements in different threads or in a different order")
    in_memory = [memory_lanes(ctx, tile) for tile in tiles if not tile.has_thread_axes]
    lanes = _vector(call, [*(register_lanes(ctx, r) for r in registers), *in_memory])

    def register_index(inside: Context, tile: RegisterTile, step: Expr) -> tuple[Expr, ...]:
        return vector_index((inside.simplify(tile.base + step * lanes),), lanes)

    def body(inside: Context, step: Expr, at: tuple[Expr, ...]) -> Stmt:
        def read(operand: Expr) -> Expr:
            if not isinstance(operand, Region):
                return operand
            tile = Tile(operand)
            if not tile.has_thread_axes:
                return _read(inside, dst, tile, at, lanes)
            own = register_tile(ctx, tile)
            return BufferLoad(tile.dtype.with_lanes(lanes), own.root, register_index(inside, own, step), span=ctx.span)

        value = _value(call, dst, lanes, [read(operand) for operand in call.operands[1:]])
        if dst.has_thread_axes:
            return BufferStore(first.root, register_index(inside, first, step), value, span=ctx.span)
        return store(inside, dst, at, lanes, value)

    parallel = call.op not in INSTRUCTIONS
    return seq(by_register(ctx, first, lanes).loop(ctx, body, parallel=parallel), _proxy_fence(dst, ctx), span=ctx.span)


def _read(ctx: Context, dst: Tile, tile: Tile, at: tuple[Expr, ...], lanes: int) -> Expr:
    """Return the element or vector of `tile` for the destination coordinates `at`."""
    if tile.extents == dst.extents:
        return load(ctx, tile, at, lanes)
    along = tile.broadcast(dst)
    assert along is not None
    own = {number: coord for number, coord in zip(along, at, strict=True) if number is not None}
    return load(ctx, tile, tuple(own[number] for number in range(len(tile.extents))), lanes)


def _value(call: TileCall, dst: Tile, lanes: int, values: list[Expr]) -> Expr:
    dtype = dst.dtype.with_lanes(lanes)
    rounding = call.option("rounding_mode")
    if rounding is None:
        return cast(dtype, COMPUTE[call.op](dtype, values))
    if rounding not in ("rn", "rz", "rm", "rp") or dtype != FLOAT32:
        raise Refusal(f"rounding_mode is rn, rz, rm or rp, of float32, not {rounding!r} of {dtype}")
    return value_of(f"{call.op}.f32", FLOAT32, *(cast(FLOAT32, value) for value in values), rounding=rounding)


def _vector(call: TileCall, widths: list[int]) -> int:
    """Return the number of elements per step: the widest that all accesses and the operation allow.

    CUDA C++ converts floats of eight bits one by one.
    """
    small = call.op == "cast" and any(tile.dtype.is_float and tile.dtype.bits < 16 for tile in tiles_of(call))
    return math.gcd(*widths, 1 if small else MOST_LANES.get(call.op, 1))


def _whole_scope(ctx: Context) -> None:
    split = ctx.split_scope()
    if split:
        raise Refusal(split, f"call it where all of them reach it, or use a narrower scope than {ctx.scope}")


def _proxy_fence(dst: Tile, ctx: Context) -> Stmt | None:
    """Return the fence that makes cooperative stores visible to the async proxy (TMA, MMA), or None."""
    if dst.scope != "shared" or ctx.scope == "thread" or not ctx.fences:
        return None
    return issue("fence.proxy.async", space="shared::cta", span=ctx.span)
