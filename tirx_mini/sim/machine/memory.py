"""The memories of a GPU, as bytes: shared memory of a CTA, tensor memory of an SM, and global memory.

Fresh shared and tensor memory is poisoned: filled with bytes that are NaN in every floating-point type, and marked in
the shadow as unwritten.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from math import prod
from typing import ClassVar, Protocol

import numpy as np

from tirx_mini.hardware import TMEM_COLUMNS, TMEM_LANES
from tirx_mini.records import dataclass

from ..ordering import PROXY_GLOBAL, AccessLog, Complain, Segment, Shadow, Unwatched
from .image import GlobalBuffer, SharedBuffer
from .lazy import LazySums

POISON = 0xFF
WIDTHS = {1: np.dtype("u1"), 2: np.dtype("u2"), 4: np.dtype("u4"), 8: np.dtype("u8"), 16: np.dtype("c16"),
          32: np.dtype("V32"), 64: np.dtype("V64"), 128: np.dtype("V128")}  # fmt: skip
"""Item types by their size in bytes, for moving data. A complex128 is 16 bytes that NumPy copies without
interpretation."""

MAX_GRANULE = 16
GLOBAL_SPACING = 40
"""The spacing of global buffers: buffer `slot` begins at address (slot + 1) << 40."""

GROUP_LANES = 16
"""The number of lanes of tensor memory that are checked together. An accumulator of 64 rows occupies as many of each 32
(PTX ISA: data path layout F)."""


class Box(Protocol):
    """The bytes of a copy to shared memory, stored lazily at the first access."""

    @property
    def nbytes(self) -> int: ...
    def put(self, smem: SharedMemory, offset: int) -> None:
        """Write the bytes from `offset` on."""
        ...


class SharedMemory:
    """The dynamic shared memory of one CTA. size: bytes. complain: None for an unchecked run.

    fill: the initial value of its bytes.
    boxes: the copied boxes that are not stored yet, by their start; they do not overlap.
    """

    def __init__(
        self, size: int, buffers: Sequence[SharedBuffer], log: AccessLog, complain: Complain | None, fill: int = POISON
    ) -> None:
        self.size = size
        nbytes = -(-size // 128) * 128
        self.bytes = np.full(nbytes, fill, np.uint8) if fill else np.zeros(nbytes, np.uint8)
        self._views: dict[int, np.ndarray] = {}
        self._segments: dict[int, Segment | None] = {}
        self.boxes: dict[int, Box] = {}
        self._boxed = (size, 0)
        ranges = partition(buffers, size) if complain is not None else []
        self.shadow = Shadow([Segment(*place, log, complain) for place in ranges if complain is not None])

    def bring(self, offset: int, box: Box) -> None:
        """Place a box at byte `offset`, replacing the present contents."""
        before = self.boxes.get(offset)
        if before is None or before.nbytes != box.nbytes:
            end = offset + box.nbytes
            self._settle(offset, end)
            self._boxed = min(self._boxed[0], offset), max(self._boxed[1], end)
        self.boxes[offset] = box

    def _settle(self, first: int, end: int) -> None:
        """Store the pending boxes that overlap the range."""
        for offset, box in [(o, b) for o, b in self.boxes.items() if o < end and first < o + b.nbytes]:
            del self.boxes[offset]
            box.put(self, offset)

    def near(self, width: int, first: int, end: int) -> np.ndarray:
        """Return the memory as items of `width` bytes, valid for accesses to the bytes from `first` to `end`."""
        if self.boxes and first < self._boxed[1] and end > self._boxed[0]:
            self._settle(first, end)
        return self._items(width)

    def view(self, width: int) -> np.ndarray:
        """Return the memory as items of `width` bytes."""
        if self.boxes:
            self._settle(0, self.size)
        return self._items(width)

    def _items(self, width: int) -> np.ndarray:
        items = self._views.get(width)
        if items is None:
            items = self._views[width] = self.bytes.view(WIDTHS[width])
        return items

    def segment_of(self, buffer: SharedBuffer) -> Segment | None:
        """Return the shadow of a buffer; None in an unchecked run."""
        if buffer.byte_offset not in self._segments:
            self._segments[buffer.byte_offset] = self.shadow.segment(buffer.byte_offset)
        return self._segments[buffer.byte_offset]


def partition(buffers: Sequence[SharedBuffer], size: int) -> list[tuple[int, int, int]]:
    """Return (start, stop, granule) of disjoint ranges that cover `size` bytes; overlapping buffers share a range."""
    ranges: list[tuple[int, int, int]] = []
    for buffer in sorted(buffers, key=lambda b: b.byte_offset):
        start, stop = buffer.byte_offset, min(buffer.end, size)
        granule = min(MAX_GRANULE, buffer.access_bytes, start & -start or MAX_GRANULE)
        if start >= stop:
            continue
        if ranges and start < ranges[-1][1]:
            first, last, finest = ranges[-1]
            ranges[-1] = (first, max(last, stop), min(finest, granule))
        else:
            ranges.append((start, stop, granule))
    covered: list[tuple[int, int, int]] = []
    end = 0
    for start, stop, granule in [*ranges, (size, size, 1)]:
        if end < start:
            covered.append((end, start, min(MAX_GRANULE, end & -end or MAX_GRANULE)))
        if start < stop:
            covered.append((start, stop, granule))
        end = stop
    return covered


def buffer_at(buffers: Sequence[SharedBuffer], offset: int) -> SharedBuffer | None:
    """Return the smallest buffer that contains a byte of shared memory."""
    holding = [b for b in buffers if b.byte_offset <= offset < b.end]
    return min(holding, key=lambda b: b.nbytes, default=None)


@dataclass(frozen=True)
class Element:
    """An element of a buffer under its source name: `tma2mma[1]`, `Asmem[0, 12, 8]`; a scalar has no indices.

    buffer: its name. Memory without a buffer is named by its byte.
    """

    buffer: str
    indices: tuple[int, ...] = ()

    @property
    def stage(self) -> int | None:
        """The index into a one-dimensional buffer."""
        return self.indices[0] if len(self.indices) == 1 else None

    def __str__(self) -> str:
        return f"{self.buffer}[{', '.join(map(str, self.indices))}]" if self.indices else self.buffer


def element_of(buffer: SharedBuffer | GlobalBuffer, number: int) -> Element:
    """Return the element at a flat offset of a buffer."""
    if buffer.size <= 1:
        return Element(buffer.name)
    indices: list[int] = []
    for extent in reversed(buffer.shape or (buffer.size,)):
        number, index = divmod(number, extent)
        indices.append(index)
    return Element(buffer.name, tuple(reversed(indices)))


class GlobalMemory:
    """The kernel's arguments in global memory.

    Writes go into the given arrays. complain: as for shared memory.

    Arguments may overlap in memory, for example if one array is passed twice. A write through one of them is then
    visible through the other, and they share one shadow.
    """

    def __init__(
        self, buffers: Sequence[GlobalBuffer], arrays: Sequence[np.ndarray], complain: Complain | None
    ) -> None:
        self.buffers = {buffer.slot: buffer for buffer in buffers}
        self.bytes = {b.slot: _flat_bytes(a) for b, a in zip(buffers, arrays, strict=True)}
        self._views: dict[tuple[int, int], np.ndarray] = {}
        self.log = AccessLog(PROXY_GLOBAL)
        self.segments: dict[int, Segment] = {}
        self._overlaps: dict[int, tuple[GlobalBuffer, ...]] = {}
        self.constant: set[int] = set()
        """The slots of read-only buffers."""
        for group in _overlapping(buffers, arrays):
            members = tuple(buffer for buffer, _ in group)
            written = any(buffer.written for buffer in members)
            if not written:
                self.constant.update(buffer.slot for buffer in members)
            if complain is None or not written:
                continue
            granule = min(MAX_GRANULE, *(b.access_bytes for b in members), *(o & -o for _, o in group if o))
            size = max(offset + buffer.nbytes for buffer, offset in group)
            whole = Segment(0, size, granule, self.log, complain, initialised=True, shared=True)
            for buffer, offset in group:
                self.segments[buffer.slot] = whole.view(-offset, buffer.nbytes)
                self._overlaps[buffer.slot] = members

    SPACING: ClassVar[int] = GLOBAL_SPACING

    def view(self, slot: int, width: int) -> np.ndarray:
        """Return a buffer as items of `width` bytes."""
        items = self._views.get((slot, width))
        if items is None:
            data = self.bytes[slot]
            items = self._views[slot, width] = data[: len(data) // width * width].view(WIDTHS[width])
        return items

    def others(self, slot: int) -> tuple[str, ...]:
        """Return the names of the other arguments that overlap a checked one in memory."""
        return tuple(buffer.name for buffer in self._overlaps[slot] if buffer.slot != slot)

    @staticmethod
    def base(slot: int) -> int:
        """Return the 64-bit address of a buffer's first byte."""
        return (slot + 1) << GLOBAL_SPACING

    def locate(self, address: int) -> tuple[GlobalBuffer, int] | None:
        """Return the buffer and byte offset of a 64-bit address, or None for an unmapped address."""
        buffer = self.buffers.get((address >> GLOBAL_SPACING) - 1)
        offset = address & ((1 << GLOBAL_SPACING) - 1)
        return None if buffer is None or offset >= buffer.nbytes else (buffer, offset)

    def near(self, address: int) -> tuple[GlobalBuffer, int] | None:
        """Return the nearest buffer to a 64-bit address, and the offset from the buffer's first byte."""
        half = 1 << (GLOBAL_SPACING - 1)
        slot, offset = divmod(address + half, 1 << GLOBAL_SPACING)
        buffer = self.buffers.get(slot - 1)
        return None if buffer is None else (buffer, offset - half)


