"""Reductions and scans: first the registers of a thread, then the lanes of a warp, then the warps."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tirx_mini.ir import Buffer, Expr, const

from ..layouts import LinearLayout, linear_index
from .emitter import Emitter
from .values import Tile, in_buffer

ALIGNMENT = 16
"""Of buffers in shared memory, in bytes."""

Combine = Callable[[Sequence[Expr], Sequence[Expr]], Sequence[Expr]]
"""What two groups of elements give, one of each tile that is reduced together (a maximum and its index)."""


def reduce(emitter: Emitter, tiles: Sequence[Tile], axis: int, combine: Combine, name: str) -> list[Tile]:
    """The tiles, of one layout, reduced along `axis`."""
    layout = tiles[0].layout
    mask = layout.mask(axis)
    for basis in layout.bases:
        if basis & mask and basis & ~mask:
            raise emitter.refuse(f"this reduction needs a layout whose bits lie along single dimensions, not {layout}")
    out = layout.reduce(axis)
    buffers = [emitter.local(name, out.registers, tile.dtype) for tile in tiles]
    _in_thread(emitter, tiles, axis, combine, buffers)
    _in_warp(emitter, layout, mask, combine, buffers)
    if any(basis & mask for basis in layout.warp):
        _across_warps(emitter, layout, mask, out, combine, buffers)
    return [in_buffer(buffer, out) for buffer in buffers]


def _in_thread(emitter: Emitter, tiles: Sequence[Tile], axis: int, combine: Combine, buffers: Sequence[Buffer]) -> None:
    layout = tiles[0].layout
    mask = layout.mask(axis)
    kept = [1 << bit for bit, basis in enumerate(layout.register) if basis & ~mask]
    along = [1 << bit for bit, basis in enumerate(layout.register) if not basis & ~mask and basis]
    count = 1 << len(kept)

    def first(q: Expr) -> None:
        for buffer, tile in zip(buffers, tiles, strict=True):
            emitter.store(buffer, q, tile.at(linear_index((q, kept))))

    emitter.loop(count, first)

    def one(step: Expr) -> None:
        def add(q: Expr) -> None:
            element = linear_index((q, kept), (step, along))
            _combined(emitter, buffers, q, combine, [tile.at(element) for tile in tiles])

        emitter.loop(count, add, name="q")

    if along:
        _from_one(emitter, 1 << len(along), one)


def _from_one(emitter: Emitter, count: int, body: Callable[[Expr], None]) -> None:
    """`body` for 1 … count - 1, one after the other."""
    if count == 2:
        body(const(1))
    else:
        emitter.loop(count - 1, lambda r: body(r + 1), parallel=False, name="k")


def _combined(
    emitter: Emitter, buffers: Sequence[Buffer], register: Expr, combine: Combine, others: Sequence[Expr]
) -> None:
    """buffers[register] = combine(buffers[register], others)."""
    index = [const(0) if buffer.scalar else register for buffer in buffers]
    results = combine([buffer[i] for buffer, i in zip(buffers, index, strict=True)], others)
    if len(buffers) > 1:
        results = [emitter.bind("best", result) for result in results]
    for buffer, i, result in zip(buffers, index, results, strict=True):
        emitter.store(buffer, i, result)


def _in_warp(emitter: Emitter, layout: LinearLayout, mask: int, combine: Combine, buffers: Sequence[Buffer]) -> None:
    """A butterfly: after each step, twice as many lanes agree."""
    for bit, basis in enumerate(layout.lane):
        if basis & mask:

            def exchange(q: Expr, lanes: int = 1 << bit) -> None:
                index = [const(0) if buffer.scalar else q for buffer in buffers]
                own = [buffer[i] for buffer, i in zip(buffers, index, strict=True)]
                others = [
                    emitter.bind("other", emitter.value_of("shfl.xor", value.dtype, value, lanes)) for value in own
                ]
                _combined(emitter, buffers, q, combine, others)

            emitter.loop(buffers[0].size, exchange)


def _across_warps(
    emitter: Emitter, layout: LinearLayout, mask: int, out: LinearLayout, combine: Combine, buffers: Sequence[Buffer]
) -> None:
    """Each warp writes its results to shared memory, and reads those of the warps that share its elements."""
    bits = [bit for bit, basis in enumerate(layout.warp) if basis & mask]
    group = linear_index((emitter.warp, [1 << bits.index(b) if b in bits else 0 for b in range(len(layout.warp))]))
    size = out.size
    unique = out.without_replicas()
    kept = [1 << out.register.index(basis) for basis in unique.register]
    lanes, warps = unique.owners()
    warps &= ~sum(1 << bit for bit in bits)
    memories = _memories(emitter, buffers, size << len(bits))
    emitter.fill()

    def write(q: Expr) -> None:
        for buffer, memory in zip(buffers, memories, strict=True):
            value = buffer[const(0) if buffer.scalar else linear_index((q, kept))]
            emitter.store(memory, group * size + emitter.index(unique, q), value)

    with emitter.when(emitter.zero_bits(lanes, warps)):
        emitter.loop(unique.registers, write)
    emitter.filled()

    def first(q: Expr) -> None:
        for buffer, memory in zip(buffers, memories, strict=True):
            emitter.store(buffer, q, memory[emitter.index(out, q)])

    emitter.loop(out.registers, first)

    def one(step: Expr) -> None:
        def add(q: Expr) -> None:
            others = [memory[step * size + emitter.index(out, q)] for memory in memories]
            _combined(emitter, buffers, q, combine, others)

        emitter.loop(out.registers, add, name="q")

    _from_one(emitter, 1 << len(bits), one)


def _memories(emitter: Emitter, buffers: Sequence[Buffer], count: int) -> list[Buffer]:
    """Scratch memory for `count` elements of each buffer, side by side."""
    found, offset = [], 0
    for buffer in buffers:
        found.append(emitter.scratch(buffer.dtype, count, offset))
        offset += -(-found[-1].nbytes // ALIGNMENT) * ALIGNMENT
    return found
