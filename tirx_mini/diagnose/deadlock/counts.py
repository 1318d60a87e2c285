"""Deadlocks caused by an mbarrier's initial count that differs from the arrivals per round."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from tirx_mini.sim import Mbarrier, RunningWarp, place_key

from ..kind import Explanation, counted
from .notes import guard_notes, site_notes
from .rule import cause
from .sites import Site
from .situation import Group, Situation, line, role_name


@cause(
    "too-few-arrive", "TX107", 130, "A phase completes after as many arrivals as init was given.",
    "PTX ISA: mbarrier.init",
)  # fmt: skip
def too_few_arrive(situation: Situation, group: Group) -> Explanation | None:
    """Check for a barrier whose initial count exceeds the arrivals that the program can make."""
    barrier = group.mbarrier
    if barrier is None or not barrier.pending or barrier.pending == barrier.expected:
        return None
    signals = situation.signals(barrier)
    if situation.overrun(barrier, signals):
        return None  # the arrivals of this phase were already made in an earlier phase
    later = _later(situation, group, barrier, signals)
    if later is None:
        return None
    got = barrier.expected - barrier.pending
    name = barrier.element.buffer
    notes = site_notes(signals, "the {role} is here")
    few, counts = _few(situation, barrier, signals), counted(barrier.expected, "arrival")
    for site in signals if few is None else [few]:
        if site.threads_arrive and site.threads.sum() < barrier.expected:
            notes += guard_notes(situation.sites.own_guards(site))
    own = [site for site in signals if len(situation.cluster.ctas) > 1 and site.threads_arrive and not site.of_peer]
    hint = f"initialise {name} with {got}, or let {counted(barrier.expected, 'thread')} arrive at it in each round"
    comes = f"but only {got} {'arrives' if got == 1 else 'arrive'}"
    if few is not None:
        comes = f"and the {few.role} of {line(few.span)} makes {got}"
        hint = f"let {counted(barrier.expected, 'thread')} execute the {few.role} of {line(few.span)}"
        own = [site for site in own if site is few]
    message = f"{barrier.name} was initialised for {counts} a phase, {comes}"
    if later:
        waits = later[0].waits if len(later) == 1 else "wait"
        message += (
            f": {role_name([warp for g in later for warp in g.warps])} {waits} for the threads that have arrived, and "
            "cannot arrive before the phase is complete"
        )
    return Explanation(
        message,
        hint + (f"; an arrive without cta_id is at the CTA's own {name}" if own else ""),
        (("it is initialised here", barrier.init_span), *notes),
    )


def _few(situation: Situation, barrier: Mbarrier, signals: Sequence[Site]) -> Site | None:
    """Return the site that alone has arrived in this phase, if those of other loops fit the initial count."""
    counts: dict[Hashable, int] = {}
    for arrival in barrier.history.arrivals.values():
        counts[place_key(arrival.span)] = counts.get(place_key(arrival.span), 0) + arrival.count
    got, stage, rank = barrier.expected - barrier.pending, barrier.element.stage or 0, barrier.cta.rank
    found = [site for site in signals if counts.get(place_key(site.span)) == got]
    ranks = [cta.rank for cta in situation.cluster.ctas]
    rest = [site for site in signals if all(site is not one for one in found)]
    others = [sum(site.arriving(stage, rank, own) for own in ranks) for site in rest]
    if len(found) != 1 or any(loop is around for loop in found[0].loops for site in rest for around in site.loops):
        return None
    return found[0] if barrier.phase or barrier.expected in others else None


def _later(situation: Situation, group: Group, barrier: Mbarrier, signals: Sequence[Site]) -> list[Group] | None:
    """Return the groups that never arrive in this phase because they wait for arrived groups; None if others may still
    arrive.

    A warp that arrives once per phase has arrived in this one if it has made more rounds than phases are complete.
    """
    arrived: list[Group] = []
    absent: list[Group] = []
    for other in situation.groups:
        coming = [warps for site in signals if (warps := _to_come(other, site, barrier))]
        if other is not group and coming:
            here = all(_in_this_phase(situation, barrier, signals, warps) for warps in coming)
            (arrived if here else absent).append(other)
    if not absent:
        return []
    behind = situation.behind(arrived) if not barrier.phase else []
    return absent if all(any(g is other for other in behind) for g in absent) else None


def _to_come(group: Group, site: Site, barrier: Mbarrier) -> list[RunningWarp]:
    """Return the warps that may still arrive at a site in this phase.

    A warp that waits again for a barrier, before the instruction in its loop, has executed it once for each wait.
    """
    warps = group.coming(site, barrier)
    awaited = group.mbarrier
    before = any(
        wait.order < site.order and list(map(id, wait.loops)) == list(map(id, site.loops)) for wait in group.sites
    )
    if awaited is None or not before:
        return warps
    name = awaited.element.buffer

    def passed(warp: RunningWarp) -> int:
        ring = [b.history.wait_counts for b in warp.cta.mbarriers.values() if b.element.buffer == name]
        return sum(counts[warp.place].count for counts in ring if warp.place in counts)

    if not site.certain:
        return [warp for warp in warps if not (passed(warp) and _is_excluded(barrier, site, warp))]
    return [warp for warp in warps if passed(warp) <= barrier.phase or _have_arrived(barrier, [warp])]


def _is_excluded(barrier: Mbarrier, site: Site, warp: RunningWarp) -> bool:
    """Return whether a guard on the CTA keeps the warp from a site, which it has passed by in earlier rounds."""
    place = place_key(site.span)
    return site.by_cta and not any(
        place_key(arrival.span) == place and arrival.role in (warp.place, warp.role)
        for arrival in barrier.history.arrivals.values()
    )


def _in_this_phase(
    situation: Situation, barrier: Mbarrier, signals: Sequence[Site], warps: Sequence[RunningWarp]
) -> bool:
    """Return whether all of the warps have arrived at the barrier since its last phase completed."""
    return _have_arrived(barrier, warps) and all(
        situation.rounds_of(warp, barrier, signals) > barrier.phase for warp in warps
    )


def _have_arrived(barrier: Mbarrier, warps: Sequence[RunningWarp]) -> bool:
    """Return whether all of the warps have ever arrived at the barrier."""
    roles = {arrival.role for arrival in barrier.history.arrivals.values()}
    return all(warp.place in roles or warp.role in roles for warp in warps)


@cause(
    "too-many-arrive", "TX116", 110, "A phase completes as soon as its arrivals have come.", "PTX ISA: mbarrier.init",
)  # fmt: skip
def too_many_arrive(situation: Situation, group: Group) -> Explanation | None:
    """Check for more arrivals per round than the barrier's initial count, so that its phases run ahead."""
    for barrier in group.warps[0].cta.mbarriers.values():
        sites = situation.signals(barrier)
        own = group.mbarrier is barrier or all(g.mbarrier is not barrier for g in situation.groups)
        if not own and any(site.by_thread for site in sites):
            continue  # one of several, for a role each: the page is that of the role that waits for it
        if not sites or not all(site.certain for site in sites) or not _ran_ahead(situation, barrier, sites):
            continue
        number, ranks = barrier.element.stage or 0, [cta.rank for cta in situation.cluster.ctas]
        # The arrivals of a round are from one site: several sites, as for the last round, are equivalent.
        coming = {sum(site.arriving(number, barrier.cta.rank, rank) for rank in ranks) for site in sites}
        if len(coming) == 1 and max(coming) > barrier.expected > 0 and situation.in_step(barrier):
            name, few = barrier.element.buffer, counted(barrier.expected, "thread")
            return Explanation(
                f"{barrier.name} was initialised for {counted(barrier.expected, 'arrival')} a phase, and {max(coming)} "
                "arrive in each round: its phases run ahead of the threads that wait",
                f"initialise {name} with {max(coming)}, or let {few} arrive at it in each round",
                (("it is initialised here", barrier.init_span), *site_notes(sites, "the {role} is here")),
            )
    return None


def _ran_ahead(situation: Situation, barrier: Mbarrier, sites: Sequence[Site]) -> bool:
    """Return whether the barrier has completed more phases than any arriving role has made rounds."""
    rounds = [situation.rounds_of(warp, barrier, sites) for cta in situation.cluster.ctas for warp in cta.warps]
    return barrier.phase > max(rounds, default=0) > 0
