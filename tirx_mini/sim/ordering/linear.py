"""The shadow of a linear memory: adjacent segments, looked up by address."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

import numpy as np

from .actors import Actor
from .shadow import Segment, distinct


class Shadow:
    """The segments of one linear memory, in ascending order of address; bytes between segments are not checked."""

    def __init__(self, segments: list[Segment]) -> None:
        self.segments = segments
        self._starts = [segment.start for segment in segments]

    def segment(self, address: int) -> Segment | None:
        """Return the segment that contains the byte `address`."""
        position = bisect_right(self._starts, address) - 1
        if position >= 0 and address < self.segments[position].stop:
            return self.segments[position]
        return None

    def pieces(self, start: int, stop: int) -> Iterator[tuple[Segment, slice]]:
        """Yield the checked parts of a byte range."""
        position = max(0, bisect_right(self._starts, start) - 1)
        for segment in self.segments[position:]:
            if segment.start >= stop:
                break
            low, high = max(start, segment.start), min(stop, segment.stop)
            if low < high:
                yield segment, segment.span(low, high)

    def read(self, start: int, stop: int, actor: Actor) -> None:
        """Check and record a read of a byte range by `actor`."""
        for segment, where in self.pieces(start, stop):
            segment.read(where, actor)

    def written(self, start: int, stop: int) -> tuple[tuple[int, ...], ...]:
        """Return the numbers of the last writes to a byte range."""
        return tuple(tuple(sorted(distinct(segment.writes[where]))) for segment, where in self.pieces(start, stop))

    def write(self, start: int, stop: int, actor: Actor) -> None:
        """Check and record a write of a byte range by `actor`."""
        for segment, where in self.pieces(start, stop):
            segment.write(where, actor)

    def scattered(self, addresses: np.ndarray, width: int) -> Iterator[tuple[Segment, np.ndarray]]:
        """Yield the checked granules of items of `width` bytes at scattered addresses."""
        low, high = int(addresses.min()), int(addresses.max()) + width
        for segment, _ in self.pieces(low, high):
            inside = addresses[(addresses + width > segment.start) & (addresses < segment.stop)]
            if inside.size:
                first = (np.maximum(inside, segment.start) - segment.start) // segment.granule
                last = (np.minimum(inside + width, segment.stop) - segment.start - 1) // segment.granule
                granules = first[:, None] + np.arange(int((last - first).max()) + 1)
                yield segment, granules[granules <= last[:, None]]

    def presume(self, start: int, stop: int) -> None:
        """Presume that an unmodelled instruction wrote a byte range, so that its bytes count as written."""
        for segment, where in self.pieces(start, stop):
            found = segment.writes[where]
            found[found == 0] = -1

    def read_items(self, addresses: np.ndarray, width: int, actor: Actor) -> None:
        """Check and record a read of items of `width` bytes by `actor`."""
        for segment, granules in self.scattered(addresses, width):
            segment.read(granules, actor)

    def write_items(self, addresses: np.ndarray, width: int, actor: Actor) -> None:
        """Check and record a write of items of `width` bytes by `actor`."""
        for segment, granules in self.scattered(addresses, width):
            segment.write(granules, actor)
