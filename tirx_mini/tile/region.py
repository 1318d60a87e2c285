"""Operands of tile primitives: regions without dimensions of extent 1, and their layouts.

``Asmem[stage, :, :]`` and ``A[m : m + 128, k : k + 64]`` are both 128 × 64 tiles, because dimensions of extent 1 do not
count. A `Tile` is a region seen in this way.
"""

from __future__ import annotations

from functools import cached_property

from tirx_mini.ir import (
    Analyzer,
    Buffer,
    BufferLoad,
    DataType,
    Expr,
    Range,
    Region,
    TileCall,
    TirxError,
    const,
    int_value,
)
from tirx_mini.layout import Coord, Layout, S, TileLayout
from tirx_mini.records import dataclass
from tirx_mini.wording import described


def as_region(operand: object) -> Region:
    """Convert `operand` to a region: a whole buffer, a slice, or a single element.

    Raises TirxError for anything that is not part of a buffer.
    """
    if isinstance(operand, Region):
        return operand
    if isinstance(operand, Buffer):
        return operand.region()
    if isinstance(operand, BufferLoad) and operand.dtype.lanes == 1:
        ranges = tuple(Range(index, const(1)) for index in operand.indices)
        return Region(operand.buffer.dtype, operand.buffer, ranges, span=operand.span)
    raise TirxError(
        f"a tile must be a buffer or a slice of one, not {described(operand)}",
        operand.span if isinstance(operand, Expr) else None,
        "write for example buf, buf[:, :] or buf[i, j : j + 64]",
        about=operand,
    )


def layout_of(buffer: Buffer) -> Layout:
    """Return the layout of a buffer, row-major by default."""
    return buffer.layout if buffer.layout is not None else TileLayout(S[tuple(buffer.shape)])


def coordinate(expr: Expr) -> Coord:
    """Convert `expr` to a layout coordinate: a Python int if it is constant."""
    value = int_value(expr)
    return expr if value is None else value


def offsets(tile: Tile) -> list[int]:
    """Return divisors of the byte offsets of all views between the tile and its root.

    An offset known at compile time is itself, any other the largest number of bytes that is known to divide it.
    """
    links, buffer = [], tile.buffer
    while buffer.source is not None:
        links.append(buffer.byte_offset)
        if buffer.elem_offset is not None:
            links.append(Analyzer().divisor(buffer.elem_offset) * buffer.dtype.bits // 8)
        buffer = buffer.source
    return links


@dataclass(frozen=True)
class Tile:
    """A region viewed as a box of `extents`, without dimensions of extent 1."""

    region: Region

    @property
    def buffer(self) -> Buffer:
        return self.region.buffer

    @property
    def dtype(self) -> DataType:
        return self.region.buffer.dtype

    @property
    def scope(self) -> str:
        return self.region.buffer.scope

    @cached_property
    def starts(self) -> tuple[Expr, ...]:
        """The start of the region in every buffer dimension."""
        return tuple(r.start for r in self.region.ranges)

    @cached_property
    def kept(self) -> tuple[int, ...]:
        """The buffer dimensions along which the tile extends."""
        return tuple(axis for axis, extent in enumerate(self.region.extents) if extent != 1)

    @cached_property
    def extents(self) -> tuple[int, ...]:
        """The extents of the tile, empty for a single element."""
        return tuple(extent for extent in self.region.extents if extent != 1)

    @property
    def size(self) -> int:
        total = 1
        for extent in self.extents:
            total *= extent
        return total

    @cached_property
    def layout(self) -> Layout:
        return layout_of(self.buffer)

    @property
    def has_thread_axes(self) -> bool:
        """Return whether the tile is distributed over the registers of many threads (a register view)."""
        return self.scope == "local" and any(axis.name != "m" for axis in self.layout.axes)

    def index(self, coords: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Return the buffer indices of the tile element at `coords`."""
        indices = list(self.starts)
        for axis, coord in zip(self.kept, coords, strict=True):
            indices[axis] = indices[axis] + coord
        return tuple(indices)

    def broadcast(self, dst: Tile) -> tuple[int | None, ...] | None:
        """Map each dimension of the tile `dst` to the dimension of this tile that broadcasts along it, or None.

        Dimensions correspond from the last one backwards, as in NumPy. None where the extents do not fit.
        """
        own, whole = self.region.extents, dst.region.extents
        if len(own) > len(whole):
            own = own[len(own) - len(whole) :] if set(own[: len(own) - len(whole)]) == {1} else ()
        padded = (1,) * (len(whole) - len(own)) + tuple(own)
        if not own or any(extent not in (1, other) for extent, other in zip(padded, whole, strict=True)):
            return None
        numbers = iter(range(len(self.extents)))
        along = [None if extent == 1 else next(numbers) for extent in padded]
        return tuple(along[axis] for axis in dst.kept)

    def describe(self) -> str:
        """Describe the tile for error messages, as in ``128 × 64 float16 tile of Asmem (shared)``."""
        extents = " × ".join(map(str, self.extents)) or "1"
        return f"{extents} {self.dtype} tile of {self.buffer.name} ({self.scope})"


def tiles_of(call: TileCall) -> list[Tile]:
    """Return the tile operands of a call, in order."""
    return [Tile(operand) for operand in call.operands if isinstance(operand, Region)]
