"""The parts of its arguments that a kernel did not write."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from math import prod

import numpy as np
import numpy.typing as npt

from tirx_mini.ir import AddressOf, BufferLoad, BufferStore, PrimFunc, Span
from tirx_mini.records import dataclass

from .facts import Fact, Origin
from .machine import Element, GlobalBuffer, GlobalMemory, element_of

Interval = tuple[int, int]
"""A half-open interval [start, stop) of one dimension."""
Box = tuple[Interval, ...]


@dataclass(frozen=True)
class NothingWritten(Fact):
    """A completed kernel that wrote none of its arguments.

    results: the names of the arguments that it does not read.
    last: the last unused computation, write to shared memory, or MMA with unread results.
    """

    results: tuple[str, ...]
    last: Span | None


@dataclass(frozen=True)
class NanResult(Fact):
    """NaN in a written argument, although no argument contained one before.

    element: the first NaN. poison: whether its bits are those of uninitialised memory.
    """

    buffer: str
    element: Element
    poison: bool


@dataclass(frozen=True)
class Unwritten:
    """The part of an argument that no thread wrote, although the kernel writes the argument.

    shape: of the argument. boxes: disjoint, each with an interval per dimension; empty if nothing was written.
    """

    buffer: str
    shape: tuple[int, ...]
    boxes: tuple[Box, ...]


def is_finite(array: np.ndarray) -> bool:
    """Return whether an array contains neither NaN nor infinity."""
    with np.errstate(invalid="ignore"):  # a bfloat16 may be a signalling NaN, which needs no warning
        return array.dtype.kind not in "fV" or bool(np.isfinite(array).all())


def nan_result(buffer: GlobalBuffer, array: np.ndarray, span: Span | None) -> NanResult | None:
    """Return the NaN result in an argument, preferring NaNs of uninitialised memory; None if there is none."""
    flat = array.reshape(-1)
    with np.errstate(invalid="ignore"):
        places = np.flatnonzero(np.isnan(flat)) if array.dtype.kind in "fV" else np.zeros(0, np.int64)
    if not places.size:
        return None
    bits = flat.view(f"u{flat.dtype.itemsize}")[places].astype(np.uint64)
    high = np.uint64(1 << 8 * flat.dtype.itemsize - 1)
    poisoned = (bits | high == 2 * int(high) - 1) & (flat.dtype.itemsize > 1)
    element = element_of(buffer, int(places[int(np.argmax(poisoned))]))
    return NanResult(Origin("", "", "", span), buffer.name, element, bool(poisoned.any()))


def unwritten(memory: GlobalMemory) -> list[Unwritten]:
    """Return the unwritten parts of the arguments that the kernel stores to; only for a run with checks."""
    found: list[Unwritten] = []
    for slot, segment in memory.segments.items():
        found.extend(unwritten_of(memory.buffers[slot], segment.untouched(), segment.granule))
    return found


def unwritten_of(buffer: GlobalBuffer, untouched: npt.NDArray[np.bool_], granule: int) -> Iterator[Unwritten]:
    """Yield the unwritten part of an argument, if any. untouched: a mask of its granules, of `granule` bytes."""
    if untouched.any():
        boxes = () if untouched.all() else tuple(_boxes(buffer, untouched, granule))
        yield Unwritten(buffer.name, buffer.shape or (buffer.size,), boxes)


def _boxes(buffer: GlobalBuffer, untouched: npt.NDArray[np.bool_], granule: int) -> Iterator[Box]:
    """Yield the boxes of a buffer's untouched elements. granule: bytes per entry of `untouched`."""
    size, shape = buffer.dtype.itemsize, buffer.shape or (buffer.size,)
    marks = np.repeat(untouched, granule // size) if granule > size else untouched
    elements = marks[: prod(shape)] if granule >= size else np.all(marks.reshape(-1, size // granule), axis=1)
    return boxes_of(elements.reshape(shape))


def boxes_of(marks: npt.NDArray[np.bool_]) -> Iterator[Box]:
    """Yield the marked elements as disjoint boxes: column intervals, over runs of identical rows."""
    rows = marks.reshape(-1, marks.shape[-1])
    edges = [0, *(np.flatnonzero((rows[1:] != rows[:-1]).any(axis=1)) + 1).tolist(), len(rows)]
    for start, stop in itertools.pairwise(edges):
        for columns in _runs(rows[start]):
            yield from ((*outer, columns) for outer in _outer(marks.shape[:-1], start, stop))


def _outer(extents: tuple[int, ...], start: int, stop: int) -> Iterator[Box]:
    """Yield the rows [start, stop) as boxes in the outer dimensions; row by row if there are several."""
    if not extents:
        yield ()
    elif len(extents) == 1:
        yield ((start, stop),)
    else:
        for row in range(start, stop):
            yield tuple((int(index), int(index) + 1) for index in np.unravel_index(row, extents))


def _runs(marked: npt.NDArray[np.bool_]) -> list[Interval]:
    """Return the intervals in which a row is marked."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], marked, [False]))))
    return [(int(first), int(last)) for first, last in edges.reshape(-1, 2)]


def last_unused(func: PrimFunc) -> Span | None:
    """Return the last store of a lowered function to unread registers, or else its last store to shared memory."""
    nodes = func.nodes
    read = {node.buffer.root for node in nodes if isinstance(node, (BufferLoad, AddressOf))}
    stores = [node for node in nodes if isinstance(node, BufferStore)]
    unused = [store for store in stores if store.buffer.scope == "local" and store.buffer.root not in read]
    shared = [store for store in stores if store.buffer.scope == "shared"]
    return next((chosen[-1].span for chosen in (unused, shared) if chosen), None)