def _overlapping(
    buffers: Sequence[GlobalBuffer], arrays: Sequence[np.ndarray]
) -> list[list[tuple[GlobalBuffer, int]]]:
    """Return the buffers in groups that overlap in host memory, each with its byte offset in the group.

    Groups are in the order of their first arguments, independently of their addresses.
    """
    starts = {b.slot: a.__array_interface__["data"][0] for b, a in zip(buffers, arrays, strict=True)}
    groups: list[list[tuple[GlobalBuffer, int]]] = []
    first = end = 0
    for buffer in sorted(buffers, key=lambda b: starts[b.slot]):
        start = starts[buffer.slot]
        if not groups or start >= end:
            groups.append([])
            first = start
        groups[-1].append((buffer, start - first))
        end = max(end, start + buffer.nbytes)
    return sorted(groups, key=lambda group: min(buffer.slot for buffer, _ in group))


def _flat_bytes(array: np.ndarray) -> np.ndarray:
    if array.ndim == 1 and array.dtype == np.uint8:
        return array
    if not array.flags.c_contiguous:
        raise ValueError("kernel arguments are contiguous arrays")
    return array.reshape(-1).view(np.uint8)


class TensorMemory:
    """Tensor memory as one CTA sees it: uint32[128 lanes, 512 columns] (PTX ISA: "Tensor Memory").

    complain: as for shared memory. lazy: to columns.
    """

    def __init__(self, log: AccessLog, complain: Complain | None) -> None:
        shape = (TMEM_LANES // GROUP_LANES, TMEM_COLUMNS)
        watched = complain is not None
        self.shadow = Segment(0, prod(shape), 1, log, complain, shape=shape) if watched else Unwatched()
        self.lazy = LazySums()

    def close(self) -> None:
        """Drop the pending sums, which refer to this memory."""
        self.lazy.clear()

    @property
    def clusters(self) -> Sequence[TensorMemory]:
        """The tensor memories of all clusters of a batch; usually a single one."""
        return (self,)

    @cached_property
    def _words(self) -> np.ndarray:
        """The contents as words.

        CTAs without a tile never allocate them.

        The lanes of a column are adjacent, like the registers of a warp that loads it.
        """
        return np.full((TMEM_COLUMNS, TMEM_LANES), POISON * 0x01010101, np.uint32).T

    def words(self, column: int, columns: int) -> np.ndarray:
        """Return a view of the contents of `columns` columns from `column` on: uint32[128 lanes, columns]."""
        if self.lazy:
            self.lazy.collect(column, column + columns)
        return self._words[:, column : column + columns]

    def clear(self, column: int, columns: int) -> None:
        """Reset newly allocated columns to uninitialised."""
        where = (slice(None), slice(column, column + columns))
        self.lazy.collect(column, column + columns)
        if "_words" in self.__dict__:
            self._words[where] = POISON * 0x01010101
        self.shadow.forget(where)


class Locator:
    """A map from shared-memory addresses to buffers and elements."""

    def __init__(self, buffers: Sequence[SharedBuffer]) -> None:
        edges = sorted({0, *(b.byte_offset for b in buffers), *(b.end for b in buffers)})
        self._edges = edges
        self._buffers = [buffer_at(buffers, edge) for edge in edges]

    def find(self, offset: int) -> SharedBuffer | None:
        return self._buffers[bisect_right(self._edges, offset) - 1]

    def element(self, offset: int) -> Element:
        """Return the element at a byte of shared memory."""
        buffer = self.find(offset)
        if buffer is None:
            return Element(f"shared memory at byte {offset}")
        return element_of(buffer, (offset - buffer.byte_offset) // buffer.dtype.itemsize)
