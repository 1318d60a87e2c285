"""Scoped accesses that the ISA does not allow, as facts."""

from __future__ import annotations

from tirx_mini.ir import Span
from tirx_mini.records import dataclass

from ..facts import Fact
from ..ordering import Access


@dataclass(frozen=True)
class BadAddress(Fact):
    """An access to an address outside its state space. space: as in PTX, "" for generic addresses."""

    space: str
    address: int
    nbytes: int


@dataclass(frozen=True)
class MisalignedAddress(Fact):
    """An access to an address that is not a multiple of its width. width: in bytes."""

    address: int
    width: int


@dataclass(frozen=True)
class ReadOnlyPath(Fact):
    """ld.global.nc of bytes that the kernel has written. written: the write. kept: whether the line stays cached."""

    buffer: str
    written: Access
    kept: bool

    @property
    def other(self) -> Span | None:
        return self.written.span
