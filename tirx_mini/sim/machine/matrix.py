"""ldmatrix and stmatrix: copies of matrices of 16- or 8-bit elements between shared memory and registers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tirx_mini.records import dataclass

from ..facts import Fact, Fault
from ..ordering import COLLECTIVE
from .addresses import WINDOW_BITS
from .interfaces import Warp
from .registers import Registers

ROW_BYTES = 16


@dataclass(frozen=True)
class MatrixRowOutOfBounds(Fact):
    """A row of ldmatrix or stmatrix outside the shared memory of its CTA. address: its shared address."""

    instruction: str
    address: int


@dataclass(frozen=True)
class MisalignedMatrixRow(Fact):
    """A row of ldmatrix or stmatrix whose address is not a multiple of `row_bytes`."""

    instruction: str
    row_bytes: int


def load_matrices(w: Warp, registers: Registers, addresses: object, count: int, transpose: bool) -> None:
    """Execute ldmatrix: lanes 8i … 8i + 7 supply the row addresses of block i, which register i receives."""
    rows = _load_rows(w, addresses, 8 * count)
    if rows is None:
        return
    blocks = rows.view(np.uint16).reshape(count, 8, 8)
    words = np.ascontiguousarray(blocks.transpose(0, 2, 1) if transpose else blocks).view(np.uint32)
    registers.write(words.reshape(count, 32))


def load_bytes(w: Warp, registers: Registers, addresses: object, count: int) -> None:
    """Execute ldmatrix.m16n16.trans.b8: lanes 16i … 16i + 15 supply the row addresses of block i, registers 2i and 2i +
    1 receive it.

    Lane 4g + t receives the bytes of rows 4t … 4t + 3 in columns g and g + 8.
    """
    rows = _load_rows(w, addresses, 16 * count)
    if rows is None:
        return
    columns = rows.view(np.uint8).reshape(count, 16, 16).transpose(0, 2, 1)
    registers.write(np.ascontiguousarray(columns).view(np.uint32).reshape(2 * count, 32))


def _load_rows(w: Warp, addresses: object, count: int) -> np.ndarray | None:
    """Load rows of 16 bytes at the addresses of the first `count` lanes; return None in a run without data."""
    offsets = offsets_of(w, addresses, count, "ldmatrix")
    w.time += count // 8 + w.gpu.spec.smem_latency
    return w.cta.cluster.values.of(_rows_at, w, offsets)


def _rows_at(w: Warp, offsets: np.ndarray) -> np.ndarray:
    """Read rows of 16 bytes."""
    actor = w.loads
    actor.span, actor.time, actor.lanes = w.span, w.time, COLLECTIVE
    w.agent.scattered = True
    smem = w.cta.smem
    smem.shadow.read_items(offsets, ROW_BYTES, actor)
    items = smem.near(ROW_BYTES, int(offsets.min()), int(offsets.max()) + ROW_BYTES)
    return np.ascontiguousarray(items[offsets // ROW_BYTES])


def store_matrices(w: Warp, addresses: object, registers: Registers, count: int, transpose: bool) -> None:
    """Execute stmatrix: register i holds block i, and lanes 8i … 8i + 7 supply its row addresses."""
    offsets = offsets_of(w, addresses, 8 * count, "stmatrix")
    words = w.cta.cluster.values.of(registers.read, count)
    if words is not None:
        blocks = words.reshape(count, 32).view(np.uint16).reshape(count, 8, 8)
        _store_rows(w, offsets, np.ascontiguousarray(blocks.transpose(0, 2, 1) if transpose else blocks))
    w.time += count


def store_bytes(w: Warp, addresses: object, registers: Registers, count: int) -> None:
    """Execute stmatrix.m16n8.trans.b8: register i holds block i of 16 × 8 bytes, and lanes 8i … 8i + 7 supply its
    column addresses.

    Lane 4g + t holds the bytes of rows g and g + 8, each in columns 2t and 2t + 1.
    """
    offsets = offsets_of(w, addresses, 8 * count, "stmatrix")
    words = w.cta.cluster.values.of(registers.read, count)
    if words is not None:
        blocks = words.reshape(count, 32).view(np.uint8).reshape(count, 8, 4, 2, 2)  # g, t, row, column
        _store_rows(w, offsets, np.ascontiguousarray(blocks.transpose(0, 2, 4, 3, 1)))
    w.time += count


def _store_rows(w: Warp, offsets: np.ndarray, rows: np.ndarray) -> None:
    smem = w.cta.smem
    actor = w.stores
    actor.span, actor.time, actor.lanes = w.span, w.time, COLLECTIVE
    w.agent.scattered = True
    items = smem.near(ROW_BYTES, int(offsets.min()), int(offsets.max()) + ROW_BYTES)
    where = offsets // ROW_BYTES
    smem.shadow.write_items(offsets, ROW_BYTES, actor)
    items[where] = rows.reshape(-1).view(items.dtype)


def offsets_of(w: Warp, addresses: object, count: int, what: str) -> np.ndarray:
    """Return the shared-memory offsets of `count` rows; raise a fault for rows out of bounds or misaligned.

    A run without data, in which all CTAs access the same locations without effects, checks each location once.
    """
    rows: Any = addresses
    given: np.ndarray = rows if isinstance(addresses, np.ndarray) else np.full(32, rows, np.int64)
    found = w.cta.cluster.values.of(_checked, w, given, count, what)
    if found is not None:
        return found
    key = what, count, w.cta.rank, given.tobytes()
    known: dict[Any, np.ndarray] = w.gpu.footprints
    offsets = known.get(key)
    if offsets is None:
        offsets = known[key] = _checked(w, given, count, what)
    return offsets


def _checked(w: Warp, given: np.ndarray, count: int, what: str) -> np.ndarray:
    offsets = given[:count] - (w.cta.rank << WINDOW_BITS)
    if offsets.min() < 0 or offsets.max() > w.cta.smem.size - ROW_BYTES:
        bad = (offsets < 0) | (offsets > w.cta.smem.size - ROW_BYTES)
        raise Fault(MatrixRowOutOfBounds(w.origin, what, int(given[:count][bad][0])))
    if (offsets % ROW_BYTES).any():
        raise Fault(MisalignedMatrixRow(w.origin, what, ROW_BYTES))
    return offsets
