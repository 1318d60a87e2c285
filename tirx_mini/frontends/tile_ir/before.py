"""Tracking of launches that may overlap under programmatic dependent launch, and of their memory accesses.

With programmatic dependent launch, a kernel may start before its predecessor has ended, which may itself have started
early. Before it waits for its predecessors, it may read memory that they do not write, and write memory that they do
not access.
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
    """The memory intervals that a launch may write, and those that it may access."""

    written: tuple[Interval, ...]
    used: tuple[Interval, ...]


@dataclass(frozen=True, eq=False)
class Stream:
    """The launches of a stream that may overlap: the last one and those that it did not wait for.

    key: the stream as the program has it.
    """

    key: Any
    running: tuple[Uses, ...]


_STREAM: ContextVar[Stream | None] = ContextVar("stream", default=None)


def early_accesses(stream: object, program: TileProgram, arguments: Arguments, early: bool) -> Early:
    """Return the parameters that a launch may access before it waits. early: the previous launch may still run."""
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


def note_launch(stream: object, program: TileProgram, arguments: Arguments, early: bool) -> None:
    """Record a launch for the next one; a launch that did not start early has no overlapping predecessors."""
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
    """Return the memory interval of each parameter, or None for numbers and empty arrays."""
    return [_place(value) if isinstance(value, np.ndarray) and value.size else None for value in arguments.values]


def _place(array: np.ndarray) -> Interval:
    """Return the address interval of an array with non-negative strides."""
    last = sum((n - 1) * stride for n, stride in zip(array.shape, array.strides, strict=True))
    return array.ctypes.data, array.ctypes.data + last + array.itemsize


def _meets(place: Interval | None, others: Iterable[Interval]) -> bool:
    return place is not None and any(place[0] < end and start < place[1] for start, end in others)
