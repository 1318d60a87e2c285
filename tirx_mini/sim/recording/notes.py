"""The notes of a run: plain tuples and lists without references to the machine, so that CTAs can be freed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, NamedTuple

from tirx_mini.hardware import ISSUE_CYCLES
from tirx_mini.ir import Span, TensorMap
from tirx_mini.isa import Instruction
from tirx_mini.records import dataclass

from ..machine import KernelImage, Signal
from ..timeline import Place, Track


class Use:
    """The action of a warp in one step. entry: the instruction; None for a plain access or a poll, named `name`.

    cost: the issue cycles, already spent at the call.
    """

    __slots__ = ("cost", "entry", "name")

    def __init__(self, name: str, entry: Instruction | None = None) -> None:
        self.name = name
        self.entry = entry
        self.cost = int(ISSUE_CYCLES[entry.cost]) if entry is not None else 0


LOAD, STORE, COPY, POLL = Use("load"), Use("store"), Use("copy"), Use("poll")
GLOBAL_LOAD, GLOBAL_STORE, GLOBAL_COPY = Use("load"), Use("store"), Use("copy")
"""Loads from, stores to and copies to global memory."""


class Step(NamedTuple):
    """One step of a warp. begin: the time after its issue. end: the time at which the warp continues.

    operands: without registers, and tensor maps by the names of their buffers.
    awaited: for a wait, the mbarrier and the phase.
    """

    use: Use
    begin: float
    end: float
    span: Span | None
    operands: tuple[Any, ...]
    attrs: Mapping[str, Any]
    awaited: tuple[Place, int, int | None] | None


class Written(NamedTuple):
    """A plain store to global memory. low, high: the first and the last element that it writes."""

    buffer: str
    low: int
    high: int


@dataclass
class WarpLog:
    """The log of a warp. rank: of its CTA.

    flat: the concatenated fields of its steps, in order of their ends; a single list is cheap for the garbage
    collector.
    """

    track: Track
    rank: int
    start: float
    end: float
    flat: list[Any] = field(default_factory=list[Any])

    @property
    def steps(self) -> Iterator[Step]:
        """The steps of the warp."""
        fields = iter(self.flat)
        return map(Step._make, zip(*[fields] * len(Step._fields), strict=True))

    @property
    def uses(self) -> set[Use]:
        """The distinct actions of all steps."""
        uses: list[Use] = self.flat[:: len(Step._fields)]
        return set(uses)


@dataclass(frozen=True)
class CtaLog:
    """A CTA that was launched."""

    cta: int
    name: str
    sm: int
    cluster: int
    rank: int


class CopyNote(NamedTuple):
    """A completed TMA load or store. offset: of its tile in shared memory. place, phase: the barrier that a load
    signals."""

    cta: int
    tensor_map: TensorMap
    load: bool
    start: float
    end: float
    span: Span | None
    moved: tuple[float, float]
    coords: tuple[int, ...]
    offset: int
    barrier: Place | None
    phase: int | None
    targets: tuple[int, ...]


@dataclass
class MmaNote:
    """A batch of MMAs on the tensor cores of `ctas`. a, b: shared-memory offsets of the first operands; None for an A
    in tensor memory. count: of MMAs.

    fresh: the accumulator columns that it overwrites. barriers, phase: the signals of its end.
    """

    ctas: tuple[int, ...]
    start: float
    end: float
    span: Span | None
    a: int | None
    b: int
    shape: tuple[int, int, int]
    count: int
    fresh: tuple[Any, ...]
    barriers: tuple[Place, ...] = ()
    phase: int | None = None


class SignalNote(NamedTuple):
    """A state change of an mbarrier. arrivals, nbytes: the decrease of the pending counts (nbytes < 0: an expect-tx).

    expected: arrivals of a phase.
    """

    time: float
    barrier: Place
    source: Track
    kind: Signal
    phase: int
    arrivals: int
    nbytes: int
    expected: int
    span: Span | None


@dataclass
class Notes:
    """All notes of one run. ctas: by number."""

    image: KernelImage
    warps: list[WarpLog] = field(default_factory=list[WarpLog])
    ctas: dict[int, CtaLog] = field(default_factory=dict[int, CtaLog])
    signals: list[SignalNote] = field(default_factory=list[SignalNote])
    copies: list[CopyNote] = field(default_factory=list[CopyNote])
    mmas: list[MmaNote] = field(default_factory=list[MmaNote])
