"""A bandwidth-limited resource whose requests may be simulated out of time order.

A first-come queue would be wrong here: a warp simulated early may make a request for a late time, which must not delay
an earlier request that is simulated later. So time is divided into windows of fixed capacity, and a request takes the
remaining capacity from its own window on.
"""

from __future__ import annotations

WINDOW = 128.0
"""The length of a window in cycles."""
KEPT = 512
"""The number of windows kept before old ones are first dropped; later, twice the number of remaining windows."""


class Bandwidth:
    """A resource of `rate` bytes per cycle, shared in order of time."""

    __slots__ = ("_capacity", "_full", "_kept", "_used", "rate")

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self._capacity = rate * WINDOW
        self._used: dict[float, float] = {}  # by window: whole numbers, as floats
        self._full: dict[float, float] = {}
        self._kept = KEPT

    def take(self, time: float, nbytes: float, now: float = 0.0) -> float:
        """Transfer `nbytes` from `time` on, and return the completion time. No later request precedes `now`."""
        window = time // WINDOW
        used, rate = self._used, self.rate
        before = used.get(window)
        if before is None:
            filled = 0.0 + nbytes
            if len(used) > self._kept:
                self._forget(now // WINDOW)
                used = self._used
        else:
            filled = before + nbytes
        if filled >= self._capacity:
            window, filled = self._overflow(window, nbytes)
        used[window] = filled
        alone, shared = time + nbytes / rate, window * WINDOW + filled / rate
        return alone if alone >= shared else shared

    def _overflow(self, window: float, nbytes: float) -> tuple[float, float]:
        """Add `nbytes` to a window that they fill, or that is full, and to the windows after it; return the first one
        with room, and its bytes.
        """
        used, full, capacity = self._used, self._full, self._capacity
        if window in full:
            window = self._first_free(window)
        filled = used.get(window, 0.0) + nbytes
        while filled >= capacity:
            used[window] = capacity
            after = full[window] = window + 1
            window = self._first_free(after) if after in full else after
            filled = used.get(window, 0.0) + (filled - capacity)
        return window, filled

    def _first_free(self, window: float) -> float:
        """Return the first window from `window` on that has room."""
        full = self._full
        free = window
        while free in full:
            free = full[free]
        while window in full and full[window] != free:
            full[window], window = free, full[window]
        return free

    def _forget(self, first: float) -> None:
        self._used = {window: used for window, used in self._used.items() if window >= first}
        self._full = {window: free for window, free in self._full.items() if window >= first}
        self._kept = max(KEPT, 2 * len(self._used))
