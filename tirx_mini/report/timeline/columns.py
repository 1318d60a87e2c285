"""Compact encoding of numbers and names in a page: integer columns as byte planes, and a table of names.

A column of n integers of w bytes is stored as w planes of n bytes, the lowest bytes first. The high bytes of small
numbers are then runs of zeros, which zlib compresses well. `web/timeline/src/data.ts` is the decoder.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

T = TypeVar("T", bound=Hashable)


class Names(Generic[T]):
    """A table of distinct values, numbered in order of first use."""

    def __init__(self) -> None:
        self.values: list[T] = []
        self._numbers: dict[T, int] = {}

    def __call__(self, value: T) -> int:
        """Return the index of a value, from 0."""
        number = self._numbers.get(value)
        if number is None:
            number = self._numbers[value] = len(self.values)
            self.values.append(value)
        return number


class ByIdentity(Generic[T]):
    """A function on objects that are expensive to compare, cached by identity."""

    def __init__(self, function: Callable[[T], int]) -> None:
        self._function = function
        self._known: dict[int, tuple[T, int]] = {}

    def __call__(self, value: T) -> int:
        known = self._known.get(id(value))
        if known is None:
            known = self._known[id(value)] = (
                value,
                self._function(value),
            )  # holds the object, so that its id stays its own
        return known[1]


class Columns:
    """A sequence of concatenated columns. at: the offset of the first one."""

    def __init__(self, at: int = 0) -> None:
        self.index: dict[str, dict[str, Any]] = {}
        self._parts: list[bytes] = []
        self._size = at

    def add(self, name: str, numbers: Sequence[int] | np.ndarray, *, signed: bool = False, scale: int = 1) -> None:
        """Append a column. scale: the divisor for readers. Raises `ValueError` for a number beyond 32 bits."""
        column = np.asarray(numbers, np.int64)
        if signed:
            column = np.where(column < 0, -2 * column - 1, 2 * column)
        most = int(column.max(initial=0))
        if column.min(initial=0) < 0 or most >= 1 << 32:
            raise ValueError(f"column {name!r} has numbers that 32 bits do not hold")
        width = 1 if most < 1 << 8 else 2 if most < 1 << 16 else 4
        planes = column.astype(f"<u{width}").view(np.uint8).reshape(-1, width).T.tobytes()
        about = {"at": self._size, "width": width, "length": len(column), "signed": signed, "scale": scale}
        self.index[name] = about
        self._parts.append(planes)
        self._size += len(planes)

    def payload(self) -> bytes:
        return b"".join(self._parts)


def packed(header: object, payloads: Iterable[bytes]) -> str:
    """Return a JSON header and payloads, compressed and base64-encoded."""
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    block = len(text).to_bytes(4, "little") + text + b"".join(payloads)
    return base64.b64encode(zlib.compress(block, 9)).decode("ascii")
