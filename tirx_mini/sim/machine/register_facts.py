"""Facts about mistakes with registers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tirx_mini.ir import Span

from ..facts import Fact, FactLog, Fault, Origin
from .collaborators import Values
from .masks import Mask


class Run(Protocol):
    """The interface of the GPU that registers need."""

    @property
    def facts(self) -> FactLog: ...


class Owner(Protocol):
    """The view that registers have of their warp."""

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
    """Something about a local buffer. name: of the buffer. declared: where it is."""

    name: str
    declared: Span | None


@dataclass(frozen=True)
class RegisterOutOfBounds(RegisterFact):
    """An index outside of a local buffer. index: which; size: elements of the buffer."""

    index: int
    size: int


@dataclass(frozen=True)
class UninitialisedRegister(RegisterFact):
    """A register is read before anything was written to it."""


@dataclass(frozen=True)
class PendingRegister(RegisterFact):
    """A register is written while a tcgen05.ld may still write it. element: "reg[3]"; issued: the load."""

    element: str
    issued: Span | None

    @property
    def other(self) -> Span | None:
        return self.issued


@dataclass(frozen=True)
class BorrowedRegister(RegisterFact):
    """Registers are used while a wgmma that accumulates in them may be in flight. issued: the wgmma."""

    writes: bool
    issued: Span | None

    @property
    def other(self) -> Span | None:
        return self.issued


@dataclass(frozen=True)
class WideRegisters(RegisterFact):
    """An instruction on 32-bit registers is given a buffer of wider elements. dtype: of those."""

    dtype: str


def outside(w: Owner, name: str, span: Span | None, index: int, size: int) -> Fault:
    """The fault of an index outside of a local buffer."""
    return Fault(RegisterOutOfBounds(w.origin, name, span, index, size))


def uninitialised(w: Owner, name: str, span: Span | None) -> None:
    """Record a read of registers without a write. A run without data leaves out what would have written it."""
    w.values.apply(_uninitialised, w, name, span)


def _uninitialised(w: Owner, name: str, span: Span | None) -> None:
    w.gpu.facts.record(UninitialisedRegister(w.origin, name, span))
