"""Levels for overlapping time spans."""

from __future__ import annotations

from collections.abc import Sequence

from tirx_mini.diagnose import Interval


def levels(intervals: Sequence[Interval], most: int | None = None) -> list[int]:
    """Return for each interval the first level, from 0, that no earlier interval still occupies.

    The intervals are sorted by start.

    most: the maximum number of levels; an interval that fits on none of them is also placed on the last one.
    """
    free: list[float] = []
    found: list[int] = []
    for interval in intervals:
        level = next((level for level, end in enumerate(free) if end <= interval.start), len(free))
        if level == len(free) and level != most:
            free.append(interval.end)
        else:
            level = min(level, len(free) - 1)
            free[level] = max(free[level], interval.end)
        found.append(level)
    return found
