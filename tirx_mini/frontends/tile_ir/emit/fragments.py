"""Loads of tiles from shared memory to registers: mma.sync fragments by ldmatrix, other tiles by vectors.

PTX ISA, "ldmatrix": of an 8 × 8 block of 16-bit elements, lane l gets elements 2 (l % 4) and the next of row l / 4;
with `.trans`, of column l / 4. Lanes 8 i to 8 i + 7 give the addresses of the rows of block i.
"""

from __future__ import annotations

from tirx_mini.ir import HANDLE, AddressOf, BufferLoad, Expr, Ramp
from tirx_mini.records import dataclass

from ..layouts import LinearLayout, linear_index
from ..ssa import Op
from .emitter import Emitter
from .places import SharedTile
from .values import Tile, in_buffer

VECTOR_BYTES = 16
ROW = 8
"""Elements of a row of a block, and rows of a block."""


def from_shared(emitter: Emitter, op: Op) -> None:
    """Lower convert_layout from shared memory to registers."""
    memory: SharedTile = emitter.value(op.source)
    emitter.set(op.result, read(emitter, memory, op.result.type.linear, op.result.hint or "x"))


def read(emitter: Emitter, memory: SharedTile, layout: LinearLayout, name: str) -> Tile:
    """Load a tile from shared memory to registers."""
    dtype = memory.buffer.dtype
    out = emitter.local(name, layout.registers, dtype)
    blocks = Blocks.of(layout, memory) if dtype.bits == 16 else None
    if blocks is not None:

        def load(step: Expr) -> None:
            first = step * blocks.registers
            address = AddressOf(HANDLE, memory.buffer, tuple(blocks.row(emitter, memory, first)))
            emitter.issue(
                "ldmatrix", AddressOf(HANDLE, out, (first,)), address, num=blocks.count, transpose=blocks.transposed
            )

        emitter.loop(layout.registers // blocks.registers, load)
        return in_buffer(out, layout)
    width = layout.vector(VECTOR_BYTES // dtype.itemsize, memory.fastest)

    def copy(step: Expr) -> None:
        first = step * width
        indices = [*memory.index, *(emitter.coordinate(layout, axis, first) for axis in memory.axes)]
        indices[-1] = Ramp(indices[-1].dtype, indices[-1], width) if width > 1 else indices[-1]
        value = BufferLoad(dtype.with_lanes(width) if width > 1 else dtype, memory.buffer, tuple(indices))
        emitter.store(out, first, value, width)

    emitter.loop(layout.registers // width, copy)
    return in_buffer(out, layout)


@dataclass(frozen=True)
class Blocks:
    """The blocks of one ldmatrix. count: 1, 2 or 4, each in two registers of a thread.

    lane: how the bits of a lane move the row whose address it gives.
    """

    layout: LinearLayout
    count: int
    transposed: bool
    lane: tuple[int, ...]

    @property
    def registers(self) -> int:
        """The number of a thread's registers in all blocks."""
        return 2 * self.count

    def row(self, emitter: Emitter, memory: SharedTile, first: Expr) -> list[Expr]:
        """Return the indices of the first element of the row that a lane addresses, for blocks at register `first`."""
        indices = list(memory.index)
        for axis in memory.axes:
            mask, shift = self.layout.mask(axis), self.layout.shift(axis)
            register, lane, warp = (
                [(basis & mask) >> shift for basis in bases]
                for bases in (self.layout.register, self.lane, self.layout.warp)
            )
            indices.append(linear_index((first, register), (emitter.lane, lane), (emitter.warp, warp)))
        return indices

    @staticmethod
    def of(layout: LinearLayout, memory: SharedTile) -> Blocks | None:
        """Return the blocks for which ldmatrix produces this register layout, or None if there are none."""
        if not layout.register or len(layout.lane) != 5:
            return None
        pair, *more = layout.register
        along, across = _axis(layout, pair, 1), _axis(layout, layout.lane[2], 1)
        if along is None or across is None or along == across:
            return None
        steps = [1 << layout.shift(axis) for axis in (along, across)]
        quads, octets = [steps[0] * n for n in (2, 4)], [steps[1] * n for n in (1, 2, 4)]
        if list(layout.lane) != [*quads, *octets] or memory.fastest not in (along, across):
            return None
        transposed = memory.fastest == across
        rows = [pair, *quads] if transposed else octets
        used = min(2, len(more))
        return Blocks(layout, 1 << used, transposed, (*rows, *more[:used], *[0] * (2 - used)))


def _axis(layout: LinearLayout, basis: int, steps: int) -> int | None:
    """Return the dimension along which a basis vector moves by the given number of steps."""
    found = (axis for axis in range(len(layout.shape)) if basis == steps << layout.shift(axis))
    return next((axis for axis in found if layout.shape[axis] > 1), None)
