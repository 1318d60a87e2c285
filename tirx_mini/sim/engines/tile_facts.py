"""Facts about MMAs whose operands disagree with the layout of the tiles in shared memory."""

from __future__ import annotations

from collections.abc import Hashable
from enum import Enum, auto

from tirx_mini.ir import Span
from tirx_mini.isa import SmemDescriptor
from tirx_mini.records import dataclass

from ..facts import Fact
from ..machine import WrittenTile


class Misread(Enum):
    """The kind of disagreement between an operand and the tile that it reads."""

    DTYPE = auto()
    """The elements are read as another dtype."""
    SWIZZLE = auto()
    """The 16-byte chunks are read with a different swizzle."""
    MIXED = auto()
    """One row or column of the operand covers several rows or columns of the tile."""
    ROWS = auto()
    """Adjacent rows of the operand are not adjacent in the tile."""
    COLUMNS = auto()
    """Adjacent elements along K of the operand are not adjacent in the tile."""
    SHIFTED = auto()
    """The MMAs of one sum start in different rows of the tile."""
    STEPS = auto()
    """The MMAs of one sum advance along K by different steps in A and in B."""
    REPEATED = auto()
    """The MMAs of one sum read some elements along K twice, and others never."""


@dataclass(frozen=True)
class Seen:
    """An element of an operand, (row, element along K), and the tile element at its location."""

    place: tuple[int, int]
    element: tuple[int, ...]


@dataclass(frozen=True)
class TileMisread(Fact):
    """An MMA that reads a tile in a different layout than it was written.

    operand: "a" or "b"; "" if the two disagree, A first. tiles: the tiles read. writer: the location of the last write.
    descriptor, dtype, mn_major: the layout of the read. rows, columns: the byte distances to the eighth next row, and
    to the next group of columns. seen: two elements that disagree.
    """

    operand: str
    wrong: Misread
    tiles: tuple[WrittenTile, ...]
    writer: Span | None
    descriptor: SmemDescriptor
    dtype: str
    mn_major: bool
    rows: int | None
    columns: int | None
    seen: tuple[Seen, ...]

    @property
    def other(self) -> Span | None:
        return self.writer

    @property
    def variety(self) -> Hashable:
        return self.operand


@dataclass(frozen=True)
class OwnAccumulator(Fact):
    """An MMA whose operand in tensor memory overlaps its accumulator. what: matrix A, or the factors of A or of B, in
    words. read, written: the first and last columns of each."""

    what: str
    read: tuple[int, int]
    written: tuple[int, int]

    @property
    def variety(self) -> Hashable:
        return self.what


@dataclass(frozen=True)
class FactorsMisread(Fact):
    """Scale factors that are read as another dtype, or copied by tcgen05.cp in another layout. wrong: which of the two.

    tile: the tile in shared memory. read: the type, or the descriptor in words. writer: the location of the write.
    """

    wrong: Misread
    tile: WrittenTile
    read: str
    writer: Span | None

    @property
    def other(self) -> Span | None:
        return self.writer
