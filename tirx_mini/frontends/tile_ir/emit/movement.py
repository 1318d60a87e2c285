"""Code generation for changes of a tile's shape or layout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tirx_mini.ir import UINT32, Buffer, BufferLoad, DeclBuffer, Expr, Ramp, as_expr, binary, select

from ..layouts import (
    Conversion,
    LinearLayout,
    Move,
    SharedPlan,
    Span,
    bits_of,
    conversion,
    linear_index,
    number_of,
    shared_plan,
    words_first,
)
from .emitter import Emitter
from .values import Tile, in_buffer

MANY = 16
"""Uses of an element of a broadcast from which on it is computed once, even where that is cheap. That holds for floats:
of an index that is held, nobody knows what divides it, and accesses lose their vectors."""


def converted(emitter: Emitter, tile: Tile, target: LinearLayout, name: str = "x") -> Tile:
    """Convert `tile` to the layout `target`."""
    found = conversion(tile.layout, target)
    if found.move is Move.NONE:
        return tile
    if found.move is Move.REGISTERS:
        return tile.renamed(target, lambda r: linear_index((r, found.register)))
    if found.move is Move.EXCHANGE:
        return _exchanged(emitter, tile, found, name)
    source = emitter.held(tile, name)
    if found.move is Move.SHUFFLE:
        lane = linear_index((emitter.lane, found.lane_of_lane))
        out = emitter.local(name, target.registers, tile.dtype)

        def shuffle(r: Expr) -> None:
            own = source.at(linear_index((r, found.register)))
            other = lane ^ linear_index((r, found.lane)) if any(found.lane) else lane
            emitter.store(out, r, emitter.value_of("shfl.idx", tile.dtype, own, other))

        emitter.loop(target.registers, shuffle)
        return in_buffer(out, target)
    return _by_shared_memory(emitter, source, target, name)


def _exchanged(emitter: Emitter, tile: Tile, found: Conversion, name: str) -> Tile:
    """Swap bits of registers and lanes: in each swap, a lane sends one of two words and receives the other one."""
    target = found.target
    order, packed = words_first(found, tile.dtype.bits)
    inner = replace(target, register=tuple(target.register[bit] for bit in order))
    read = [found.register[bit] for bit in order]
    out = emitter.local(name, target.registers, tile.dtype)
    emitter.fill_registers(out, tile.renamed(inner, lambda r: linear_index((r, read))))
    words, count = out, target.registers >> packed
    if packed:
        words = Buffer(f"{name}_words", (count,), UINT32, "local", source=out)
        emitter.add(DeclBuffer(words, span=emitter.span))
    for bit, lane in found.swaps:
        _swap(emitter, words, count, order.index(bit) - packed, 1 << lane)
    return converted(emitter, in_buffer(out, inner), target, name)


def _swap(emitter: Emitter, words: Buffer, count: int, place: int, distance: int) -> None:
    """Swap a bit of the number of a register with one of the lane, for `count` registers of lanes so far apart."""
    upper = binary("!=", emitter.lane & distance, 0)
    others = [1 << bit for bit in range(bits_of(count)) if bit != place]

    def pair(number: Expr) -> None:
        low = linear_index((number, others))
        high = low + (1 << place)
        own, other = emitter.bind("low", words[low]), emitter.bind("high", words[high])
        sent = emitter.value_of("shfl.xor", words.dtype, select(upper, own, other), distance)
        got = emitter.bind("got", sent)
        emitter.store(words, low, select(upper, got, own))
        emitter.store(words, high, select(upper, other, got))

    emitter.loop(count // 2, pair)


def _by_shared_memory(emitter: Emitter, tile: Tile, target: LinearLayout, name: str) -> Tile:
    dtype = tile.dtype
    stored = tile.layout.without_replicas()
    plan = shared_plan(stored, target, dtype.itemsize)
    memory = emitter.scratch(dtype, plan.size)
    emitter.fill()
    kept = [1 << tile.layout.register.index(basis) for basis in stored.register]
    wide = plan.store if kept[: bits_of(plan.store)] == [1 << bit for bit in range(bits_of(plan.store))] else 1

    def store(step: Expr) -> None:
        value = vector_of(tile, linear_index((step * wide, kept)), wide)
        emitter.store(memory, place(emitter, plan, stored, step * wide), value, wide)

    with emitter.when(emitter.owner(stored)):
        emitter.loop(stored.registers // wide, store)
    emitter.filled()
    out = emitter.local(name, target.registers, dtype)

    def load(step: Expr) -> None:
        at = place(emitter, plan, target, step * plan.load)
        emitter.store(out, step * plan.load, vector(memory, at, plan.load), plan.load)

    emitter.loop(target.registers // plan.load, load)
    return in_buffer(out, target)


def place(emitter: Emitter, plan: SharedPlan, layout: LinearLayout, register: Expr) -> Expr:
    """Return the shared-memory index of a register's value."""
    number = emitter.index(plan.bases(layout), register)
    return number + number // plan.row * plan.pad if plan.pad else number


def vector(buffer: Buffer, first: Expr | int, lanes: int) -> Expr:
    """Return a vector of `lanes` consecutive elements of a buffer."""
    at = as_expr(first)
    if lanes == 1:
        return BufferLoad(buffer.dtype, buffer, (at,))
    return BufferLoad(buffer.dtype.with_lanes(lanes), buffer, (Ramp(at.dtype, at, lanes),))


def vector_of(tile: Tile, first: Expr, lanes: int) -> Expr:
    """Return a vector of consecutive registers of a tile."""
    if lanes == 1 or tile.buffer is None:
        return tile.at(first)
    return vector(tile.buffer, first, lanes)


def broadcast(emitter: Emitter, tile: Tile, target: LinearLayout) -> Tile:
    """Broadcast `tile` to the shape and layout `target`, repeating registers along broadcast dimensions."""
    source = converted(emitter, tile, target.broadcast_source(tile.shape))
    repeats = target.registers // source.registers
    often = source.dtype.is_float and source.cost > 1 and repeats >= MANY
    if repeats > 1 and (not source.cheap or often):
        source = emitter.held(source)
    kept = sum(target.mask(axis) for axis, extent in enumerate(tile.shape) if extent == target.shape[axis])
    span = Span(number_of(source.layout.coordinates(basis), target.shape) for basis in source.layout.register)
    registers = [span.solve(basis & kept) or 0 for basis in target.register]

    def register(r: Expr) -> Expr:
        return linear_index((r, registers))

    return replace(source.renamed(target, register), narrow=(source, register))


def reshaped(tile: Tile, shape: Sequence[int]) -> Tile:
    return tile.renamed(tile.layout.reshape(shape))


def permuted(tile: Tile, dims: Sequence[int]) -> Tile:
    return tile.renamed(tile.layout.permute(dims))
