"""Root causes: the separation of mistakes from their consequences among the findings of a run."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import replace

from tirx_mini.ir import Expr, PrimFunc, Span, Special, int_value, walk
from tirx_mini.sim import Operation, place_key

from .accesses import MISSING_WGMMA_WAIT
from .deadlock import (
    PASSES_AT_ONCE,
    STANDS_STILL,
    WRONG_PARITY,
    NamedWaits,
    Site,
    Suspect,
    find_sites,
    role_alone,
    source_text,
)
from .findings import Finding
from .lanes import MISSING_WARP_SYNC

_FOLLOWING = ("race", "deadlock", "in-flight-at-exit", "uninitialised-read", "lost-result", "barrier-overflow")
"""The kinds of findings that may follow from an incorrect handover between roles."""

MOST_USES = 4
"""The maximum number of further locations listed for one missing synchronisation."""

_LOAD = str(Operation.LOAD)
_OF_THREADS = {_LOAD, str(Operation.STORE)}
_NAMED = re.compile(r"barrier [1-9]\d*")


def consequence(finding: Finding) -> Finding:
    """Return the finding marked as a consequence of another one."""
    return replace(finding, details={**finding.details, "consequence": True})


def with_suspects(findings: Sequence[Finding], suspects: Sequence[Finding]) -> list[Finding]:
    """Return the findings preceded by the suspects that explain them."""
    if not suspects:
        return list(findings)
    errors = [f for f in findings if f.severity == "error"]
    order = errors[0].order if errors and not any(f.happened for f in errors) else None
    return [*(replace(f, order=f.order or order) for f in suspects), *map(consequence, findings)]


def explains_others(finding: Finding) -> bool:
    """Return whether a finding already explains others: an incorrect state, or an incorrect initial count."""
    counts = finding.kind == "barrier-overflow" and not finding.details.get("consequence")
    return counts or finding.kind in (STANDS_STILL.name, WRONG_PARITY.name)


def may_follow(finding: Finding) -> bool:
    """Return whether a finding may follow from an incorrect handover between two roles."""
    possible_end = finding.kind == "in-flight-at-exit" and not finding.happened
    return finding.severity == "error" and finding.kind in _FOLLOWING and not possible_end


def overtakes(finding: Finding) -> bool:
    """Return whether a role arrives again before a phase is complete, with arrivals that fit the initial count."""
    return finding.kind == "barrier-overflow" and bool(finding.details.get("consequence"))


def overflows_after(finding: Finding, suspect: Suspect) -> bool:
    """Return whether a barrier gets too many arrivals because a first wait for it passes at once."""
    barrier = str(finding.details.get("barrier")).partition("[")[0]
    first = suspect.kind is PASSES_AT_ONCE and suspect.explanation.about.get("barrier") == barrier
    return first and finding.kind == "barrier-overflow"


def named_waits(findings: Sequence[Finding]) -> NamedWaits:
    """Return the waits that findings name as those that should have ordered their accesses."""
    unwritten: dict[Hashable, int] = {}
    races: list[Hashable] = []
    for finding in findings:
        noted = [place_key(span) for _, span in finding.details.get("notes", ())]
        if finding.kind == "uninitialised-read":
            level = 1 if finding.details.get("operation") == str(Operation.TCGEN05_LD) else 2
            role = role_alone(str(finding.details.get("role")))
            unwritten |= {(place, role): level for place in noted}
        elif finding.kind == "race":
            races += [place_key(finding.span), *noted]
    return NamedWaits(unwritten, races)


def causes_first(func: PrimFunc, findings: Sequence[Finding]) -> list[Finding]:
    """Return the findings with consequences marked."""
    found = _shared_barrier(func, _one_cluster_sync(func, findings))
    found = _missing_second_sync(func, _wgmma_in_flight(_one_sync_for_both(found)))
    return _lost_in_a_race(_same_place(func, found))


def _one_cluster_sync(func: PrimFunc, findings: Sequence[Finding]) -> list[Finding]:
    """Merge unordered uses of other CTAs' barriers into a single missing cluster synchronisation."""
    uses = [f for f in findings if f.kind == "race" and "owner" in f.details]
    if not uses:
        return list(findings)
    first = uses[0]
    sync = _sync_after(func, _other(first))
    message, notes = first.message, list(first.details.get("notes", ()))
    if sync is not None:
        place, _, _ = message.partition(" with no synchronisation")
        owner = first.details["owner"]
        call = "cta_sync()" if sync.span and "cta_sync" in source_text(sync.span.user) else "barrier"
        message = f"{place}: the {call} of line {_line(sync.span)} orders {owner} only"
        notes.append(("this one synchronises one CTA", sync.span))
    notes += [(f"and the same with {f.details['barrier']} here", f.span) for f in uses[1 : 1 + MOST_USES]]
    count = sum(f.details.get("count", 1) for f in uses)
    root = replace(first, message=message, details={**first.details, "notes": tuple(notes), "count": count})
    rest = [f for f in findings if all(f is not use for use in uses)]
    return [root, *(consequence(f) if may_follow(f) else f for f in rest)]


