"""The output tiles of each CTA, for the wave view.

A tile begins with an MMA that overwrites an accumulator which the current tile has already begun. Every tile has the
same number of stores, and the stores of a tile cover a rectangle. If no such partition of the stores exists, a tile has
the stores between the end of its MMAs and the end of the next tile's MMAs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from tirx_mini.records import dataclass

from ..timeline import CtaTime, Tile
from .engine_intervals import box_of, ranges
from .notes import GLOBAL_COPY, GLOBAL_STORE, CopyNote, MmaNote, Notes, Written

Box = tuple[tuple[int, int], ...]


@dataclass
class _Work:
    """The MMAs of one tile. end: the end of the last one, in cycles."""

    end: float = 0.0
    begun: set[object] = field(default_factory=set[object])


@dataclass(frozen=True)
class _Store:
    """A store to global memory, with its time interval and destination."""

    start: float
    end: float
    buffer: str
    box: Box


def tiles_of(notes: Notes, ctas: Iterable[CtaTime], held: Mapping[int, float]) -> list[Tile]:
    """Return the tiles of all CTAs, by CTA and then by start. held: for each CTA that waited for tensor memory, the end
    of its wait; its first tile starts after that."""
    mmas: dict[int, list[MmaNote]] = {}
    for mma in notes.mmas:
        for cta in mma.ctas:
            mmas.setdefault(cta, []).append(mma)
    stores = _stores(notes)
    return [
        tile
        for cta in ctas
        for tile in _tiles(cta, max(cta.start, held.get(cta.cta, 0.0)), mmas.get(cta.cta, ()), stores.get(cta.cta, []))
    ]


def _tiles(cta: CtaTime, start: float, mmas: Sequence[MmaNote], stores: list[_Store]) -> list[Tile]:
    """Return the tiles of one CTA from `start` on: none if it computes nothing, one if it only stores."""
    works: list[_Work] = []
    for mma in sorted(mmas, key=lambda mma: mma.start):
        if not works or works[-1].begun.intersection(mma.fresh):
            works.append(_Work())
        works[-1].begun.update(mma.fresh)
        works[-1].end = max(works[-1].end, mma.end)
    if not works and not stores:
        return []
    tiles: list[Tile] = []
    shares = _shares(stores, len(works))
    for number, work in enumerate(works or [_Work(cta.start)]):
        last = number + 1 >= len(works)
        if shares is not None:
            own = shares[number]
        else:
            own = [s for s in stores if s.start >= work.end and (last or s.start < works[number + 1].end)]
        end = cta.end if last else min(cta.end, max([work.end, *(store.end for store in own)]))
        tiles.append(Tile(cta.cta, start, max(start, end), _name(own) or f"tile {number}", work.end if works else 0.0))
        start = tiles[-1].end
    return tiles


def _shares(stores: Sequence[_Store], tiles: int) -> list[list[_Store]] | None:
    """Return the stores of each tile, in equal numbers; None if those of some tile do not cover a rectangle.

    Among several partitions into rectangles, the stores of a tile are chosen closest together in time.
    """
    if tiles < 2 or len(stores) % tiles or len({s.buffer for s in stores}) != 1 or any(len(s.box) != 2 for s in stores):
        return None
    each = len(stores) // tiles
    in_order = sorted(stores, key=lambda store: store.start)
    first = [min(store.box[axis][0] for store in stores) for axis in (0, 1)]
    extent = [max(store.box[axis][1] - store.box[axis][0] for store in stores) for axis in (0, 1)]
    found: list[list[list[_Store]]] = []
    for down in (n for n in range(1, each + 1) if each % n == 0):
        height, width = extent[0] * down, extent[1] * (each // down)
        groups: dict[tuple[int, int], list[_Store]] = {}
        for store in in_order:
            rectangle = (store.box[0][0] - first[0]) // height, (store.box[1][0] - first[1]) // width
            groups.setdefault(rectangle, []).append(store)
        if len(groups) == tiles and all(len({s.box for s in group}) == each for group in groups.values()):
            found.append(list(groups.values()))
    return min(found, key=lambda groups: sum(group[-1].start - group[0].start for group in groups), default=None)


def _name(stores: Sequence[_Store]) -> str:
    """Return the part of the output that the stores of a tile cover together; "" for no stores."""
    buffers = {store.buffer for store in stores}
    if len(buffers) != 1 or len({len(store.box) for store in stores}) != 1:
        return ""
    corners = zip(*(store.box for store in stores), strict=True)
    return buffers.pop() + ranges((min(s for s, _ in dim), max(e for _, e in dim)) for dim in corners)


def _stores(notes: Notes) -> dict[int, list[_Store]]:
    """Return all stores to global memory by CTA."""
    found: dict[int, list[_Store]] = {}
    for copy in notes.copies:
        if not copy.load:
            found.setdefault(copy.cta, []).append(_of_copy(copy))
    shapes = {buffer.name: buffer.shape for buffer in notes.image.globals}
    for log in notes.warps:
        if log.uses.isdisjoint((GLOBAL_STORE, GLOBAL_COPY)):
            continue
        for step in log.steps:
            if step.use in (GLOBAL_STORE, GLOBAL_COPY):
                written = step.operands[0]
                box = _corners(shapes.get(written.buffer, ()), written)
                found.setdefault(log.track.cta, []).append(_Store(step.begin, step.end, written.buffer, box))
    return found


def _of_copy(copy: CopyNote) -> _Store:
    return _Store(copy.start, copy.end, copy.tensor_map.buffer.name, box_of(copy))


def _corners(shape: Sequence[int], written: Written) -> Box:
    """Return the box between the first and the last element of a store."""
    box: list[tuple[int, int]] = []
    low, high = written.low, written.high
    for extent in reversed(shape):
        (low, first), (high, last) = divmod(low, extent), divmod(high, extent)
        box.append((min(first, last), max(first, last) + 1))
    return tuple(reversed(box))
