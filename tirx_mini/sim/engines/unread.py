"""MMA results in tensor memory that are never read, or read as a different type."""

from __future__ import annotations

import numpy as np

from tirx_mini.ir import Span
from tirx_mini.records import dataclass

from ..facts import Fact, Origin, place_key
from ..machine import GROUP_LANES, Cta, Registers, Warp
from ..ordering import Access, Operation, Segment


@dataclass(frozen=True)
class LostResult(Fact):
    """An MMA that overwrites an accumulator with unread results.

    earlier: the MMA that wrote it. columns: of the accumulator, first and last; unread: the unread ones.
    """

    earlier: Access
    columns: tuple[int, int]
    unread: tuple[int, int]

    @property
    def other(self) -> Span | None:
        return self.earlier.span


@dataclass(frozen=True)
class HalfRead(Fact):
    """An accumulator of 128 rows of which only 16 of each warp's 32 lanes are read. origin: of the last read. rows: of
    the MMA, at `mma`. columns: the first and last such columns."""

    rows: int
    mma: Span | None
    columns: tuple[int, int]

    @property
    def other(self) -> Span | None:
        return self.mma


@dataclass(frozen=True)
class OtherResult(Fact):
    """A tcgen05.ld of results into registers of another type. name: of the registers. mma: the location of the MMA."""

    written: str
    registers: str
    name: str
    mma: Span | None

    @property
    def other(self) -> Span | None:
        return self.mma


@dataclass(frozen=True)
class UnreadColumns:
    """A range of columns, first and last, whose MMA results are unread. span: of the MMA."""

    first: int
    last: int
    span: Span | None


def unread_columns(cta: Cta, first: int, columns: int) -> UnreadColumns | None:
    """Return the columns of a range with unread results, or None."""
    shadow, written = cta.tmem.shadow, Operation.TCGEN05_MMA
    access = shadow.unread((slice(None), slice(first, first + columns)), written)
    if access is None:
        return None
    numbers = range(first, first + columns)
    missed = [n for n in numbers if shadow.unread((slice(None), slice(n, n + 1)), written) is not None]
    return UnreadColumns(missed[0], missed[-1], access.span)


def keep_unread(cta: Cta, first: int, columns: int) -> None:
    """Record the unread MMA results in columns that are freed."""
    missed = unread_columns(cta, first, columns)
    if missed is not None:
        cta.gpu.unread.setdefault(place_key(missed.span), missed)
        _half_read(cta, cta.tmem.shadow, slice(first, first + columns))


def _half_read(cta: Cta, shadow: Segment, where: slice) -> None:
    """Record an accumulator of which all warps read only one half of their lanes."""
    writes = shadow.writes[:, where]
    read = np.zeros(writes.shape, bool)
    for numbers in shadow.readers.values():
        read |= numbers[:, where] > 0
    for half in (0, 1):
        found = (writes > 0).all(axis=0) & read[half::2].all(axis=0) & ~read[1 - half :: 2].any(axis=0)
        hit = np.flatnonzero(found & (writes == writes[:1]).all(axis=0))
        if not hit.size:
            continue
        column = int(hit[0]) + where.start
        mma = shadow.log.accesses[shadow.writes[0, column].item()]
        if mma.operation is Operation.TCGEN05_MMA:
            last = max(numbers[half, column].item() for numbers in shadow.readers.values())
            reader = shadow.log.accesses[last]
            origin = Origin(reader.role, reader.role, cta.name, reader.span)
            columns = column, int(hit[-1]) + where.start
            cta.gpu.facts.record(HalfRead(origin, mma.pipeline[2], mma.span, columns))


def check_result(w: Warp, lane: int, column: int, registers: object) -> None:
    """Record a tcgen05.ld whose register type differs from the result type of the MMA that wrote the columns."""
    shadow = w.cta.tmem.shadow
    number = shadow.writes[lane // GROUP_LANES, column].item()
    written = shadow.log.accesses[number] if number > 0 else None
    if written is None or written.operation is not Operation.TCGEN05_MMA or not isinstance(registers, Registers):
        return
    held = str(registers.array.data.dtype)
    if held != written.form and {held, written.form} <= _FLOATS:
        w.gpu.facts.record(OtherResult(w.origin, written.form, held, registers.array.name, written.span))


_FLOATS = {"float16", "float32"}
