"""Batches: several clusters with equal execution, simulated as one.

A batch has the warps, barriers and engines of one cluster. Its registers have the lanes of all clusters, and its shared
and tensor memory hold the contents of each cluster; a value that depends on blockIdx is a `PerCluster`. Only the
operations of the write-backs of products support this. Everything else raises `Unequal`, or lets NumPy reject arrays of
different shapes with a `ValueError`, and the clusters are executed one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from tirx_mini.ir import Span

from ..ordering import AccessLog, Agent, Unequal, Unwatched
from . import matrix
from .cluster_values import ClusterValue, PerCluster
from .dtypes import Index, Number, numpy_dtype
from .image import GlobalBuffer, SharedBuffer
from .interfaces import Cta
from .masks import LANES
from .memory import WIDTHS, Box, SharedMemory, TensorMemory
from .register_facts import Owner
from .registers import RegisterArray, Registers
from .timed_access import footprint_of
from .warp import Buffer, RunningWarp

WORD = 4
"""The granularity, in bytes, at which memory is tracked as common or per-cluster."""


class BatchedSharedMemory(SharedMemory):
    """The shared memory of one CTA position in each cluster of a batch.

    `bytes` holds the common contents, and `own` the per-cluster contents, one row per cluster.
    """

    def __init__(self, size: int, width: int, buffers: Sequence[SharedBuffer]) -> None:
        super().__init__(size, buffers, AccessLog(), None)
        self.own = np.zeros((width, len(self.bytes)), np.uint8)
        self._owned = np.zeros(len(self.bytes) // WORD, bool)
        self._kept: set[tuple[int, int, int]] = set()

    def near(self, width: int, first: int, end: int) -> np.ndarray:
        """Return the common memory as in `SharedMemory.near`; raise `Unequal` if the range is per-cluster."""
        if self._owned[first // WORD : -(-end // WORD)].any():
            raise Unequal
        return super().near(width, first, end)

    def view(self, width: int) -> np.ndarray:
        """Return the whole common memory as in `SharedMemory.view`."""
        return self.near(width, 0, self.size)

    def bring(self, offset: int, box: Box) -> None:
        """Put a copied box into each cluster's memory; see `SharedMemory.bring`."""
        places = slice(offset // WORD, (offset + box.nbytes) // WORD)
        if self._owned[places].any():
            self._owned[places] = False
            self._kept.clear()
        super().bring(offset, box)

    def _settle(self, first: int, end: int) -> None:
        """Raise `Unequal` if the range overlaps per-cluster boxes, which have no common bytes."""
        if any(offset < end and first < offset + box.nbytes for offset, box in self.boxes.items()):
            raise Unequal

    def put(self, width: int, items: np.ndarray, first: int, values: np.ndarray) -> None:
        """Store per-cluster values of `width` bytes, [clusters, …], at the static pattern items + first.

        The destination contains no loaded box.
        """
        if width % WORD:
            raise Unequal
        key = id(items), first, width
        at = items + first
        if key not in self._kept:
            self._settle(int(at.min()) * width, (int(at.max()) + 1) * width)
            words = width // WORD
            self._owned[(at[..., None] * words + np.arange(words)).reshape(-1)] = True
            self._kept.add(key)
        self.own.view(WIDTHS[width])[:, at] = values

    def read(self, items: np.ndarray, width: int) -> np.ndarray:
        """Return the items of each cluster, [clusters, …]; all of them are common, or all are per-cluster."""
        low, high = int(items.min()) * width, (int(items.max()) + 1) * width
        owned = self._owned[low // WORD : -(-high // WORD)]
        if owned.all():
            return self.own.view(WIDTHS[width])[:, items]
        return np.broadcast_to(self.near(width, low, high)[items], (len(self.own), *items.shape))


def batched_memory(cta: Cta) -> BatchedSharedMemory:
    """Return the shared memory of a CTA of a batch."""
    assert isinstance(cta.smem, BatchedSharedMemory)
    return cta.smem


class BatchedTensorMemory(TensorMemory):
    """The tensor memory of one CTA position in each cluster of a batch."""

    def __init__(self, width: int) -> None:
        self._each = [TensorMemory(AccessLog(), None) for _ in range(width)]
        self.shadow = Unwatched()

    def close(self) -> None:
        """See `TensorMemory.close`."""
        for each in self._each:
            each.close()

    @property
    def clusters(self) -> Sequence[TensorMemory]:
        """See `TensorMemory.clusters`."""
        return self._each

    def words(self, column: int, columns: int) -> np.ndarray:
        """Raise `Unequal`: the words differ between clusters."""
        raise Unequal

    def clear(self, column: int, columns: int) -> None:
        """See `TensorMemory.clear`."""
        for tmem in self._each:
            tmem.clear(column, columns)


class BatchedRegisterArray(RegisterArray):
    """A local buffer of one warp in each cluster of a batch; the lanes of the clusters are concatenated."""

    __slots__ = ("_width",)

    def __init__(self, name: str, size: int, dtype: npt.DTypeLike, span: Span | None, width: int) -> None:
        super().__init__(name, size, dtype, span)
        self._width = width

    def __getattr__(self, name: str) -> Any:
        if name == "data":
            self.data = np.zeros((self._size, self._width * LANES), self._dtype)
            return self.data
        return super().__getattr__(name)

    def store_block(self, w: Owner, start: int, steps: int, lanes: int, value: Number) -> None:
        """Store a block in all lanes as in `RegisterArray.store_block`; values of 32 lanes are repeated for each
        cluster.
        """
        if not w.mask.full:
            raise Unequal
        axis = -2 if lanes > 1 else -1
        if isinstance(value, np.ndarray) and value.ndim >= -axis and value.shape[axis] == LANES:
            value = np.concatenate([value] * self._width, axis)
        super().store_block(w, start, steps, lanes, value)

    def load(self, w: object, index: Index, lanes: int = 1) -> np.ndarray:
        """Raise `Unequal`: lane-dependent indices are not supported in batches."""
        raise Unequal

    def store(self, w: object, index: Index, value: Number, lanes: int = 1) -> None:
        """Raise `Unequal`: lane-dependent indices are not supported in batches."""
        raise Unequal


class Blocks(Protocol):
    """The interface of the GPU to a warp of a batch."""

    def block_indices(self, cta: object) -> tuple[ClusterValue, ClusterValue, ClusterValue]:
        """Return blockIdx of a CTA in each cluster."""
        ...


class BatchedWarp(RunningWarp):
    """A warp of one CTA position in each cluster of a batch. width: the number of clusters."""

    __slots__ = ("width",)

    def __init__(self, cta: Cta, warp_id: int, agent: Agent, time: float) -> None:
        super().__init__(cta, warp_id, agent, time)
        self.width: int = cta.cluster.width
        self.block_idx = cast(Blocks, cta.gpu).block_indices(cta)

    def registers(self, name: str, size: int, dtype: npt.DTypeLike, span: Span | None) -> RegisterArray:
        """See `RunningWarp.registers`."""
        return BatchedRegisterArray(name, size, dtype, span, self.width)

    def put(self, buffer: Buffer, first: int, pattern: Index, value: Number, lanes: int = 1) -> None:
        """See `RunningWarp.put`."""
        axis = -2 if lanes > 1 else -1
        if not isinstance(value, np.ndarray) or value.ndim < -axis or value.shape[axis] == LANES:
            self.store(buffer, first + pattern, value, lanes)
            return
        target = footprint_of(self, pattern, lanes)
        if isinstance(buffer, GlobalBuffer) or isinstance(first, PerCluster) or not self.mask.full:
            raise Unequal
        if not (target.distinct and target.fits(buffer, first, lanes)):
            raise Unequal
        width = buffer.dtype.itemsize * lanes
        values = np.ascontiguousarray(value, numpy_dtype(buffer.dtype))
        items = values.reshape(-1).view(WIDTHS[width]).reshape(*target.items.shape[:-1], self.width, LANES)
        start = buffer.byte_offset // width + first // lanes
        batched_memory(self.cta).put(width, target.items, start, np.moveaxis(items, -2, 0))

    def store(self, buffer: Buffer, index: Index, value: Number, lanes: int = 1, in_cta: bool | None = None) -> None:
        """Store to the shared memory of all clusters; see `RunningWarp.store`."""
        if isinstance(buffer, GlobalBuffer):
            raise Unequal
        super().store(buffer, index, value, lanes, in_cta)

    def copy(self, dst: Buffer, dst_index: Index, src: Buffer, src_index: Index, lanes: int = 1) -> None:
        """Copy within the memory of all clusters; see `RunningWarp.copy`."""
        if isinstance(dst, GlobalBuffer):
            raise Unequal
        super().copy(dst, dst_index, src, src_index, lanes)

    def move(
        self, dst: Buffer, first: int, pattern: Index, src: Buffer, src_first: int, src_pattern: Index, lanes: int = 1
    ) -> None:
        """Move data within the memory of all clusters; see `RunningWarp.move`."""
        self.copy(dst, first + pattern, src, src_first + src_pattern, lanes)

    def store_matrices(self, addresses: object, registers: Registers, count: int, transpose: bool) -> None:
        """Execute stmatrix."""
        offsets = matrix.offsets_of(self, addresses, 8 * count, "stmatrix")
        words = registers.read(count).reshape(count, self.width, LANES)
        blocks = np.ascontiguousarray(words.transpose(1, 0, 2)).view(np.uint16).reshape(self.width, count, 8, 8)
        rows = np.ascontiguousarray(blocks.transpose(0, 1, 3, 2) if transpose else blocks)
        items = rows.reshape(self.width, -1).view(WIDTHS[matrix.ROW_BYTES])
        batched_memory(self.cta).put(matrix.ROW_BYTES, _kept(self, offsets), 0, items)

    def store_byte_matrices(self, addresses: object, registers: Registers, count: int) -> None:
        """Execute stmatrix of bytes."""
        raise Unequal


def _kept(w: RunningWarp, offsets: np.ndarray) -> np.ndarray:
    """Return the rows at the given byte offsets, as one shared object for equal offsets."""
    known: dict[Any, np.ndarray] = w.gpu.footprints
    key = "rows", offsets.tobytes()
    if key not in known:
        known[key] = offsets // matrix.ROW_BYTES
    return known[key]
