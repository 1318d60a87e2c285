"""Which of the findings of a run are the mistake, and which only follow from it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from tirx_mini.ir import Expr, PrimFunc, Span, Special, int_value, walk
from tirx_mini.sim import place_key

from .accesses import MISSING_WGMMA_WAIT
from .deadlock import STANDS_STILL, WRONG_PARITY, Site, find_sites, source_text
from .findings import Finding

_FOLLOWING = ("race", "deadlock", "in-flight-at-exit", "uninitialised-read", "lost-result", "barrier-overflow")
"""Kinds of findings that may follow from a wrong handover between roles."""

MOST_USES = 4
"""The number of further places that a finding names at which the same synchronisation is missing."""

_NAMED = re.compile(r"barrier [1-9]\d*")


def consequence(finding: Finding) -> Finding:
    """The same finding, of which another one says why it is there."""
    return replace(finding, details={**finding.details, "consequence": True})


def with_suspects(findings: Sequence[Finding], suspects: Sequence[Finding]) -> list[Finding]:
    """The findings after the suspects that explain them, which are possible where nothing has gone wrong yet."""
    if not suspects:
        return list(findings)
    errors = [f for f in findings if f.severity == "error"]
    order = errors[0].order if errors and not any(f.happened for f in errors) else None
    return [*(replace(f, order=f.order or order) for f in suspects), *map(consequence, findings)]


def explains_others(finding: Finding) -> bool:
    """Return whether a finding already says why others are there: a state that is wrong, or the count of an init."""
    counts = finding.kind == "barrier-overflow" and not finding.details.get("consequence")
    return counts or finding.kind in (STANDS_STILL.name, WRONG_PARITY.name)


def may_follow(finding: Finding) -> bool:
    """Return whether a finding may be there because two roles do not hand over what they should."""
    return finding.severity == "error" and finding.kind in _FOLLOWING


def causes_first(func: PrimFunc, findings: Sequence[Finding]) -> list[Finding]:
    """The findings, with those marked that follow from others."""
    found = _shared_barrier(func, _one_cluster_sync(func, findings))
    found = _missing_second_sync(func, _wgmma_in_flight(found))
    return _lost_in_a_race(_same_place(func, found))


def _one_cluster_sync(func: PrimFunc, findings: Sequence[Finding]) -> list[Finding]:
    """Uses of another CTA's barriers that their initialisation does not come before: one synchronisation is missing."""
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
    """The first barrier of a CTA after an initialisation."""
    sites = find_sites(func)
    orders = [site.order for site in sites.at(init)]
    later = [s for s in sites.all if orders and s.order > min(orders) and s.instruction.waits_at_named_barrier]
    return min(later, key=lambda site: site.order, default=None)


def _shared_barrier(func: PrimFunc, findings: Sequence[Finding]) -> list[Finding]:
    """Two groups of warps at one named barrier: rounds that mix, counts that do not add up, waits that never end."""
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
    """The threads of a named barrier for which some arrive and others wait, if that is not what its calls count."""
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
    """Waits that may come too late, where no warp waits for its MMAs, which would keep the warpgroup together."""
    root = next((f for f in findings if f.code == MISSING_WGMMA_WAIT.code), None)
    if root is None:
        return list(findings)

    def follows(finding: Finding) -> bool:
        late = finding.kind == "race" and "barrier" in finding.details
        return late or (finding is not root and _line(finding.span) == _line(root.span))

    return [consequence(finding) if follows(finding) else finding for finding in findings]


def _missing_second_sync(func: PrimFunc, findings: Sequence[Finding]) -> list[Finding]:
    """A bulk store and the writes of its source race both ways, though a synchronisation orders the writes before it.

    The synchronisation that is missing is the one between the store and the next writes.
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
    """The synchronisation between the lines of the writes and of the store, if none follows the store in its loop."""
    sites = find_sites(func)
    loops = {id(loop) for site in sites.at(at) for loop in site.loops[-1:]}
    syncs = [s for s in sites.all if s.instruction.waits_at_named_barrier and s.span is not None]
    if any(s.span.user.line > store and loops & set(map(id, s.loops)) for s in syncs if s.span is not None):
        return None
    return next((s.span for s in syncs if s.span is not None and write < s.span.user.line < store), None)


def _same_place(func: PrimFunc, findings: Sequence[Finding]) -> list[Finding]:
    """Writes of one statement to one place by several CTAs: where the place is computed, without the CTA's number."""
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
    """Return whether an expression has another value in each CTA."""
    return any(isinstance(node, Special) and node.name.startswith("blockIdx") for node in walk(expr))


def _lost_in_a_race(findings: Sequence[Finding]) -> list[Finding]:
    """An accumulator that is overwritten unread, by an MMA that races with those who read it."""
    races = {_line(span) for f in findings if f.kind == "race" for span in (f.span, _other(f))}
    return [consequence(f) if f.kind == "lost-result" and _line(f.span) in races else f for f in findings]


def _other(finding: Finding) -> Span | None:
    """Where the other access of a race is: its first note."""
    return next((span for _, span in finding.details.get("notes", ())), None)


def _other_line(finding: Finding) -> int | None:
    return _line(_other(finding))


def _line(span: Span | None) -> int | None:
    return None if span is None else span.user.line
