"""An MMA operand as a part of the tiles written at its location.

Rows of an operand are consecutive rows of a tile, and its elements along K are consecutive columns: each dimension of
the tile belongs to one of the two. A descriptor of a different layout violates this: with a different swizzle, one row
of the operand consists of chunks of several rows of the tile.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from tirx_mini.records import dataclass

from ..machine import ChunkTable, WrittenTile
from ..ordering import distinct
from .tile_facts import Misread, Seen


@dataclass(frozen=True)
class Spot:
    """The start of an MMA in a tile: the indices of the row and of the element along K.

    width: the number of elements along K that it reads. extent: the number in the tile. element: the tile element.
    dims: the dimensions of rows and of K; None if these are several. scale: the number of read elements per tile
    element along K.
    """

    tile: WrittenTile
    row: int
    k: int
    width: int
    extent: int
    element: tuple[int, ...]
    dims: tuple[int, int] | None = None
    scale: float = 1.0


@dataclass(frozen=True, eq=False)
class Reading:
    """An operand that is a part of tiles. spots: the start of each MMA; None where no tile is known."""

    spots: tuple[Spot | None, ...]


@dataclass(frozen=True)
class Mismatch:
    """A disagreement between an operand and a tile, with two elements that show it."""

    wrong: Misread
    tile: WrittenTile
    seen: tuple[Seen, ...] = ()


class TileView:
    """The chunks of an operand.

    at: int[lines, chunks], chunk indices in shared memory. ids: the index of each chunk's tile in `tiles`, or -1.
    mn_major: whether lines are along K. mmas: the number of MMAs side by side along K. itemsize: bytes of an element as
    read.
    """

    def __init__(
        self, at: np.ndarray, ids: np.ndarray, tiles: Sequence[WrittenTile], mn_major: bool, mmas: int, itemsize: float
    ) -> None:
        self.at, self.ids, self.tiles, self.mn_major = at, ids, tiles, mn_major
        self.step = at.shape[0 if mn_major else 1] // mmas
        self.mmas, self.itemsize = mmas, itemsize

    def compare(self) -> Reading | Mismatch:
        """Return the operand as a part of the tiles, or the first mismatch."""
        numbers = (n for n in distinct(self.ids) if n >= 0)
        parts = {number: part for number in numbers if (part := self._part(number)) is not None}
        first = next(iter(parts), -1)
        for number, part in parts.items():
            wrong = part.mismatch()
            behind = self.tiles[number].name != self.tiles[first].name
            if wrong is not None and not (behind and self._follows(number)):
                return wrong
        return Reading(tuple(self._spot(parts, mma) for mma in range(self.mmas)))

    def _part(self, number: int) -> Part | None:
        table = self.tiles[number].table
        if table is None:
            return None
        local = self.at - self.tiles[number].start // 16
        mask = (self.ids == number) & (local >= 0) & (local < len(table.valid))
        mask &= table.valid[np.where(mask, local, 0)]
        if not mask.any():
            return None
        others = (self.ids >= 0) & (self.ids != number)
        return Part(self.tiles[number], table, np.where(mask, local, 0), (mask, others), self.mn_major, self.step)

    def _follows(self, number: int) -> bool:
        """Return whether a tile covers exactly the last rows of the operand, whose results may be unused."""
        rows = (self.ids == number).all(axis=0 if self.mn_major else 1)
        edge = int(np.argmax(rows))
        return edge > 0 and bool(rows[edge:].all())

    def _spot(self, parts: dict[int, Part], mma: int) -> Spot | None:
        place = (mma * self.step, 0) if self.mn_major else (0, mma * self.step)
        part = parts.get(int(self.ids[place]))
        return part.spot(place, self.itemsize) if part is not None and part.mask[place] else None


class Part:
    """The part of an operand in one tile.

    local: the index of each chunk in the tile. masks: the chunks in this tile, and those in another one.
    """

    def __init__(
        self, tile: WrittenTile, table: ChunkTable, local: np.ndarray, masks: tuple[np.ndarray, np.ndarray],
        mn_major: bool, step: int,
    ) -> None:  # fmt: skip
        self.tile, self.along, (self.mask, self.others), self.mn_major = tile, table.along, masks, mn_major
        self.step = step
        self.coords = table.coords[:, local]
        moving = [d for d, extent in enumerate(tile.shape) if extent > 1]
        self.by_line = [d for d in moving if self._varies(d, 0)]
        self.by_chunk = [d for d in moving if d == self.along or self._varies(d, 1)]

    def _varies(self, dim: int, axis: int) -> bool:
        """Return whether a coordinate differs among chunks that differ only along an axis."""
        values = self.coords[dim]
        low = np.where(self.mask, values, np.iinfo(np.int32).max).min(axis=axis)
        high = np.where(self.mask, values, -1).max(axis=axis)
        return bool((high > low).any())

    def mismatch(self) -> Mismatch | None:
        """Return the first mismatch of the part, or None."""
        rectangle = np.outer(self.mask.any(axis=1), self.mask.any(axis=0))
        if (rectangle & self.others).any() or set(self.by_line) & set(self.by_chunk):
            return Mismatch(Misread.MIXED, self.tile, self._mixed())
        for axis, dims, unit in ((0, self.by_line, 1), (1, self.by_chunk, self.tile.per_chunk)):
            along_k = (axis == 0) == self.mn_major
            wrong = self._gap(axis, dims, unit, self.step if along_k else 0)
            if wrong is not None:
                return Mismatch(Misread.COLUMNS if along_k else Misread.ROWS, self.tile, wrong)
        return None

    def _gap(self, axis: int, dims: Sequence[int], unit: int, step: int) -> tuple[Seen, ...] | None:
        """Return two neighbours along an axis that are not adjacent in the tile, apart from MMA boundaries every `step`
        positions."""
        number = _numbered(self.tile, self.coords, dims)
        if axis:
            number, mask = number.T, self.mask.T
        else:
            mask = self.mask
        wrong = (np.diff(number, axis=0) != unit) & mask[1:] & mask[:-1]
        if step:
            wrong[step - 1 :: step] = False
        if not wrong.any():
            return None
        before, other = (int(i) for i in np.argwhere(wrong)[0])
        places = [(before, other), (before + 1, other)]
        return tuple(self._seen((b, a) if axis else (a, b)) for a, b in places)

    def _mixed(self) -> tuple[Seen, ...]:
        """Return the first chunk in the tile, and one that does not fit it."""
        first = tuple(int(i) for i in np.argwhere(self.mask)[0])
        start = self.coords[:, first[0], first[1]]
        both = [d for d in self.by_line if d in self.by_chunk]
        for line, chunk in np.argwhere(self.mask).tolist():
            if chunk == first[1] and (self.coords[both, line, chunk] != start[both]).any():
                return self._seen(first), self._seen((line, chunk))
        return (self._seen(first),)

    def _seen(self, place: tuple[int, ...]) -> Seen:
        line, chunk = place
        per = self.tile.per_chunk
        where = (chunk * per, line) if self.mn_major else (line, chunk * per)
        return Seen(where, tuple(int(c) for c in self.coords[:, line, chunk]))

    def spot(self, place: tuple[int, int], itemsize: float) -> Spot:
        """Return the spot of a chunk in the tile."""
        here = self.coords[:, place[0], place[1]]
        of_lines, of_chunks = (int(_numbered(self.tile, here, dims)) for dims in (self.by_line, self.by_chunk))
        row, k = (of_chunks, of_lines) if self.mn_major else (of_lines, of_chunks)
        scale = 1.0 if self.mn_major else self.tile.dtype.itemsize / itemsize
        width = self.step if self.mn_major else self.step * self.tile.per_chunk
        rows, depth = (self.by_chunk, self.by_line) if self.mn_major else (self.by_line, self.by_chunk)
        dims = (rows[0], depth[0]) if len(rows) == len(depth) == 1 else None
        extent = prod(self.tile.shape[d] for d in depth)
        k, width, extent = (int(n * scale) for n in (k, width, extent))
        return Spot(self.tile, row, k, width, extent, self._seen(place).element, dims, scale)


def _numbered(tile: WrittenTile, coords: np.ndarray, dims: Sequence[int]) -> np.ndarray:
    """Return the chunk coordinates along some dimensions of a tile, linearised to one number per chunk."""
    number = np.zeros(coords.shape[1:], np.int64)
    for dim in dims:
        number = number * tile.shape[dim] + coords[dim]
    return number


def in_order(tile: WrittenTile, items: np.ndarray) -> bool:
    """Return whether chunks, row after row, are adjacent in a tile."""
    table, local = tile.table, items.reshape(-1) - tile.start // 16
    if table is None or local.min() < 0 or local.max() >= len(table.valid):
        return True
    number = _numbered(tile, table.coords[:, local], range(len(tile.shape)))
    return bool((np.diff(number) == tile.per_chunk).all())
