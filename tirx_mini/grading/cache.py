"""Results of judged kernels, by the kernels' keys: a kernel that many hand in is simulated once."""

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
"""The file of a folder that has its secret."""


class Cache:
    """Values of JSON by key, for threads; and for later runs too, with a folder. Two that ask for a key at the same
    time get one answer: the second waits for the first.

    folder: a file for each key, which is there in full or not at all. A file that cannot be read counts as none.
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
        """Secret bytes for random draws: the same as long as the results are kept."""
        with self._lock:
            if self._secret is None:
                self._secret = _secret_of(self._folder) if self._folder is not None else secrets.token_bytes(32)
            return self._secret

    def value(self, key: str, make: Callable[[], tuple[object, bool]]) -> Any:
        """The value of a key; `make` gives it where there is none, and says whether to keep it for others."""
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

    def _make(self, key: str, make: Callable[[], tuple[object, bool]]) -> Any:
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

    def _read(self, key: str) -> Any:
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
    """The secret of a folder, which the first process draws: any other process finds it whole."""
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
