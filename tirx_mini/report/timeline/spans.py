"""Spans of time that may overlap."""

from __future__ import annotations

from collections.abc import Sequence

from tirx_mini.diagnose import Interval


def covered(spans: Sequence[tuple[float, float]]) -> float:
    """The length of what the spans cover."""
    covered, reached = 0.0, float("-inf")
    for start, end in sorted(spans):
        covered += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return covered


def levels(intervals: Sequence[Interval]) -> list[int]:
    """For each interval the first level, from 0, on which none of those before it is still there. They are by start."""
    free: list[float] = []
    found: list[int] = []
    for interval in intervals:
        level = next((level for level, end in enumerate(free) if end <= interval.start), len(free))
        free[level : level + 1] = [interval.end]
        found.append(level)
    return found
