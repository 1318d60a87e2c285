"""Comparison of the MMAs of one sum with one another: common rows, and equal steps along K."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable
from dataclasses import field

from tirx_mini.records import dataclass

from .tile_facts import Misread
from .tile_views import Spot


@dataclass(frozen=True)
class Entry:
    """The start of an MMA's operand. rows: the row space of `row`. space: the coordinate space of `k`.

    A box of a matrix has the coordinates of the matrix; any other tile has its own.
    """

    spot: Spot
    rows: Hashable
    row: int
    space: Hashable
    k: int


def entry_of(spot: Spot, coords: tuple[int, ...] | None, extents: tuple[int, ...]) -> Entry:
    """Return the entry of a spot in a tile. coords: of the loaded box, innermost first; extents: of its tensor,
    outermost first; both empty for a tile that is not a box."""
    if coords is None or spot.dims is None or len(extents) != 2:
        return Entry(spot, spot.tile, spot.row, ("tile", spot.extent), spot.k)
    row, depth = spot.dims
    origin = coords[::-1]
    extent, k = int(extents[depth] * spot.scale), spot.k + int(origin[depth] * spot.scale)
    return Entry(spot, spot.tile.name, spot.row + origin[row], ("tensor", extent), k)


@dataclass(frozen=True)
class Stray:
    """A mismatch between MMAs of one sum. operand: "a" or "b" if two of its starts disagree; "" if A and B of one MMA
    disagree."""

    wrong: Misread
    operand: str
    spots: tuple[Spot, Spot]


@dataclass
class TileSum:
    """The MMAs of one sum without intervening operations. snapshot: of their issue."""

    snapshot: object
    waiting: list[tuple[Entry | None, Entry | None]] = field(default_factory=list[tuple[Entry | None, Entry | None]])
    _rows: dict[Hashable, Entry] = field(default_factory=dict[Hashable, Entry])
    _shift: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    _steps: dict[Hashable, list[int]] = field(default_factory=dict[Hashable, list[int]])
    _count: dict[Hashable, int] = field(default_factory=dict[Hashable, int])

    def stray(self) -> Stray | None:
        """Add the waiting MMAs, and return the first mismatch with the earlier ones."""
        added, self.waiting = self.waiting, []
        for a, b in added:
            found = self._add(a, b)
            if found is not None:
                return found
        return None

    def _add(self, a: Entry | None, b: Entry | None) -> Stray | None:
        for operand, entry in (("a", a), ("b", b)):
            if entry is None:
                continue
            before = self._rows.setdefault((operand, entry.rows), entry)
            if before.row != entry.row:
                return Stray(Misread.SHIFTED, operand, (before.spot, entry.spot))
        if a is None or b is None:
            return None
        for key, shift in (((a.spot.tile, b.spot.tile), a.spot.k - b.spot.k), ((a.space, b.space), a.k - b.k)):
            if (key[0] == key[1] or key == (a.spot.tile, b.spot.tile)) and self._shift.setdefault(key, shift) != shift:
                return Stray(Misread.STEPS, "", (a.spot, b.spot))
        return self._again(a, b)

    def _again(self, a: Entry, b: Entry) -> Stray | None:
        """Return a mismatch if elements along K are read twice although the MMAs could have covered the whole tile.

        A sum that adds the same product several times is no mismatch.
        """
        spot, key = a.spot, (a.spot.tile, b.spot.tile)
        places = self._steps.setdefault(key, [])
        count = self._count[key] = self._count.get(key, 0) + 1
        at = bisect_left(places, spot.k)
        if at == len(places) or places[at] != spot.k:
            near = [k for k in places[max(0, at - 1) : at + 1] if abs(k - spot.k) < spot.width]
            if near:
                return Stray(Misread.REPEATED, "a", (spot, spot))
            places.insert(at, spot.k)
        if len(places) * spot.width < spot.extent <= count * spot.width:
            return Stray(Misread.REPEATED, "a", (spot, spot))
        return None
