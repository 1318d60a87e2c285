"""Violations of the rules of TMA copies, as facts."""

from __future__ import annotations

from tirx_mini.ir import Span, TensorMap
from tirx_mini.records import dataclass

from ..facts import Fact
from ..machine import Element
from .tensor_map import TensorMapRule


@dataclass(frozen=True)
class BadTensorMap(Fact):
    """A tensor map that the driver would refuse to encode. broken: the violated rule."""

    tensor_map: TensorMap
    broken: TensorMapRule


@dataclass(frozen=True)
class MisalignedBox(Fact):
    """A box in shared memory at an address that is not a multiple of `alignment` bytes.

    source: whether a store reads it, or a load writes it. element: the element at its address. offset: in bytes.
    """

    source: bool
    element: Element
    offset: int
    alignment: int


@dataclass(frozen=True)
class BoxOutOfSharedMemory(Fact):
    """A box that exceeds the shared memory of its CTA. nbytes: of the box; offset: its start; size: of the memory."""

    nbytes: int
    offset: int
    size: int


@dataclass(frozen=True)
class MisalignedBoxStart(Fact):
    """A box that begins in the middle of a 16-byte unit of its row in global memory. column: the element; itemsize: its
    bytes."""

    buffer: str
    column: int
    itemsize: int
    granule: int


@dataclass(frozen=True)
class StoreBeforeTensor(Fact):
    """A TMA store that begins before the tensor. coords: outermost first."""

    buffer: str
    coords: tuple[int, ...]


@dataclass(frozen=True)
class GroupOfOtherThread(Fact):
    """A commit of or wait for bulk copies by a thread that issued them only if elect.sync chose the lowest lane.

    waits: which of the two. copy: the location of the issue.
    """

    waits: bool
    copy: Span | None

    @property
    def other(self) -> Span | None:
        return self.copy


@dataclass(frozen=True)
class LoadAtExit(Fact):
    """The end of a CTA while a TMA load into its shared memory may be in flight. buffer: the source."""

    buffer: str


@dataclass(frozen=True)
class StoreAtExit(Fact):
    """The end of a CTA while a TMA store may still read its shared memory."""


@dataclass(frozen=True)
class BadBulkSize(Fact):
    """A bulk copy with a size or address that is not a multiple of 16. what: the offending operand."""

    what: str
    number: int


@dataclass(frozen=True)
class BulkCopyAtExit(Fact):
    """The end of a CTA while a bulk copy between shared memories, or st.async, may use its own. what: the kind of copy,
    in words. writes: whether it writes there."""

    what: str
    writes: bool
