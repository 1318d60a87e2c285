"""The facts that a machine states about a kernel: the actor, the action, the place and the rule; no prose.

A fact is a frozen dataclass. The room that emits it defines it, beside the mechanism that notices it; `diagnose` has a
rule for each class, which turns it into a finding. `FactLog` collects them, the same fact at the same places once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from tirx_mini.ir import Span


@dataclass(frozen=True)
class Origin:
    """Who did something, and where in the source.

    role: the warp within its CTA, "warp 3 of warpgroup 1"; "" where no warp acts.
    place: the same with its CTA where the grid has several, "warp 3 of warpgroup 1 of CTA 5".
    cta: "CTA 5"; "" for what concerns the whole launch.
    span: the instruction.
    """

    role: str
    place: str
    cta: str
    span: Span | None


@dataclass(frozen=True)
class Fact:
    """Something a kernel did that a rule may speak about. origin: who did it, and where."""

    origin: Origin

    @property
    def other(self) -> Span | None:
        """The second place in the source that it concerns."""
        return None

    @property
    def variety(self) -> Hashable:
        """The field that distinguishes facts of one class at the same places."""
        return None


@dataclass(frozen=True)
class OperandRule(Fact):
    """An instruction was given operands that it does not take. The instruction table states such rules itself.

    kind: of the finding, as in "illegal-instruction". message, hint: a sentence each. rule: the section of the PTX ISA.
    """

    kind: str
    message: str
    rule: str
    hint: str | None = None

    @property
    def variety(self) -> Hashable:
        """The kind of a finding distinguishes it from others at its places."""
        return self.kind


@dataclass(frozen=True)
class NotModelled(Fact):
    """A kernel did something that the simulator does not model, so that the rest of the run says little.

    what: as in "the function clamp of CUDA C++". effect: what the simulator did instead, a clause.
    """

    what: str
    effect: str

    @property
    def variety(self) -> Hashable:
        return self.what


class Fault(Exception):
    """The kernel broke a rule after which no hardware goes on. fact: which."""

    def __init__(self, fact: Fact) -> None:
        super().__init__(type(fact).__name__)
        self.fact = fact


@dataclass
class Entry:
    """A fact as it first happened, and how often it did."""

    fact: Fact
    count: int = 1


class FactLog:
    """The facts of a run, in the order in which each was first stated.

    The same fact at the same places in the source is counted, not kept again. At most `LIMIT` different ones are kept:
    a kernel that breaks everything is cut short by its reader.
    """

    LIMIT: ClassVar[int] = 200

    def __init__(self) -> None:
        self._entries: dict[Hashable, Entry] = {}

    def record(self, fact: Fact) -> None:
        """Keep a fact, or count it once more."""
        key = (type(fact), fact.variety, place_key(fact.origin.span), place_key(fact.other))
        entry = self._entries.get(key)
        if entry is not None:
            entry.count += 1
        elif len(self._entries) < self.LIMIT:
            self._entries[key] = Entry(fact)

    def seen(
        self, fact: type[Fact], span: Span | None, other: Span | None = None, variety: Hashable = None
    ) -> bool:
        """Return whether such a fact is kept already; counts it once more if so. Saves making it."""
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
    """Equal for spans of one place in the source, inlined at the same places."""
    return None if span is None else (span.file, span.line, span.column, place_key(span.inlined_at))
