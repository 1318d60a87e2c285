"""Cached results of judged kernels by key, so that a kernel in many hand-ins is simulated once."""

from __future__ import annotations

import json
import os
import secrets
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tirx_mini.files import write_whole

SECRET = ".secret"
"""The file with the secret of a cache folder."""


class Cache:
    """Values of JSON by key, for threads; and for later runs too, with a folder. Concurrent
    requests for a key share one computation.

    folder: the folder of atomically written files, one for each key. An unreadable file counts as missing.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        self._secret: bytes | None = None
        self._values: dict[str, Any] = {}
        self._lock = threading.Lock()
        self._pending: dict[str, threading.Event] = {}

    @property
    def secret(self) -> bytes:
        """Secret bytes for random draws, with the same lifetime as the results."""
        with self._lock:
            if self._secret is None:
                self._secret = _secret_of(self._folder) if self._folder is not None else secrets.token_bytes(32)
            return self._secret

    def value(self, key: str, make: Callable[[], tuple[object, bool]]) -> Any:
        """Return the value of a key; a missing value is computed by `make`, which also decides whether to keep it."""
        while True:
            with self._lock:
                if key in self._values:
                    return self._values[key]
                waiting = self._pending.get(key)
                if waiting is None:
                    self._pending[key] = threading.Event()
            if waiting is None:
                return self._make(key, make)
            waiting.wait()

    def _make(self, key: str, make: Callable[[], tuple[object, bool]]) -> object:
        try:
            value = self._read(key)
            if value is not None:
                with self._lock:
                    self._values[key] = value
                return value
            value, keep = make()
            if keep:
                with self._lock:
                    self._values[key] = value
                self._write(key, value)
            return value
        finally:
            with self._lock:
                self._pending.pop(key).set()

    def _read(self, key: str) -> object:
        if self._folder is None:
            return None
        try:
            return json.loads((self._folder / f"{key}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def _write(self, key: str, value: object) -> None:
        if self._folder is None:
            return
        write_whole(self._folder / f"{key}.json", json.dumps(value))


def _secret_of(folder: Path) -> bytes:
    """Return the secret of a folder, created atomically by the first process."""
    path = folder / SECRET
    if not path.exists():
        handle, name = tempfile.mkstemp(dir=folder)
        try:
            with os.fdopen(handle, "w") as stream:
                stream.write(secrets.token_hex(32))
            with suppress(FileExistsError):
                os.link(name, path)
        finally:
            Path(name).unlink()
    return path.read_bytes()
