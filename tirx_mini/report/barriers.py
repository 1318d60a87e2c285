"""The mbarrier event log and the last states of mbarriers, as tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from rich.table import Table

from tirx_mini.diagnose import Activity, BarrierChange, BarrierEvent, Place, Signal, Timeline

from .source import line_number


def barrier_table(log: Iterable[BarrierEvent], pattern: str = "*") -> Table:
    """Return the events of the mbarriers whose names match `pattern`, such as "tma2mma*", in order of time.

    log: ``report.stats["barriers"]``.

    A row has the event (arrive, expect_tx, TMA load, commit, complete), its phase, the arrivals and bytes that it
    counted, the warp that caused it, and the line.
    """
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name, justify in (("cycle", "right"), ("barrier", "left"), ("phase", "right"), ("what", "left"),
                          ("arrivals", "right"), ("bytes", "right"), ("by", "left"), ("line", "right")):  # fmt: skip
        table.add_column(name, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for event in sorted(log, key=lambda event: event.time):
        if fits(event.barrier, pattern):
            by = event.role.removesuffix(f" of {event.cta}").replace("warpgroup", "WG")
            amounts = (str(event.arrivals or ""), str(event.nbytes or ""))
            line = line_number(event.span) if event.span is not None else ""
            name = f"{event.cta} {event.barrier}"
            table.add_row(f"{event.time:.0f}", name, str(event.phase), str(event.signal), *amounts, by, line)
    return table


def barrier_states(timeline: Timeline, ctas: Sequence[int]) -> Table:
    """The mbarriers of these CTAs at the end of a run, or when nothing could advance.

    A row has the phases that are complete; of the next one, the arrivals and bytes that it lacks; and the roles that
    wait. Bytes below zero have landed, and no arrival has announced them.
    """
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name, justify in (("mbarrier", "left"), ("phases", "right"), ("arrivals", "right"), ("bytes", "right"),
                          ("who waits, and for which parity", "left")):  # fmt: skip
        table.add_column(name, justify=justify, overflow="fold")  # type: ignore[arg-type]
    last: dict[Place, BarrierChange] = {}
    phases: dict[Place, int] = {}
    for change in timeline.changes:
        last[change.barrier] = change
        phases[change.barrier] = change.phase + (change.kind is Signal.COMPLETE)
    waits = _waiting(timeline)
    places = {*last, *waits}
    for place in sorted((place for place in places if place.cta in ctas), key=lambda place: (place.cta, place.name)):
        change = last.get(place)
        name = f"CTA {place.cta} {place.name}" if len(ctas) > 1 else place.name
        lacks = ("all", "") if change is None else (str(change.pending), str(change.tx))
        table.add_row(name, str(phases.get(place, 0)), *lacks, "; ".join(waits.get(place, ())))
    return table


def _waiting(timeline: Timeline) -> dict[Place, list[str]]:
    """The roles that wait for each mbarrier when nothing can advance."""
    found: dict[Place, list[str]] = {}
    for wait in timeline.intervals:
        if wait.activity is Activity.WAIT and wait.barrier is not None and timeline.stuck == wait.end:
            role = timeline.roles.get(wait.track, f"warp {wait.track.warp}")
            line = line_number(wait.span) if wait.span is not None else "?"
            role = "other warps" if role == "other" else role  # they have issued nothing yet
            said = f"{role}, {dict(wait.operands).get('parity', '?')}, line {line}"
            if said not in found.setdefault(wait.barrier, []):
                found[wait.barrier].append(said)
    return found


def fits(barrier: str, pattern: str) -> bool:
    """Return whether the name of a barrier, with or without its stage, matches a pattern with * and ?."""
    literal = pattern.replace("[", "[[]")
    return fnmatchcase(barrier, literal) or fnmatchcase(barrier.partition("[")[0], literal)
