"""Facts about MMAs that read tiles of shared memory in another way than these were written."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from enum import Enum, auto

from tirx_mini.ir import Span
from tirx_mini.isa import SmemDescriptor

from ..facts import Fact
from ..machine import WrittenTile


class Misread(Enum):
    """What is wrong with the way in which an operand is read."""

    DTYPE = auto()
    """Elements are read as those of another type."""
    SWIZZLE = auto()
    """Chunks of 16 bytes are looked for by another swizzle."""
    MIXED = auto()
    """A row or a column of the operand is in several rows or columns of the tile."""
    ROWS = auto()
    """Rows of the operand follow one another that do not do so in the tile."""
    COLUMNS = auto()
    """The same along K."""
    SHIFTED = auto()
    """The MMAs of one sum begin in different rows of the tile."""
    STEPS = auto()
    """The MMAs of one sum go on along K in A as they do not in B."""
    REPEATED = auto()
    """The MMAs of one sum read some elements along K again, and others never."""


@dataclass(frozen=True)
class Seen:
    """An element of an operand, (row, element along K), and the element of the tile that is found there."""

    place: tuple[int, int]
    element: tuple[int, ...]


@dataclass(frozen=True)
class TileMisread(Fact):
    """An MMA that reads a tile in another way than it was written.

    operand: "a" or "b"; "" where the two do not fit together, A first. tiles: those that are read. writer: where the
    tile was last written. descriptor, dtype, mn_major: how the operand is read. rows, columns: the bytes of the tile
    from a row to the eighth one after it, and from one group of columns to the next. seen: two elements that do not fit
    together.
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
    words. read, written: columns of the two, first and last."""

    what: str
    read: tuple[int, int]
    written: tuple[int, int]

    @property
    def variety(self) -> Hashable:
        return self.what


@dataclass(frozen=True)
class FactorsMisread(Fact):
    """Scale factors that are read as what they are not. wrong: by another type, or, by tcgen05.cp, in another layout.

    tile: of shared memory that holds them. read: the type, or the descriptor in words. writer: where they were written.
    """

    wrong: Misread
    tile: WrittenTile
    read: str
    writer: Span | None

    @property
    def other(self) -> Span | None:
        return self.writer
