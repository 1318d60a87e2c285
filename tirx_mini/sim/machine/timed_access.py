"""Plain loads and stores of a run without data: bounds, alignment and time, but no bytes.

If the locations of the lanes are a start plus a static pattern, all facts about the pattern are computed once.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np

from tirx_mini.distinct import counted, distinct
from tirx_mini.records import dataclass

from ..timing import LINE_BITS, through_l2
from .access import Buffer, active, check_alignment, check_bounds, spend_global, spend_shared
from .dtypes import Index
from .image import SharedBuffer
from .interfaces import Warp


@dataclass(frozen=True)
class Footprint:
    """The element offsets of the active lanes, relative to a start.

    pattern: element offsets. count: their number. low, high: the extremes. aligned: whether to `lanes` elements.
    places: by the start's byte in its line, the bytes through the L2, the lines, and the accesses to each.
    items: the pattern in units of `lanes` elements. distinct: whether all differ.
    repeats: by the start's byte in a line, the passes added by bank conflicts.
    """

    pattern: np.ndarray
    count: int
    low: int
    high: int
    aligned: bool
    items: np.ndarray
    distinct: bool
    places: dict[int, tuple[int, np.ndarray, np.ndarray]] = field(
        default_factory=dict[int, tuple[int, np.ndarray, np.ndarray]]
    )
    repeats: dict[int, int] = field(default_factory=dict[int, int])

    def fits(self, buffer: Buffer, start: int, lanes: int) -> bool:
        """Return whether the accesses lie inside the buffer and are aligned to `lanes` elements."""
        if start + self.low < 0 or start + self.high > buffer.size - lanes:
            return False
        if lanes == 1:
            return True
        aligned = not isinstance(buffer, SharedBuffer) or not buffer.byte_offset % (buffer.dtype.itemsize * lanes)
        return aligned and self.aligned and not start % lanes

    def at(self, byte: int, itemsize: int, lanes: int) -> tuple[int, np.ndarray, np.ndarray]:
        """Return (bytes through the L2, lines, accesses per line) for a start at `byte` of its line."""
        found = self.places.get(byte)
        if found is None:
            width = itemsize * lanes
            where = (self.pattern + byte // itemsize) * itemsize // width
            lines, counts = counted(where * width >> LINE_BITS)
            found = self.places[byte] = through_l2(where, width, self.count), lines, counts
        return found


_ONE = np.zeros((), np.int64)


def passes(w: Warp, buffer: Buffer, start: int, pattern: Index | None, lanes: int, write: bool) -> None:
    """See `RunningWarp.passes`."""
    footprint = footprint_of(w, pattern, lanes)
    if footprint.fits(buffer, start, lanes):
        spend(w, buffer, footprint, start, lanes, write)
    else:
        at = start + footprint.pattern if footprint.count > 1 else start
        passes_at(w, buffer, at, lanes, write, selected=True)


def spend(w: Warp, buffer: Buffer, footprint: Footprint, start: int, lanes: int, write: bool) -> None:
    """Advance the warp's time by an access within bounds."""
    size = buffer.dtype.itemsize
    width, count = size * lanes, footprint.count
    if isinstance(buffer, SharedBuffer):
        spend_shared(w, count, width, write)
        return
    first = start * size
    byte = first % (1 << LINE_BITS)
    moved, lines, counts = footprint.at(byte, size, lanes)
    missed = w.gpu.traffic.touch_lines(buffer.slot, lines + (first >> LINE_BITS), counts, width)
    spend_global(w, count, width, moved, missed, write)


def passes_at(w: Warp, buffer: Buffer, index: Index, lanes: int, write: bool, selected: bool = False) -> None:
    """See `RunningWarp.passes_at`. selected: whether `index` is of the active lanes only."""
    index = active(w, index) if isinstance(index, np.ndarray) and not selected else index
    check_bounds(w, buffer, index, lanes)
    if lanes > 1:
        check_alignment(w, buffer, index, lanes)
    width = buffer.dtype.itemsize * lanes
    count = index.size if isinstance(index, np.ndarray) else 1
    if isinstance(buffer, SharedBuffer):
        spend_shared(w, count, width, write)
        return
    moved, missed = w.gpu.traffic.touch(buffer.slot, index // lanes, width, count)
    spend_global(w, count, width, moved, missed, write)


def footprint_of(w: Warp, pattern: Index | None, lanes: int) -> Footprint:
    mask = w.mask
    """The cached footprint of the active lanes for a pattern of `lanes` elements each."""
    key = (id(pattern), mask.word, lanes)
    known: dict[Any, Footprint] = w.gpu.footprints
    found = known.get(key)
    if found is None:
        offsets = _ONE if pattern is None else np.asarray(active(w, pattern))
        low, high = (int(offsets.min()), int(offsets.max())) if offsets.size else (0, 0)
        items = offsets // lanes
        apart = distinct(items).size == items.size
        found = known[key] = Footprint(offsets, offsets.size, low, high, not (offsets % lanes).any(), items, apart)
    return found
