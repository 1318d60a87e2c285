"""ldmatrix and stmatrix: 8 × 8 blocks of 16-bit elements between shared memory and a warp's registers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..facts import Fact, Fault
from ..ordering import COLLECTIVE
from .addresses import WINDOW_BITS
from .interfaces import Warp
from .registers import Registers

ROW_BYTES = 16


@dataclass(frozen=True)
class MatrixRowOutOfBounds(Fact):
    """A row of ldmatrix or stmatrix lies outside the shared memory of its CTA. address: its shared address."""

    instruction: str
    address: int


@dataclass(frozen=True)
class MisalignedMatrixRow(Fact):
    """A row of ldmatrix or stmatrix is not at a multiple of its `row_bytes`."""

    instruction: str
    row_bytes: int


def load_matrices(w: Warp, registers: Registers, addresses: Any, count: int, transpose: bool) -> None:
    """ldmatrix: lanes 8i … 8i + 7 give the rows of block i, which register i receives."""
    offsets = _offsets(w, addresses, count, "ldmatrix")
    if not w.gpu.data:
        w.time += count + w.gpu.spec.smem_latency
        return
    actor = w.loads
    actor.span, actor.time, actor.lanes = w.span, w.time, COLLECTIVE
    w.agent.scattered = True
    smem = w.cta.smem
    smem.shadow.read_items(offsets, ROW_BYTES, actor)
    blocks = np.ascontiguousarray(smem.view(ROW_BYTES)[offsets // ROW_BYTES]).view(np.uint16).reshape(count, 8, 8)
    words = np.ascontiguousarray(blocks.transpose(0, 2, 1) if transpose else blocks).view(np.uint32)
    registers.write(words.reshape(count, 32))
    w.time += count + w.gpu.spec.smem_latency


def store_matrices(w: Warp, addresses: Any, registers: Registers, count: int, transpose: bool) -> None:
    """stmatrix: register i holds block i, whose rows go where lanes 8i … 8i + 7 say."""
    offsets = _offsets(w, addresses, count, "stmatrix")
    if not w.gpu.data:
        w.time += count
        return
    blocks = registers.read(count).reshape(count, 32).view(np.uint16).reshape(count, 8, 8)
    rows = np.ascontiguousarray(blocks.transpose(0, 2, 1) if transpose else blocks).reshape(count * 8, 8)
    smem = w.cta.smem
    actor = w.stores
    actor.span, actor.time, actor.lanes = w.span, w.time, COLLECTIVE
    w.agent.scattered = True
    items = smem.view(ROW_BYTES)
    where = offsets // ROW_BYTES
    smem.shadow.write_items(offsets, ROW_BYTES, actor)
    items[where] = rows.view(items.dtype).reshape(-1)
    w.time += count


def _offsets(w: Warp, addresses: Any, count: int, what: str) -> np.ndarray:
    """Bytes of the CTA's shared memory at which the rows begin; a fault for those that are not there or not aligned.

    A run without data, in which all CTAs go to the same places and nothing is done there, checks each place once.
    """
    given = addresses if isinstance(addresses, np.ndarray) else np.full(32, addresses, np.int64)
    if w.gpu.data:
        return _checked(w, given, count, what)
    key = what, count, w.cta.rank, given.tobytes()
    known: dict[Any, np.ndarray] = w.gpu.footprints
    offsets = known.get(key)
    if offsets is None:
        offsets = known[key] = _checked(w, given, count, what)
    return offsets


def _checked(w: Warp, given: np.ndarray, count: int, what: str) -> np.ndarray:
    offsets = given[: 8 * count] - (w.cta.rank << WINDOW_BITS)
    if offsets.min() < 0 or offsets.max() > w.cta.smem.size - ROW_BYTES:
        bad = (offsets < 0) | (offsets > w.cta.smem.size - ROW_BYTES)
        raise Fault(MatrixRowOutOfBounds(w.origin, what, int(given[: 8 * count][bad][0])))
    if (offsets % ROW_BYTES).any():
        raise Fault(MisalignedMatrixRow(w.origin, what, ROW_BYTES))
    return offsets
