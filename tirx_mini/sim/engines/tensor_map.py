"""The boxes of a tensor map, in global memory and in shared memory.

A box is read and written through a strided view of the tensor; elements outside the tensor are zero in a load (or NaN,
if the map says so) and skipped in a store. In shared memory the box is dense, innermost dimension first, with the
16-byte chunks of its rows XORed by the map's swizzle, which acts on address bits (PTX ISA: "Tensor swizzling modes").
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from enum import Enum, auto
from functools import cached_property, lru_cache, partial
from typing import NoReturn, TypeAlias

import numpy as np

from tirx_mini.hardware import (
    MAX_TMA_BOX,
    MAX_TMA_RANK,
    MAX_TMA_STRIDE,
    SWIZZLE_PERIOD,
    TMA_GLOBAL_ALIGN,
    TMA_SMEM_ALIGN,
)
from tirx_mini.ir import Buffer, DataType, TensorMap, Var
from tirx_mini.isa import swizzle_bytes

from ..machine import BatchedSharedMemory, GlobalMemory, SharedMemory, numpy_dtype
from ..ordering import Actor, Unequal
from .numbers import to_float
from .reductions import OPERATIONS
from .submatrix import LateMatrix, Submatrix

CHUNK = 16
STRIP = 512
"""The number of matrix columns that are stored together: as many as a product consumes at once (`sums`)."""
KEPT_BYTES = 256 << 20
"""The maximum size of a tensor whose converted numbers are cached; as float32 they take two to four times as much."""


Strips: TypeAlias = "dict[tuple[int, str], LateMatrix | None]"
"""The converted numbers of a tensor, by strip and dtype."""


class TensorMapRule(Enum):
    """A requirement of `cuTensorMapEncodeTiled` on a tensor map (CUDA driver API)."""

    RANK = auto()
    """The tensor has one to five dimensions, and the box has as many."""
    BOX_EXTENT = auto()
    """Each extent of the box is 1 to 256 elements."""
    ROW_MULTIPLE = auto()
    """The rows of the box are multiples of 16 bytes."""
    SWIZZLE = auto()
    """The swizzle is 0, 32, 64 or 128 bytes."""
    ROW_IN_SWIZZLE = auto()
    """The rows of the box are no wider than the swizzle."""
    STRIDES = auto()
    """The strides are multiples of 16 bytes, below 2^40."""
    ROWS = auto()
    """For gather4 and scatter4, the tensor has two dimensions and the box one row (PTX ISA: "tile::scatter4 and
    tile::gather4")."""


def broken_rule(tensor_map: TensorMap, rows: bool = False) -> TensorMapRule | None:
    """Return the first rule of `cuTensorMapEncodeTiled` that a tensor map violates, or None.

    rows: whether it is used for gather4 or scatter4.
    """
    if rows and (tensor_map.rank != 2 or tensor_map.box[1:] != (1,)):
        return TensorMapRule.ROWS
    inner = tensor_map.box[0] * tensor_map.buffer.dtype.itemsize
    if not 1 <= tensor_map.rank <= MAX_TMA_RANK or len(tensor_map.box) != tensor_map.rank:
        return TensorMapRule.RANK
    if any(not 1 <= extent <= MAX_TMA_BOX for extent in tensor_map.box):
        return TensorMapRule.BOX_EXTENT
    if inner % TMA_GLOBAL_ALIGN:
        return TensorMapRule.ROW_MULTIPLE
    if tensor_map.swizzle not in (0, 32, 64, 128):
        return TensorMapRule.SWIZZLE
    if tensor_map.swizzle and inner > tensor_map.swizzle:
        return TensorMapRule.ROW_IN_SWIZZLE
    if any(stride % TMA_GLOBAL_ALIGN or stride >= MAX_TMA_STRIDE for stride in tensor_map.strides):
        return TensorMapRule.STRIDES
    return None


@lru_cache(maxsize=256)
def smem_chunks(count: int, swizzle: int, phase: int) -> np.ndarray:
    """Return the chunk index of each 16-byte chunk of a dense box, relative to the start of the box.

    count: chunks in the box. phase: the address modulo 1024, which the swizzle depends on.
    """
    addresses = phase + CHUNK * np.arange(count)
    return (swizzle_bytes(addresses, swizzle) - phase) // CHUNK


class BoxCopier:
    """A tensor map bound to the memory of a launch. box_bytes: of a whole box, as complete_tx counts them.

    smem_alignment: of the box in shared memory, in bytes. strips: the numbers of the tensor, for all runs of a launch.
    """

    smem_alignment = TMA_SMEM_ALIGN

    def __init__(
        self, tensor_map: TensorMap, memory: GlobalMemory, slot: int, strips: Strips | None = None
    ) -> None:
        self.name = tensor_map.buffer.name
        self.slot = slot
        self.tensor_map = tensor_map
        self.box = tensor_map.box[::-1]
        self.dims = tensor_map.dims[::-1]
        self.dtype = numpy_dtype(tensor_map.buffer.dtype)
        self.box_bytes = tensor_map.box_bytes
        self.chunks = self.box_bytes // CHUNK
        self.swizzle = tensor_map.swizzle
        self.fill = np.nan if tensor_map.nan_fill else 0
        self._data = memory.bytes[slot][tensor_map.offset :]
        self.strides = (*tensor_map.strides[::-1], self.dtype.itemsize)
        self.last = sum((d - 1) * s for d, s in zip(self.dims, self.strides, strict=True)) + self.dtype.itemsize
        if self.last > len(self._data):
            given = len(self._data)
            raise ValueError(f"the tensor map of {self.name} describes {self.last} bytes; the array has {given}")
        self.segment = memory.segments.get(slot)
        self.constant = slot in memory.constant
        self._boxes: dict[tuple[int, ...], LoadedBox] = {}
        self._strips: Strips = {} if strips is None else strips
        self._rooms: dict[str, np.ndarray] = {}
        self._first = tensor_map.offset - self.segment.start if self.segment is not None else 0
        self._pattern = self._granules() if self.segment is not None else None

    @cached_property
    def tensor(self) -> np.ndarray:
        """The elements in global memory."""
        size = self.dtype.itemsize
        words = self._data[: len(self._data) // size * size].view(f"u{size}")
        return np.lib.stride_tricks.as_strided(words, self.dims, self.strides).view(self.dtype)  # lacks float8_e5m2

    def _granules(self) -> np.ndarray:
        """Return the granule numbers of a box at the origin, relative to its first."""
        assert self.segment is not None
        granule = self.segment.granule
        row = np.arange(self.box[-1] * self.dtype.itemsize // granule) * granule
        offsets = row
        for extent, stride in zip(self.box[-2::-1], self.strides[-2::-1], strict=True):
            offsets = (np.arange(extent) * stride)[(...,) + (None,) * offsets.ndim] + offsets
        return offsets // granule

    # -- global memory -------------------------------------------------------------------------------------------

    def _clip(self, coords: tuple[int, ...]) -> tuple[tuple[slice, ...], tuple[slice, ...], bool]:
        """Return (part of the tensor, part of the box, whether the whole box is inside)."""
        tensor: list[slice] = []
        box: list[slice] = []
        whole = True
        for start, extent, limit in zip(coords[::-1], self.box, self.dims, strict=True):
            low, high = min(max(start, 0), limit), max(min(start + extent, limit), 0)
            whole = whole and high - low == extent
            tensor.append(slice(low, max(low, high)))
            box.append(slice(low - start, max(low, high) - start))
        return tuple(tensor), tuple(box), whole

    def read(self, coords: tuple[int, ...]) -> np.ndarray:
        """Return the box at `coords` (innermost first) as 16-byte chunks; zero, or NaN, outside the tensor."""
        tensor, box, whole = self._clip(coords)
        if whole:
            block = np.ascontiguousarray(self.tensor[tensor])
        else:
            block = np.full(self.box, self.fill, self.dtype)
            block[box] = self.tensor[tensor]
        return block.reshape(-1).view(np.complex128)

    def addresses(self, coords: tuple[int, ...]) -> np.ndarray:
        """Return the byte addresses of the chunks of `read` in the argument; -1 for a chunk partly outside."""
        size = self.dtype.itemsize
        found = np.arange(coords[0] * size, (coords[0] + self.box[-1]) * size, CHUNK)
        inside = (found >= 0) & (found + CHUNK <= self.dims[-1] * size)
        outer = list(zip(coords[1:], self.box[-2::-1], self.dims[-2::-1], self.strides[-2::-1], strict=True))
        for start, extent, limit, stride in outer:
            place = np.arange(start, start + extent)
            found = (place * stride)[(...,) + (None,) * found.ndim] + found
            inside = ((place >= 0) & (place < limit))[(...,) + (None,) * inside.ndim] & inside
        return np.where(inside, found, -1).reshape(-1)

    def write(self, coords: tuple[int, ...], chunks: np.ndarray) -> None:
        """Store a box, and skip elements outside the tensor."""
        tensor, box, whole = self._clip(coords)
        block = chunks.view(self.dtype).reshape(self.box)
        self.tensor[tensor] = block if whole else block[box]

    def reduce(self, coords: tuple[int, ...], chunks: np.ndarray, op: str) -> None:
        """Execute cp.reduce.async.bulk.tensor with an operation."""
        tensor, box, _ = self._clip(coords)
        new = chunks.view(self.dtype).reshape(self.box)[box]
        self.tensor[tensor] = OPERATIONS[op](self.tensor[tensor], new, new)

    def _places(self, coords: tuple[int, ...]) -> np.ndarray:
        assert self.segment is not None and self._pattern is not None
        _, box, whole = self._clip(coords)
        granule = self.segment.granule
        origin = (self._first + sum(c * s for c, s in zip(coords[::-1], self.strides, strict=True))) // granule
        if whole:
            return self._pattern + origin
        per_element = max(1, self.dtype.itemsize)
        inner = slice(box[-1].start * per_element // granule, -(-box[-1].stop * per_element // granule))
        return (self._pattern + origin)[(*box[:-1], inner)].reshape(-1)

    def read_shadow(self, coords: tuple[int, ...], actor: Actor) -> None:
        """Record a read of the box."""
        if self.segment is not None:
            places = self._places(coords)
            if places.size:
                self.segment.read(places, actor)

    def write_shadow(self, coords: tuple[int, ...], actor: Actor) -> None:
        """Record a write of the box."""
        if self.segment is not None:
            places = self._places(coords)
            if places.size:
                self.segment.write(places, actor)

    def reduce_shadow(self, coords: tuple[int, ...], actor: Actor) -> None:
        """Record a reduction to the box."""
        if self.segment is not None:
            places = self._places(coords)
            if places.size:
                self.segment.reduce(places, actor)

    # -- shared memory -------------------------------------------------------------------------------------------

    def loaded(self, coords: tuple[int, ...]) -> LoadedBox:
        """Return the box at `coords` of a read-only tensor, from a bounded cache."""
        box = self._boxes.get(coords)
        if box is None:
            if len(self._boxes) * self.box_bytes > KEPT_BYTES:
                self._boxes.clear()
            box = self._boxes[coords] = LoadedBox(self, coords)
        return box

    def close(self) -> None:
        """Drop the cached boxes, which refer to their copier."""
        self._boxes.clear()

    def block(self, coords: tuple[int, ...], dtype: str) -> Submatrix | None:
        """Return the elements of a box as a block of the tensor's matrix, adjacent to its neighbours.

        The tensor is treated as one matrix, with all dimensions but the last merged, in strips of `STRIP` columns. The
        result is None if the rows of the tensor are not evenly spaced, if the tensor is too large to cache, if the box
        is not a block of one strip, or if it lies partly outside.
        """
        column, width = coords[0], self.box[-1]
        strip = column // STRIP
        if self._block_rows is None or column < 0 or column + width > min(self.dims[-1], (strip + 1) * STRIP):
            return None
        row = 0
        for start, extent, limit in zip(coords[:0:-1], self.box, self.dims, strict=False):
            if start < 0 or start + extent > limit:
                return None
            row = row * limit + start
        if (strip, dtype) not in self._strips:
            self._strips[strip, dtype] = self._strip(strip, dtype)
        found = self._strips[strip, dtype]
        return None if found is None else Submatrix(found, row, self._block_rows, column - strip * STRIP, width)

    @cached_property
    def _block_rows(self) -> int | None:
        """The number of matrix rows of a box; None if a box is not a block or the tensor is too large to cache."""
        outer = [extent for extent in self.box[:-1] if extent > 1]
        if len(outer) > 1 or (outer and self.box[-2] == 1):
            return None
        return None if math.prod(self.dims) * self.dtype.itemsize > KEPT_BYTES else math.prod(outer)

    def _strip(self, strip: int, dtype: str) -> LateMatrix | None:
        """Return a strip of columns of the tensor as one matrix; None if its rows are not evenly spaced."""
        outer = list(zip(self.dims, self.strides, strict=True))[:-1]
        for (extent, step), (inner, inner_step) in itertools.pairwise(outer):
            if extent > 1 and step != inner * inner_step:
                return None
        rows = self.tensor.reshape(-1, self.dims[-1])
        columns = rows[:, strip * STRIP : (strip + 1) * STRIP].view(numpy_dtype(dtype))
        return LateMatrix(self._room(dtype)[strip, :, : columns.shape[1]], columns, partial(to_float, dtype=dtype))

    def _room(self, dtype: str) -> np.ndarray:
        """Return the buffer for the numbers of the tensor, float32[strips, rows, STRIP]; unused pages take no
        memory."""
        if dtype not in self._rooms:
            rows, columns = math.prod(self.dims[:-1]), self.dims[-1]
            self._rooms[dtype] = np.empty((-(-columns // STRIP), rows, STRIP), np.float32)
        return self._rooms[dtype]

    def write_smem(self, smem: SharedMemory, offset: int, chunks: np.ndarray) -> None:
        """Write a box at byte `offset` of shared memory."""
        first = offset // CHUNK
        items = smem.near(CHUNK, offset, offset + self.box_bytes)
        if self.swizzle:
            items[smem_chunks(self.chunks, self.swizzle, offset % SWIZZLE_PERIOD) + first] = chunks
        else:
            items[first : first + self.chunks] = chunks

    def read_smem(self, smem: SharedMemory, offset: int) -> np.ndarray:
        """Return the box at byte `offset` of shared memory, as 16-byte chunks in the order of the box."""
        first = offset // CHUNK
        items = smem.near(CHUNK, offset, offset + self.box_bytes)
        if self.swizzle:
            return items[smem_chunks(self.chunks, self.swizzle, offset % SWIZZLE_PERIOD) + first]
        return items[first : first + self.chunks].copy()

    def read_each(self, smem: BatchedSharedMemory, offset: int) -> np.ndarray:
        """Return the box of each cluster of a batch, [clusters, chunks]."""
        places = smem_chunks(self.chunks, self.swizzle, offset % SWIZZLE_PERIOD)
        return np.ascontiguousarray(smem.read(places + offset // CHUNK, CHUNK))


class LoadedBox:
    """A loaded box in shared memory, in the layout of its tensor map.

    operands: the MMA operands contained in this box, by location.
    """

    __slots__ = ("_coords", "_numbers", "copier", "nbytes", "operands")

    def __init__(self, copier: BoxCopier, coords: tuple[int, ...]) -> None:
        self.copier = copier
        self.nbytes = copier.box_bytes
        self._coords = coords
        self._numbers: dict[str, Submatrix] = {}
        self.operands: dict[Hashable, Submatrix] = {}

    def put(self, smem: SharedMemory, offset: int) -> None:
        """Write the bytes of the box from `offset` on."""
        self.copier.write_smem(smem, offset, self.copier.read(self._coords))

    def numbers(self, dtype: str) -> Submatrix:
        """Return the elements of the box as `dtype`, one row of the box per row.

        Adjacent boxes of the tensor are adjacent in one matrix, if the tensor can be cached.
        """
        found = self._numbers.get(dtype)
        if found is None:
            found = self._numbers[dtype] = self._read(dtype)
        return found

    def _read(self, dtype: str) -> Submatrix:
        copier, kind = self.copier, numpy_dtype(dtype)
        block = copier.block(self._coords, dtype) if kind.itemsize == copier.dtype.itemsize else None
        if block is not None:
            return block
        columns = copier.box[-1] * copier.dtype.itemsize // kind.itemsize
        return Submatrix.whole(to_float(copier.read(self._coords).view(kind), dtype).reshape(-1, columns))

    def places(self, offset: int) -> np.ndarray:
        """Return the chunk index of each 16-byte chunk of the box, from byte `offset` on."""
        return smem_chunks(self.copier.chunks, self.copier.swizzle, offset % SWIZZLE_PERIOD)


class BatchedBox:
    """One box per cluster of a batch, at a common address."""

    __slots__ = ("boxes", "nbytes")

    def __init__(self, boxes: Sequence[LoadedBox]) -> None:
        self.boxes = boxes
        self.nbytes = boxes[0].nbytes

    def put(self, smem: SharedMemory, offset: int) -> NoReturn:
        """Raise `Unequal`: the bytes differ between clusters."""
        raise Unequal


class RowsCopier(BoxCopier):
    """A gather4 or scatter4 of a tensor map with one-row boxes (PTX ISA: "tile::scatter4 and tile::gather4").

    Coordinates are a column and four rows. In shared memory the rows are laid out as a box of four rows.
    """

    ROWS = 4

    def __init__(
        self, tensor_map: TensorMap, memory: GlobalMemory, slot: int, strips: Strips | None = None
    ) -> None:
        super().__init__(tensor_map, memory, slot, strips)
        self.tensor_map = replace(tensor_map, box=(tensor_map.box[0], self.ROWS))
        self.box_bytes = self.tensor_map.box_bytes
        self.chunks = self.box_bytes // CHUNK

    def close(self) -> None:
        """Drop the cached boxes, which refer to their copier."""
        self._boxes.clear()

    def block(self, coords: tuple[int, ...], dtype: str) -> None:
        """Return None: the rows need not be adjacent."""

    def read(self, coords: tuple[int, ...]) -> np.ndarray:
        column, *rows = coords
        return np.concatenate([super(RowsCopier, self).read((column, row)) for row in rows])

    def addresses(self, coords: tuple[int, ...]) -> np.ndarray:
        column, *rows = coords
        return np.concatenate([super(RowsCopier, self).addresses((column, row)) for row in rows])

    def write(self, coords: tuple[int, ...], chunks: np.ndarray) -> None:
        column, *rows = coords
        for row, part in zip(rows, chunks.reshape(self.ROWS, -1), strict=True):
            super().write((column, row), part)

    def _places(self, coords: tuple[int, ...]) -> np.ndarray:
        column, *rows = coords
        return np.concatenate([super(RowsCopier, self)._places((column, row)).reshape(-1) for row in rows])


class LinearCopier(BoxCopier):
    """A byte range of an argument for cp.async.bulk without a tensor: a one-dimensional box.

    dtype: of the elements of a reduction.
    """

    smem_alignment = CHUNK

    def __init__(self, memory: GlobalMemory, slot: int, nbytes: int, dtype: str) -> None:
        kind = DataType(dtype)
        size, count = memory.buffers[slot].nbytes // kind.itemsize, nbytes // kind.itemsize
        buffer = Buffer(memory.buffers[slot].name, (size,), kind)
        whole = TensorMap(Var(DataType("tensormap"), f"{buffer.name}_bytes"), buffer, (size,), (), (count,), 0)
        super().__init__(whole, memory, slot)
