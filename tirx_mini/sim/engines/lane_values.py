"""The values of accesses with a memory order: those of the active lanes, and as generated code computes with them."""

from __future__ import annotations

import numpy as np

from ..machine import LANES, RunningWarp


def active(w: RunningWarp, value: object, dtype: np.dtype, varies: bool) -> np.ndarray:
    """A value as the active lanes have it, in the type of the memory; untyped bits keep a number of another type."""
    array = np.atleast_1d(np.asarray(value))
    if dtype.kind in "iu" and array.dtype.kind not in "iub":
        array = array.view(f"u{array.dtype.itemsize}")
    array = array.astype(dtype)  # integers wrap
    if not varies:
        return array
    return np.broadcast_to(array, (LANES,))[w.mask.lanes]


def spread(w: RunningWarp, found: np.ndarray) -> np.ndarray:
    """Values of the active lanes at their places among all, as generated code computes with them."""
    wide = found.dtype if found.dtype.kind not in "iu" or found.dtype == np.uint64 else np.dtype(np.int64)
    full = np.zeros(LANES, wide)
    full[w.mask.lanes] = found
    return full


def scalar(found: np.ndarray) -> int | np.generic:
    """One value as generated code computes with it."""
    return int(found[0]) if found.dtype.kind in "iu" else found[0]


def elements(words: np.ndarray, like: np.ndarray) -> np.ndarray:
    """The elements in registers of a lane, of the number and type of `like`: side by side, or one in each register."""
    if like.nbytes == words.nbytes:
        return np.ascontiguousarray(words).view(like.dtype)
    return words.astype(f"u{like.itemsize}").view(like.dtype)


def in_registers(found: np.ndarray, count: int) -> np.ndarray:
    """Elements as `count` registers hold them."""
    bits = found.view(np.uint32 if found.nbytes == 4 * count else f"u{found.itemsize}")
    return bits.astype(np.uint32)
