"""Texts of one source that compute different values: the compiler used a freedom that the source gives it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tirx_mini.diagnose import Finding
from tirx_mini.ir import Span

from .programs import Entry
from .results import Difference, decided_by_order, difference, rounds
from .runs import Run
from .texts import Role

_WITHOUT = (Role.ORDINARY, Role.ASYNCHRONOUS)
_CAUSE = (
    "a right kernel computes the same however far it is optimised: this source lets the compiler choose, by a race, a "
    "value that nothing wrote, an access that lacks volatile, an asm statement that lacks volatile or its \"memory\" "
    "clobber, or an overflow"
)
_HINT = "look for what the optimiser may assume on the way to this value, and synchronise or declare it"


def differing(
    runs: Mapping[Role, Run], entry: Entry, stores: Callable[[Role, Difference], Sequence[Span]]
) -> Finding | None:
    """Return the finding that texts compute different values; None where they agree, or other reasons may part them.

    entry: the optimised one. stores: where a text may store the element of a difference.
    """
    plain = next((role for role in _WITHOUT if role in runs and runs[role].ended), None)
    if plain is None or runs[Role.TIME].report.verdict == "incomplete":
        return None
    own = runs[Role.TIME].report
    if not runs[Role.TIME].ended:
        first = next((finding for finding in own.errors if finding.happened), None)
        return None if first is None else _without_end(first, entry.name)
    if decided_by_order(entry.kernel):
        return None
    optimised = Role.VALUES if Role.VALUES in runs else Role.TIME
    for role in (optimised, *(each for each in _WITHOUT if each is not plain)):
        if role not in runs or not runs[role].ended:
            continue
        found = difference(runs[plain].arrays, runs[role].arrays, rounds(entry.kernel))
        if found is not None:
            return _finding(found, role, stores(plain, found))
    return None


def _finding(found: Difference, role: Role, places: Sequence[Span]) -> Finding:
    how = "with little optimisation" if role is Role.ASYNCHRONOUS else "with optimisation"
    message = f"{found.element} is {found.one} without optimisation, and {found.other} {how}"
    notes = [(_CAUSE, None)]
    span = places[0] if len(places) == 1 else None
    if len(places) > 1:
        span = places[-1]
        notes += [("the element may be stored here, too", each) for each in places[:-1]]
    details = {"hint": _HINT, "notes": tuple(notes), "buffer": found.name, "where": found.element}
    return Finding("differing-results", "error", message, span, details)


def _without_end(first: Finding, name: str) -> Finding:
    message = f"{name} runs to its end without optimisation, and does not with it: {first.message}"
    return Finding("differing-results", "error", message, first.span, {"hint": _HINT, "notes": ((_CAUSE, None),)})
