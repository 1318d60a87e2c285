"""The distinct numbers of an array. `np.unique` imports `numpy.ma` at its first call, which takes 10 ms."""

from __future__ import annotations

import numpy as np


def distinct(values: np.ndarray) -> np.ndarray:
    """Return the distinct values, in order."""
    return counted(values)[0]


def counted(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct values, in order, and how often each of them occurs."""
    ordered = np.sort(values, axis=None)
    last = np.ones(ordered.size, bool)
    np.not_equal(ordered[1:], ordered[:-1], out=last[:-1])
    ends = np.flatnonzero(last)
    return ordered[ends], np.diff(ends, prepend=-1)