def _sync_after(func: PrimFunc, init: Span | None) -> Site | None:
    """Return the first CTA barrier after an initialisation."""
    sites = find_sites(func)
    orders = [site.order for site in sites.at(init)]
    later = [s for s in sites.all if orders and s.order > min(orders) and s.instruction.waits_at_named_barrier]
    return min(later, key=lambda site: site.order, default=None)


def _shared_barrier(func: PrimFunc, findings: Sequence[Finding]) -> list[Finding]:
    """Explain two groups of warps at one named barrier: mixed rounds, inconsistent counts, endless waits."""
    shared = next((f for f in findings if f.kind == "race" and _NAMED.fullmatch(str(f.details.get("barrier")))), None)
    if shared is None:
        return list(findings)
    hangs = any(f.kind == "deadlock" for f in findings)
    if (count := _uncounted(func, int(str(shared.details["barrier"]).split()[1]))) is not None:
        hint = f"count all threads that arrive or wait: {count} in each call for {shared.details['barrier']}"
        rest = [consequence(f) for f in findings if f is not shared]
        return [replace(shared, details={**shared.details, "hint": hint}), *rest]
    root = replace(shared, order=None) if hangs else shared
    return [root, *(consequence(f) for f in findings if f is not shared)]


def _uncounted(func: PrimFunc, number: int) -> int | None:
    """Return the threads that use a named barrier if their number differs from the count of its calls."""
    named = (site for site in find_sites(func).all if site.instruction.counts_threads)
    calls = [site for site in named if _number(site, "barrier_id") == number]
    waits = [site for site in calls if site.instruction.waits_at_named_barrier]
    counts, total = {_number(site, "threads") for site in calls}, sum(int(site.threads.sum()) for site in calls)
    others = [site for site in calls if not site.instruction.waits_at_named_barrier]
    apart = len(waits) == 1 and others and not any((waits[0].threads & site.threads).any() for site in others)
    return total if apart and len(counts) == 1 and None not in counts and counts != {total} else None


def _number(site: Site, operand: str) -> int | None:
    return int_value(site.argument(operand))


def _wgmma_in_flight(findings: Sequence[Finding]) -> list[Finding]:
    """Mark late waits as consequences of missing waits for MMAs, which would keep the warpgroup together."""
    root = next((f for f in findings if f.code == MISSING_WGMMA_WAIT.code), None)
    if root is None:
        return list(findings)

    def follows(finding: Finding) -> bool:
        late = finding.kind == "race" and "barrier" in finding.details
        return late or (finding is not root and _line(finding.span) == _line(root.span))

    return [consequence(finding) if follows(finding) else finding for finding in findings]


