"""The operands of a tile primitive: regions without their dimensions of extent 1, and what their layouts say.

``Asmem[stage, :, :]`` and ``A[m : m + 128, k : k + 64]`` are both 128 × 64 tiles; dropping the dimensions of extent 1
is what lets them meet. A `Tile` holds a region and that view of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tirx_mini.ir import Buffer, BufferLoad, DataType, Expr, Range, Region, TileCall, TirxError, const, int_value
from tirx_mini.layout import Coord, Layout, S, TileLayout


def as_region(operand: object) -> Region:
    """`operand` as a region: a buffer is all of itself, an element a region of one.

    Raises TirxError for anything that is no part of a buffer.
    """
    if isinstance(operand, Region):
        return operand
    if isinstance(operand, Buffer):
        return operand.region()
    if isinstance(operand, BufferLoad):
        ranges = tuple(Range(index, const(1)) for index in operand.indices)
        return Region(operand.buffer.dtype, operand.buffer, ranges, span=operand.span)
    raise TirxError(
        f"a tile must be a buffer or a slice of one, not {operand!r}",
        getattr(operand, "span", None),
        "write for example buf, buf[:, :] or buf[i, j : j + 64]",
    )


def layout_of(buffer: Buffer) -> Layout:
    """The buffer's layout; row-major where it declares none."""
    return buffer.layout if buffer.layout is not None else TileLayout(S[tuple(buffer.shape)])


def coordinate(expr: Expr) -> Coord:
    """`expr` as the layouts take it: a Python int where it is one."""
    value = int_value(expr)
    return expr if value is None else value


def offsets(tile: Tile) -> list[int]:
    """Where the tile's buffer begins in what it is a view of, in bytes, for each link of the chain of views."""
    links, buffer = [], tile.buffer
    while buffer.source is not None:
        links.append(buffer.byte_offset)
        buffer = buffer.source
    return links


@dataclass(frozen=True)
class Tile:
    """A region as a box of `extents`, its dimensions of extent 1 dropped."""

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
        """Where the region begins, in every dimension of the buffer."""
        return tuple(r.start for r in self.region.ranges)

    @cached_property
    def kept(self) -> tuple[int, ...]:
        """The dimensions of the buffer that the tile runs over."""
        return tuple(axis for axis, extent in enumerate(self.region.extents) if extent != 1)

    @cached_property
    def extents(self) -> tuple[int, ...]:
        """The tile's extents; empty for a single element."""
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
        """Whether the tile is spread over the registers of many threads (a register view)."""
        return self.scope == "local" and any(axis.name != "m" for axis in self.layout.axes)

    def index(self, coords: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """The buffer's indices of the element of the tile at `coords`."""
        indices = list(self.starts)
        for axis, coord in zip(self.kept, coords, strict=True):
            indices[axis] = indices[axis] + coord
        return tuple(indices)

    def describe(self) -> str:
        """The tile for error messages, as in ``the shared float16 128 × 64 tile Asmem``."""
        extents = " × ".join(map(str, self.extents)) or "1"
        return f"{extents} {self.dtype} tile of {self.buffer.name} ({self.scope})"


def tiles_of(call: TileCall) -> list[Tile]:
    """The operands of a call that are tiles, in order."""
    return [Tile(operand) for operand in call.operands if isinstance(operand, Region)]
