"""Kinds of findings, with their stable codes, and the explanations that rules return."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from types import MappingProxyType, ModuleType
from typing import Any, Generic, Literal, TypeVar

from tirx_mini.ir import ERROR_KINDS, Span
from tirx_mini.records import dataclass
from tirx_mini.sim import Fact

Severity = Literal["error", "warning", "note"]
"""error: some legal execution fails. warning: current hardware tolerates it. note: about the simulation, or style."""
Verdict = Literal["ok", "clock", "incomplete", "hazard", "deadlock", "fault"]
VERDICTS: tuple[Verdict, ...] = ("fault", "deadlock", "hazard", "incomplete", "clock", "ok")
"""The verdicts, worst first. incomplete: the run reached an operation that the simulator does not model, so the rest is
unreliable. clock: a run without data completed, so only its time is known."""

NOT_MODELLED_NAME = "not-modelled"
"""The kind of unmodelled operations, in a run and before it."""

Notes = tuple[tuple[str, "Span | None"], ...]
"""Sentences, each with its source location."""


@dataclass(frozen=True)
class Kind:
    """A kind of finding.

    Codes and names never change their meaning; new ones are added.

    name: such as "race". code: such as "TX201"; `docs/findings.md` has a section for each.
    verdict: the verdict of a kernel with an error of this kind; for "incomplete", also with a note.
    rule: the violated rule, in a sentence.
    isa: the source of the rule: sections of the PTX ISA by name, because numbers change ("" if there is none).
    """

    name: str
    code: str
    verdict: Verdict
    rule: str
    isa: str = ""


@dataclass(frozen=True)
class Explanation:
    """An explanation of an error, for a reader of the source.

    message: one sentence on the error. hint: one sentence on the fix.
    notes: other source locations that show it.
    about: further facts by name: "buffer", "barrier", "where", "other_role", "consequence" (see `Finding`).
    rule: a section of the PTX ISA, if it differs from the kind's.
    kind, severity: for rules with several kinds or severities.
    order: the legal order of events in which the error occurs, as a clause that begins with "if"; None if it occurred
        in this run (a wrong value, a hang, a trap, or a rule violated in every order).
    span: the location of the mistake, if it differs from the location of the fact.
    """

    message: str
    hint: str | None = None
    notes: Notes = ()
    about: Mapping[str, Any] = field(default_factory=dict[str, Any])
    rule: str | None = None
    kind: Kind | None = None
    severity: Severity | None = None
    order: str | None = None
    span: Span | None = None


F = TypeVar("F", bound=Fact)


@dataclass(frozen=True)
class FactRule(Generic[F]):
    """A rule that maps facts of one class to findings. kind: None if the explanation provides it."""

    fact: type[F]
    kind: Kind | None
    severity: Severity
    explain: Callable[[F], Explanation]


def explains(
    fact: type[F], kind: Kind | None = None, severity: Severity = "error"
) -> Callable[[Callable[[F], Explanation]], FactRule[F]]:
    """Return a decorator for the function that explains facts of a class."""
    return lambda explain: FactRule(fact, kind, severity, explain)


Found = TypeVar("Found")


def collect(modules: Iterable[ModuleType], what: type[Found]) -> list[Found]:
    """Return all objects of a class that the modules define, without duplicates, in order of definition."""
    found = {id(value): value for module in modules for value in vars(module).values() if isinstance(value, what)}
    return list(found.values())


def of_error(name: str) -> Kind:
    """Return the kind of finding for a kind of `TirxError`, with the same code and rule."""
    error = ERROR_KINDS[name]
    verdict: Verdict = "incomplete" if name == NOT_MODELLED_NAME else "fault"
    return Kind(error.name, error.code, verdict, error.rule, error.source)


def by_name(kinds: Iterable[Kind]) -> Mapping[str, Kind]:
    """Return a table of kinds by name. Raises `ValueError` if two different kinds share a name."""
    table: dict[str, Kind] = {}
    for kind in kinds:
        if table.setdefault(kind.name, kind) != kind:
            raise ValueError(f"two kinds of findings are called {kind.name!r}")
    return MappingProxyType(table)


# -- kinds that several rules share ----------------------------------------------------------------------------------

NOT_MODELLED = of_error(NOT_MODELLED_NAME)
RACE = Kind(
    "race", "TX201", "hazard", "Two accesses to one place, of which one writes, are ordered by synchronisation.",
    "PTX ISA: memory consistency model, causality order",
)  # fmt: skip
MISSING_TMEM_WAIT = Kind(
    "missing-tcgen05-wait", "TX204", "hazard", "tcgen05.ld and tcgen05.st are complete after tcgen05.wait.",
    "PTX ISA: tcgen05.wait",
)  # fmt: skip
IN_FLIGHT_AT_EXIT = Kind(
    "in-flight-at-exit", "TX209", "hazard", "What uses a CTA's memory is complete before the CTA ends.",
    "PTX ISA: asynchronous operations; cluster shared memory",
)  # fmt: skip
OUT_OF_BOUNDS = Kind("out-of-bounds", "TX301", "fault", "An access stays inside its buffer.")
MISALIGNED_ACCESS = Kind(
    "misaligned-access", "TX302", "fault", "An address is a multiple of what its access needs.", "PTX ISA: alignment",
)  # fmt: skip
ILLEGAL_CONVERGENCE = Kind(
    "illegal-convergence", "TX306", "fault", "All threads of a warp execute an .aligned instruction together.",
    "PTX ISA: .sync, .aligned",
)  # fmt: skip
ILLEGAL_INSTRUCTION = Kind(
    "illegal-instruction", "TX307", "fault", "An instruction takes only some values of its operands.",
)  # fmt: skip
BAD_DESCRIPTOR = Kind(
    "bad-descriptor", "TX311", "fault", "A descriptor describes a tile that the tensor core can read.",
    "PTX ISA: matrix descriptors",
)  # fmt: skip

ALIVE = "call cluster_sync() before the kernel ends: it keeps every CTA alive until its peers are done"
"""The hint for a CTA that may end before its peers have finished with it."""

RELAXED_END = "barrier.cluster.arrive.relaxed releases no access, so the CTA may end before this one lands"
"""The reason why a relaxed arrival does not keep a CTA alive for a write."""


def counted(number: int, what: str) -> str:
    """Format a count with its noun: "1 arrival", "2 arrivals"."""
    return f"{number} {what}{'s' * (number != 1)}"