def _one_sync_for_both(findings: Sequence[Finding]) -> list[Finding]:
    """Mark what a synchronisation of several warps mends beside their race, at the lines of that race.

    It also orders the lanes of each warp, and a load that came before any store of its bytes.
    """
    races = [f for f in findings if f.kind == "race" and f.severity == "error"]
    lines = {_lines(f) for f in races}
    threads = [f for f in races if {f.details.get("operation"), f.details.get("other_operation")} <= _OF_THREADS]
    loads = {(line, f.details.get("buffer")) for f in threads for line in _lines(f)}

    def follows(finding: Finding) -> bool:
        if finding.kind == MISSING_WARP_SYNC.name:
            return _lines(finding) in lines
        about = finding.kind == "uninitialised-read" and finding.details.get("operation") == _LOAD
        return about and (_line(finding.span), finding.details.get("buffer")) in loads

    return [consequence(finding) if follows(finding) else finding for finding in findings]


def _lines(finding: Finding) -> frozenset[int | None]:
    """Return the lines of the two accesses of a race."""
    return frozenset((_line(finding.span), _other_line(finding)))


def _missing_second_sync(func: PrimFunc, findings: Sequence[Finding]) -> list[Finding]:
    """Explain a bulk store that races with writes of its source in both orders.

    The missing synchronisation is between the store and the next writes.
    """
    races = {(f.details.get("operation"), _line(f.span), _other_line(f)): f for f in findings if f.kind == "race"}
    for (operation, store, write), early in races.items():
        late = races.get(("store", write, store))
        if operation != "TMA store" or late is None or store is None or write is None:
            continue
        there = _only_sync(func, early.span, write, store)
        if there is None:
            continue
        hint = (
            "the synchronisation that is missing is the one after the TMA store: commit_group(), wait_group(0), then "
            f"synchronise before the next writes; line {there.user.line} orders the writes before the store only"
        )
        notes = (*late.details.get("notes", ()), ("this one comes between the writes and the store", there))
        root = replace(late, details={**late.details, "hint": hint, "notes": notes})
        return [root, *(consequence(f) if f is early else f for f in findings if f is not late)]
    return list(findings)


def _only_sync(func: PrimFunc, at: Span | None, write: int, store: int) -> Span | None:
    """Return the synchronisation between the writes and the store, if none follows the store in its loop."""
    sites = find_sites(func)
    loops = {id(loop) for site in sites.at(at) for loop in site.loops[-1:]}
    syncs = [s for s in sites.all if s.instruction.waits_at_named_barrier and s.span is not None]
    if any(s.span.user.line > store and loops & set(map(id, s.loops)) for s in syncs if s.span is not None):
        return None
    return next((s.span for s in syncs if s.span is not None and write < s.span.user.line < store), None)


def _same_place(func: PrimFunc, findings: Sequence[Finding]) -> list[Finding]:
    """Add the origin of a CTA-independent location to races between CTAs on one statement."""
    sites = find_sites(func)
    found: list[Finding] = []
    for finding in findings:
        if finding.kind == "race" and place_key(finding.span) == place_key(_other(finding)):
            about = [sites.origins(arg) for site in sites.at(finding.span) for arg in site.call.args]
            origins = {id(one): one for some in about for one in some}.values()
            if origins and not any(_of_the_cta(one.value) for one in origins):
                places = tuple(("its place is computed here, the same in each CTA", one.span) for one in origins)
                notes = (*finding.details.get("notes", ()), *places)
                finding = replace(finding, details={**finding.details, "notes": notes})
        found.append(finding)
    return found


def _of_the_cta(expr: Expr) -> bool:
    """Return whether an expression differs between CTAs."""
    return any(isinstance(node, Special) and node.name.startswith("blockIdx") for node in walk(expr))


def _lost_in_a_race(findings: Sequence[Finding]) -> list[Finding]:
    """Mark an overwritten unread accumulator as a consequence of a race at the same line."""
    races = {_line(span) for f in findings if f.kind == "race" for span in (f.span, _other(f))}
    return [consequence(f) if f.kind == "lost-result" and _line(f.span) in races else f for f in findings]


def _other(finding: Finding) -> Span | None:
    """Return the location of the other access of a race: its first note."""
    return next((span for _, span in finding.details.get("notes", ())), None)


def _other_line(finding: Finding) -> int | None:
    return _line(_other(finding))


def _line(span: Span | None) -> int | None:
    return None if span is None else span.user.line
