"""Deadlock rules: each examines a group of stuck warps, and recognises one mistake."""

from __future__ import annotations

from collections.abc import Callable

from tirx_mini.records import dataclass

from ..kind import Explanation, Kind
from .situation import Group, Situation

Diagnosis = Callable[[Situation, Group], "Explanation | None"]


@dataclass(frozen=True)
class DeadlockRule:
    """A rule that recognises a cause of deadlocks.

    kind: of the finding. certainty: rules of higher certainty are tried first; no two are equal.
    consequence: whether the rule reports the symptom rather than the cause; a race, if found, shows the cause better.
    root: whether all other findings follow from it.
    diagnose: returns the explanation of a group that the rule applies to, or None.
    """

    kind: Kind
    certainty: int
    consequence: bool
    root: bool
    diagnose: Diagnosis


def cause(
    name: str, code: str, certainty: int, rule: str, isa: str = "", *, consequence: bool = False,
    root: bool = False,
) -> Callable[[Diagnosis], DeadlockRule]:
    """Return a decorator for the function that recognises the cause `name`. The arguments are the fields of `Kind` and
    `DeadlockRule`."""
    kind = Kind(name, code, "deadlock", rule, isa)
    return lambda diagnose: DeadlockRule(kind, certainty, consequence, root, diagnose)
