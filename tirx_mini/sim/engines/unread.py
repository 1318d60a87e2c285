"""Results of MMAs in tensor memory that nobody has read."""

from __future__ import annotations

from dataclasses import dataclass

from tirx_mini.ir import Span

from ..facts import Fact
from ..machine import Cta
from ..ordering import Access, Operation


@dataclass(frozen=True)
class LostResult(Fact):
    """An MMA overwrites an accumulator that nobody has read, at least in part.

    earlier: the MMA that wrote it. columns: of the accumulator, first and last; unread: those that nobody has read.
    """

    earlier: Access
    columns: tuple[int, int]
    unread: tuple[int, int]

    @property
    def other(self) -> Span | None:
        return self.earlier.span


@dataclass(frozen=True)
class UnreadColumns:
    """Columns, the first and the last, that an MMA wrote last and that nobody has read since. span: of the MMA."""

    first: int
    last: int
    span: Span | None


def unread_columns(cta: Cta, first: int, columns: int) -> UnreadColumns | None:
    """The columns of a range whose results nobody has read, or None."""
    shadow, written = cta.tmem.shadow, Operation.TCGEN05_MMA
    access = shadow.unread((slice(None), slice(first, first + columns)), written)
    if access is None:
        return None
    numbers = range(first, first + columns)
    missed = [n for n in numbers if shadow.unread((slice(None), slice(n, n + 1)), written) is not None]
    return UnreadColumns(missed[0], missed[-1], access.span)
