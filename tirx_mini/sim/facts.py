"""The facts that a machine records about a kernel: the actor, the action, the location and the rule; no prose.

A fact is a frozen dataclass. The room that emits a fact defines it, beside the mechanism that detects it; `diagnose`
has a rule for each class, which turns it into a finding. `FactLog` collects them, and keeps equal facts at equal
locations once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import ClassVar

from tirx_mini.ir import Span
from tirx_mini.records import dataclass


@dataclass(frozen=True)
class Origin:
    """The actor of an event and its source location.

    role: the warp within its CTA, "warp 3 of warpgroup 1"; "" without a warp.
    place: the role with its CTA if the grid has several, "warp 3 of warpgroup 1 of CTA 5".
    cta: "CTA 5"; "" for the whole launch.
    span: the instruction.
    """

    role: str
    place: str
    cta: str
    span: Span | None


@dataclass(frozen=True)
class Fact:
    """An event in a kernel's execution that a rule may concern. origin: the actor and the location."""

    origin: Origin

    @property
    def other(self) -> Span | None:
        """The second source location of the fact."""
        return None

    @property
    def variety(self) -> Hashable:
        """The field that distinguishes facts of one class at the same locations."""
        return None


@dataclass(frozen=True)
class OperandRule(Fact):
    """An instruction with invalid operands.

    The instruction table states such rules itself.

    kind: of the finding, such as "illegal-instruction". message, hint: a sentence each. rule: the section of the PTX
    ISA.
    """

    kind: str
    message: str
    rule: str
    hint: str | None = None

    @property
    def variety(self) -> Hashable:
        """The kind of the finding, which distinguishes facts at the same location."""
        return self.kind


@dataclass(frozen=True)
class NotModelled(Fact):
    """An operation that the simulator does not model, so that the rest of the run is unreliable.

    what: such as "the function clamp of CUDA C++". effect: the simulator's substitute, as a clause.
    """

    what: str
    effect: str

    @property
    def variety(self) -> Hashable:
        return self.what


class Fault(Exception):
    """A violation after which no hardware continues. fact: the violation."""

    def __init__(self, fact: Fact) -> None:
        super().__init__(type(fact).__name__)
        self.fact = fact


@dataclass
class Entry:
    """A fact at its first occurrence, with the number of occurrences."""

    fact: Fact
    count: int = 1


class FactLog:
    """The facts of a run, in order of first occurrence.

    An equal fact at the same source locations is counted, not recorded again. At most `LIMIT` different ones are kept;
    readers cut the list of a very faulty kernel.
    """

    LIMIT: ClassVar[int] = 200

    def __init__(self) -> None:
        self._entries: dict[Hashable, Entry] = {}

    def record(self, fact: Fact) -> None:
        """Record a fact, or increment the count of an equal one."""
        key = (type(fact), fact.variety, place_key(fact.origin.span), place_key(fact.other))
        entry = self._entries.get(key)
        if entry is not None:
            entry.count += 1
        elif len(self._entries) < self.LIMIT:
            self._entries[key] = Entry(fact)

    def seen(
        self, fact: type[Fact], span: Span | None, other: Span | None = None, variety: Hashable = None
    ) -> bool:
        """Return whether an equal fact is already recorded, and increment its count if so. This avoids its
        construction."""
        entry = self._entries.get((fact, variety, place_key(span), place_key(other)))
        if entry is None:
            return False
        entry.count += 1
        return True

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)


def place_key(span: Span | None) -> Hashable:
    """Return a key that is equal for spans of one source location, inlined at the same locations."""
    return None if span is None else (span.file, span.line, span.column, place_key(span.inlined_at))
