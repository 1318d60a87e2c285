"""Facts about incorrect uses of registers."""

from __future__ import annotations

from typing import Protocol

from tirx_mini.ir import Span
from tirx_mini.records import dataclass

from ..facts import Fact, FactLog, Fault, Origin
from .collaborators import Values
from .masks import Mask


class Run(Protocol):
    """The interface of the GPU for registers."""

    @property
    def facts(self) -> FactLog: ...


class Owner(Protocol):
    """The interface of a warp for its registers."""

    mask: Mask
    span: Span | None
    register_fences: int
    values: Values

    @property
    def origin(self) -> Origin: ...
    @property
    def gpu(self) -> Run: ...


@dataclass(frozen=True)
class RegisterFact(Fact):
    """A fact about a local buffer. name: of the buffer. declared: the location of its declaration."""

    name: str
    declared: Span | None


@dataclass(frozen=True)
class RegisterOutOfBounds(RegisterFact):
    """An index outside a local buffer. index: its value; size: elements of the buffer."""

    index: int
    size: int


@dataclass(frozen=True)
class UninitialisedRegister(RegisterFact):
    """A read of an unwritten register."""


@dataclass(frozen=True)
class PendingRegister(RegisterFact):
    """A write to a register that a tcgen05.ld in flight may still write. element: "reg[3]"; issued: the load."""

    element: str
    issued: Span | None

    @property
    def other(self) -> Span | None:
        return self.issued


@dataclass(frozen=True)
class BorrowedRegister(RegisterFact):
    """A use of accumulator registers of a wgmma that may be in flight. issued: the wgmma."""

    writes: bool
    issued: Span | None

    @property
    def other(self) -> Span | None:
        return self.issued


@dataclass(frozen=True)
class WideRegisters(RegisterFact):
    """A buffer of wide elements as an operand of 32-bit registers. dtype: of its elements."""

    dtype: str


def outside(w: Owner, name: str, span: Span | None, index: int, size: int) -> Fault:
    """Return the fault of an index outside a local buffer."""
    return Fault(RegisterOutOfBounds(w.origin, name, span, index, size))


def uninitialised(w: Owner, name: str, span: Span | None) -> None:
    """Record a read of unwritten registers. A run without data skips the check, because it omits such writes."""
    w.values.apply(_uninitialised, w, name, span)


def _uninitialised(w: Owner, name: str, span: Span | None) -> None:
    w.gpu.facts.record(UninitialisedRegister(w.origin, name, span))
