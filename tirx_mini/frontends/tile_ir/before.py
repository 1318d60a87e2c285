"""The launches that may still be running when one begins early, and what they do to memory.

With programmatic dependent launch, a kernel may begin before the one before it has ended, which may have begun early,
too. Before it waits for them, it may read memory that none of them writes, and write memory that none of them uses.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any

import numpy as np

from tirx_mini.records import dataclass

from .arguments import Arguments
from .program import TileProgram

Interval = tuple[int, int]
"""Addresses, the second one not included."""
Early = tuple[frozenset[str], frozenset[str]]
"""The parameters that a launch may read, and may write, before it waits."""


@dataclass(frozen=True)
class Uses:
    """The memory that a launch may write, and all that it may use."""

    written: tuple[Interval, ...]
    used: tuple[Interval, ...]


@dataclass(frozen=True, eq=False)
class Stream:
    """The launches of a stream that may run together: the last one, and the ones that it did not wait for.

    key: the stream as the program has it.
    """

    key: Any
    running: tuple[Uses, ...]


_STREAM: ContextVar[Stream | None] = ContextVar("stream", default=None)


def early_accesses(stream: Any, program: TileProgram, arguments: Arguments, early: bool) -> Early:
    """Return what a launch may touch before it waits. early: whether the launch before it may still be running."""
    names, places = program.names, _places(arguments)
    if len(set(names)) < len(names):
        return frozenset(), frozenset()
    if not early:
        return frozenset(names), frozenset(names)
    known = _STREAM.get()
    if known is None or known.key is not stream:
        return frozenset(), frozenset()
    written = [interval for uses in known.running for interval in uses.written]
    used = [interval for uses in known.running for interval in uses.used]
    free = [frozenset(n for n, place in zip(names, places, strict=True) if not _meets(place, taken))
            for taken in (written, used)]  # fmt: skip
    return free[0], free[1]


def note_launch(stream: Any, program: TileProgram, arguments: Arguments, early: bool) -> None:
    """Remember a launch for the next one. A launch that did not begin early began after all others had ended."""
    places = _places(arguments)
    written = tuple(place for i, place in enumerate(places) if i in program.written and place is not None)
    uses = Uses(written, tuple(place for place in places if place is not None))
    known = _STREAM.get()
    if not early:
        _STREAM.set(Stream(stream, (uses,)))
    elif known is not None and known.key is stream:
        _STREAM.set(Stream(stream, (*known.running, uses)))
    else:
        _STREAM.set(None)


def _places(arguments: Arguments) -> list[Interval | None]:
    """The memory of each parameter; None for a number, and for an array without elements."""
    return [_place(value) if isinstance(value, np.ndarray) and value.size else None for value in arguments.values]


def _place(array: np.ndarray) -> Interval:
    """The addresses of an array, whose strides are not negative."""
    last = sum((n - 1) * stride for n, stride in zip(array.shape, array.strides, strict=True))
    return array.ctypes.data, array.ctypes.data + last + array.itemsize


def _meets(place: Interval | None, others: Iterable[Interval]) -> bool:
    return place is not None and any(place[0] < end and start < place[1] for start, end in others)
