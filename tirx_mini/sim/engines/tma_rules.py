"""Violations of the rules of TMA copies, as facts."""

from __future__ import annotations

from dataclasses import dataclass

from tirx_mini.ir import Span, TensorMap

from ..facts import Fact
from ..machine import Element
from .tensor_map import TensorMapRule


@dataclass(frozen=True)
class BadTensorMap(Fact):
    """A tensor map that the driver would refuse to encode. broken: the rule that it breaks."""

    tensor_map: TensorMap
    broken: TensorMapRule


@dataclass(frozen=True)
class MisalignedBox(Fact):
    """A box in shared memory is not at a multiple of `alignment` bytes.

    source: whether a store reads it, or a load writes it. element: what lies there. offset: in bytes.
    """

    source: bool
    element: Element
    offset: int
    alignment: int


@dataclass(frozen=True)
class BoxOutOfSharedMemory(Fact):
    """A box leaves the shared memory of its CTA. nbytes: of the box; offset: where it begins; size: of the memory."""

    nbytes: int
    offset: int
    size: int


@dataclass(frozen=True)
class MisalignedBoxStart(Fact):
    """A box begins in the middle of 16 bytes of its row in global memory. column: the element; itemsize: its bytes."""

    buffer: str
    column: int
    itemsize: int
    granule: int


@dataclass(frozen=True)
class StoreBeforeTensor(Fact):
    """A TMA store begins before the tensor. coords: outermost first."""

    buffer: str
    coords: tuple[int, ...]


@dataclass(frozen=True)
class GroupOfOtherThread(Fact):
    """A thread commits, or waits for, bulk copies that it issued only if elect.sync chose the lowest lane.

    waits: which of the two. copy: of the issue.
    """

    waits: bool
    copy: Span | None

    @property
    def other(self) -> Span | None:
        return self.copy


@dataclass(frozen=True)
class LoadAtExit(Fact):
    """A CTA ends while a TMA load into its shared memory may be in flight. buffer: what it loads."""

    buffer: str


@dataclass(frozen=True)
class StoreAtExit(Fact):
    """A CTA ends while a TMA store may still read its shared memory."""


@dataclass(frozen=True)
class BadBulkSize(Fact):
    """A bulk copy of a number of bytes, or from or to an address, that is not a multiple of 16. what: which of them."""

    what: str
    number: int


@dataclass(frozen=True)
class BulkCopyAtExit(Fact):
    """A CTA ends while a bulk copy between shared memories, or st.async, may use its own. what: which of the two, in
    words. writes: whether it writes there."""

    what: str
    writes: bool
