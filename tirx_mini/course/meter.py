"""The progress of a simulation while it runs, and an estimate of its duration."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import TypeAlias

Share: TypeAlias = Callable[[], float]
"""The completed share of a run, from 0 to 1; it may be called in another thread."""
WatchShare: TypeAlias = Callable[[Share], None]
"""The function that is called with each starting run."""

PATIENCE_S = 2.0
"""The delay in seconds before progress is shown."""
PERIOD_S = 0.25
LEAST = 0.02
"""The share that must be completed before the rest is estimated."""


class Meter:
    """Shows text about the latest run of `watch` a few times a second, within its `with` block.

    show: called in another thread, from `PATIENCE_S` seconds on; "" at the end, if anything was shown. None shows
    nothing.
    """

    def __init__(self, show: Callable[[str], None] | None, patience_s: float = PATIENCE_S) -> None:
        self._show = show
        self._patience_s = patience_s
        self._run: tuple[int, Share, float] | None = None
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def watch(self, share: Share) -> None:
        """Start watching a run."""
        number = 1 if self._run is None else self._run[0] + 1
        self._run = number, share, time.monotonic()

    def __enter__(self) -> Meter:
        if self._show is not None:
            self._over.clear()
            self._run = None
            self._thread = threading.Thread(target=self._report, args=(self._show,), daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread is not None:
            self._over.set()
            self._thread.join()
            self._thread = None

    def _report(self, show: Callable[[str], None]) -> None:
        if self._over.wait(self._patience_s):
            return
        while not self._over.wait(PERIOD_S):
            show(self.text())
        show("")

    def text(self) -> str:
        """Return the progress text, as in "simulating: 43 % done, about 12 s left"."""
        if self._run is None:
            return "preparing the simulation"
        number, share, start = self._run
        done = share()
        what = "simulating" if number == 1 else f"simulating, run {number}"
        if done >= 1:
            return f"{what}: done, looking at the results"
        left = ""
        if done >= LEAST:
            left = f", about {time_text((time.monotonic() - start) * (1 - done) / done)} left"
        return f"{what}: {done:.0%} done{left}"


def time_text(seconds: float) -> str:
    """Return a duration as text, as in "12 s" or "1 min 40 s"."""
    whole = max(1, round(seconds))
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60} s"
