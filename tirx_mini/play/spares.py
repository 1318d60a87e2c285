"""Objects that take long to make, each made in a thread before it is asked for."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

PATIENCE_S = 1.0


class Closable(Protocol):
    def close(self) -> None: ...


T = TypeVar("T", bound=Closable)


class SparesClosed(RuntimeError):
    """The error for an object that is asked for after the end."""

    def __init__(self) -> None:
        super().__init__("the server is ending")


class Spares(Generic[T]):
    """At most `count` spare objects of `make`; `take` returns one of them, or waits for the next.

    patience_s: for how long after a `take` none is made while another one is ready: most are given back sooner, and a
    process that starts would compete with the one that was taken.
    One thread makes all of them, and lives as long as they may: a process ends with the thread that has started it
    (Linux: PR_SET_PDEATHSIG).
    """

    def __init__(self, make: Callable[[], T], count: int, patience_s: float = PATIENCE_S) -> None:
        self._make, self._count, self._patience_s = make, count, patience_s
        self._ready: deque[T | Exception] = deque()
        self._changed = threading.Condition()
        self._round = 0
        self._patient_until = 0.0
        self._closed = False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start to make spares."""
        with self._changed:
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._work, daemon=True)
                self._thread.start()

    def take(self) -> T:
        """Return a spare, which is then the caller's. Raises an error of `make`, and `SparesClosed` after the end."""
        self.start()
        with self._changed:
            self._changed.wait_for(lambda: self._ready or self._closed)
            if self._closed:
                raise SparesClosed
            found = self._ready.popleft()
            self._patient_until = time.monotonic() + self._patience_s
            self._changed.notify_all()
        if isinstance(found, Exception):
            raise found
        return found

    def give_back(self, item: T) -> None:
        """Keep an object for later, or close it if there are enough."""
        with self._changed:
            kept = not self._closed and len(self._ready) < self._count
            if kept:
                self._ready.appendleft(item)  # whose caches are the warmest
                self._changed.notify_all()
        if not kept:
            item.close()

    def renew(self) -> None:
        """Close the spares, and make others: what `make` depends on has changed."""
        with self._changed:
            self._round += 1
            old, self._ready = self._ready, deque()
            self._changed.notify_all()
        _close(old)

    def close(self) -> None:
        """Close all spares; one that is being made is closed once it is ready."""
        with self._changed:
            self._closed = True
            old, self._ready = self._ready, deque()
            self._changed.notify_all()
        _close(old)

    def _wants(self, count: int) -> bool:
        return len(self._ready) < count

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closed or self._wants(self._count))
                while (rest := self._patient_until - time.monotonic()) > 0 and not (self._closed or self._wants(1)):
                    self._changed.wait(rest)
                if self._closed:
                    return
                if not self._wants(self._count):
                    continue
                number = self._round
            try:
                found: T | Exception = self._make()
            except Exception as error:
                found = error
            with self._changed:
                kept = not self._closed and number == self._round and len(self._ready) < self._count
                if kept:
                    self._ready.append(found)
                    self._changed.notify_all()
            if not kept:
                _close([found])


class Held(Generic[T]):
    """The object that a run uses; another thread may cancel the run, which closes the object."""

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._item: T | None = None
        self._cancelled = False

    def hold(self, item: T) -> bool:
        """Begin to use an object; return whether the run goes on."""
        with self._changing:
            self._item = item
            return not self._cancelled

    def release(self) -> bool:
        """End the use, after which the object may be another run's; return whether the run was not cancelled."""
        with self._changing:
            self._item = None
            return not self._cancelled

    def cancel(self) -> None:
        """Close the object, even while the run uses it."""
        with self._changing:
            self._cancelled = True
            if self._item is not None:
                self._item.close()


def _close(items: deque[T | Exception] | list[T | Exception]) -> None:
    for item in items:
        if not isinstance(item, Exception):
            item.close()
