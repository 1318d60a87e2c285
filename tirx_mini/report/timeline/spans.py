"""Spans of time that may overlap."""

from __future__ import annotations

from collections.abc import Sequence


def covered(spans: Sequence[tuple[float, float]]) -> float:
    """The length of what the spans cover."""
    covered, reached = 0.0, float("-inf")
    for start, end in sorted(spans):
        covered += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return covered
