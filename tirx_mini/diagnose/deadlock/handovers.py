"""Incorrect handovers between roles, as the program itself shows them; for runs with an error.

A role waits for a barrier, uses the data handed over, and signals another barrier. Each function below recognises one
mistake in this pattern. A correct program may match for other reasons, so a match alone is not a finding.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import replace

from tirx_mini.ir import Buffer, PrimFunc, Stmt, int_value
from tirx_mini.isa import BarrierEffect, Completion
from tirx_mini.sim import FreshWait, MbarrierWait, RunningWarp, place_key

from ..kind import Explanation, Kind, counted
from .byte_counts import Suspect
from .first_waits import NamedWaits, begun_before, first_waits, passes_at_once, passes_too_early, waits_for_nothing
from .notes import site_notes
from .phases import Once, Rounds, differing_rounds, waits_once
from .rule import cause
from .sites import Assignment, Site, Sites, find_sites
from .situation import Group, Situation
from .values import difference

EARLY_COMMIT = Kind(
    "early-commit", "TX216", "hazard", "tcgen05.commit tracks what the executing thread issued before it.",
    "PTX ISA: tcgen05.commit",
)  # fmt: skip
OTHER_STAGE = Kind(
    "other-stage", "TX120", "hazard", "A role signals the stage that it waited for.", "PTX ISA: mbarrier",
)  # fmt: skip
SWAPPED = Kind(
    "stage-for-phase", "TX126", "hazard", "A wait names a stage of its ring, and the parity of a phase of that stage.",
    "PTX ISA: mbarrier.try_wait",
)  # fmt: skip
OTHER_COUNT = Kind(
    "other-count", "TX116", "hazard", "A phase completes as soon as its arrivals have come.", "PTX ISA: mbarrier.init",
)  # fmt: skip
OTHER_ROUNDS = Kind(
    "other-rounds", "TX110", "hazard", "Each wait needs its arrivals, so both sides make the same number of rounds.",
    "PTX ISA: mbarrier",
)  # fmt: skip


def handover_suspect(
    func: PrimFunc, fresh: Sequence[FreshWait], blocked: Sequence[RunningWarp] = (), named: NamedWaits | None = None
) -> Suspect | None:
    """Return the first incorrect handover in the program.

    fresh: the first waits that passed on a fresh barrier. blocked: the deadlocked warps. named: the waits that other
    findings name.
    """
    sites, fresh, named = find_sites(func), [*fresh, *first_waits(blocked)], named or NamedWaits()
    stuck = [warp.waiting.span for warp in blocked if isinstance(warp.waiting, MbarrierWait)]
    seen = {*named.races, *map(place_key, (*(wait.origin.span for wait in fresh), *stuck))}
    return (
        _early_commit(sites)
        or _stage_for_phase(sites)
        or passes_at_once(sites, fresh)
        or begun_before(func, sites, fresh)
        or _once_for_all(func, sites, seen)
        or waits_for_nothing(sites, fresh)
        or passes_too_early(sites, fresh, named)
        or other_stage(sites)
        or _other_rounds(func, sites)
    )


# -- commits -----------------------------------------------------------------------------------------------------------


def _early_commit(sites: Sites) -> Suspect | None:
    """Check for a barrier whose commits all precede the first MMA of their threads."""
    multiplies = [site for site in sites.all if site.instruction.completion is Completion.COMMIT]
    commits = [site for site in sites.all if site.effect is BarrierEffect.COMMIT and site.barrier]
    for commit in commits:
        own = [site for site in multiplies if (site.threads & commit.threads).any()]
        others = [site for site in commits if site.barrier == commit.barrier]
        if own and all(_leads(site, mma) for site in others for mma in own if (site.threads & mma.threads).any()):
            name = _named(sites, commit)
            message = (
                f"this commit comes before the MMA whose completion {name} should signal: a commit tracks only "
                "what its thread has issued before"
            )
            hint = f"commit to {name} after the MMA (gemm_async), in the same thread"
            about = {"barrier": commit.barrier}
            order = f"if the MMA is still at work when the threads that wait for {name} go on"
            notes = site_notes(own[:1], "the MMA is issued here")
            return Suspect(EARLY_COMMIT, Explanation(message, hint, notes, about, order=order), commit.span)
    return None


def _named(sites: Sites, site: Site) -> str:
    """Return the name of a site's barrier, with its index if it is one of several and constant."""
    index = None if site.index is None or sites.depth(site) == 1 else int_value(site.index)
    return site.barrier if index is None else f"{site.barrier}[{index}]"


def _leads(commit: Site, mma: Site) -> bool:
    """Return whether a commit precedes the MMA in each round of its loops."""
    around = {id(guard.cond) for guard in mma.guards}
    return (
        commit.order < mma.order
        and _same(commit.loops, mma.loops[: len(commit.loops)])
        and all(id(guard.cond) in around for guard in commit.guards)
    )


def _same(loops: Sequence[Stmt], others: Sequence[Stmt]) -> bool:
    return list(map(id, loops)) == list(map(id, others))


# -- stages ------------------------------------------------------------------------------------------------------------


@cause("stage-and-phase-swapped", SWAPPED.code, 147, SWAPPED.rule, SWAPPED.isa, root=True)
def stage_and_phase_swapped(situation: Situation, group: Group) -> Explanation | None:
    """Explain a wait that exchanges the stage and the parity of its state."""
    found = _stage_for_phase(situation.sites)
    return None if found is None else replace(found.explanation, span=found.span)


def _stage_for_phase(sites: Sites) -> Suspect | None:
    """Check for a wait with swapped stage and phase: other instructions of its loop use its parity as the stage."""
    for wait in _ring_waits(sites):
        stage, phase = _only(sites, wait, "index"), _only(sites, wait, "phase")
        if stage is None or phase is None or stage is phase:
            continue
        named = [
            site for site in sites.all
            if site.barrier and site.effect is not BarrierEffect.WAIT and wait.loops and _same(site.loops, wait.loops)
        ]  # fmt: skip
        used = [_only(sites, site, "index") for site in named]
        if any(one is phase for one in used) and not any(one is stage for one in used):
            name = wait.barrier
            message = (
                f"this wait for {name} takes the phase of its role as the stage, and the stage as the parity: the two "
                "are swapped"
            )
            explanation = Explanation(
                message, f"write {name}.wait(stage, phase): the stage first, then the phase",
                site_notes([site for site in named if _only(sites, site, "index") is phase][:1], "it is a stage here"),
                {"barrier": name}, order="if the barrier of that stage completes another phase first",
            )  # fmt: skip
            return Suspect(SWAPPED, explanation, wait.span)
    return None


def _only(sites: Sites, site: Site, what: str) -> Buffer | None:
    """Return the only variable that determines the stage ("index") or the parity ("phase") of a site."""
    expr = site.index if what == "index" else site.argument(what)
    if expr is None:
        return None
    variables, names = sites.variables(expr)
    return variables[0] if len(variables) == 1 and not names else None


def _ring_waits(sites: Sites) -> Iterator[Site]:
    """Yield the waits for a stage of a ring, inside loops."""
    for site in sites.all:
        if site.effect is BarrierEffect.WAIT and site.loops and site.index is not None and sites.depth(site) > 1:
            yield site


def other_stage(sites: Sites) -> Suspect | None:
    """Check for a role that, in one round, waits for one stage and signals a different stage of a second ring."""
    for signal in sites.all:
        if signal.effect is None or not signal.effect.arrives or signal.index is None or signal.by_thread:
            continue
        depth = sites.depth(signal)
        waits = [
            wait for wait in _ring_waits(sites)
            if wait.barrier != signal.barrier and sites.depth(wait) == depth and wait.order < signal.order
            and _same(wait.loops, signal.loops) and (wait.threads & signal.threads).any()
            and _unconditional(signal, wait)
        ]  # fmt: skip
        found = [one for wait in waits if (one := _apart(sites, wait, signal, depth)) is not None]
        if found and len(found) == len(waits):
            return found[0]
    return None


def _unconditional(signal: Site, wait: Site) -> bool:
    """Return whether a signal executes in every round of a wait: its own guards select only threads and CTAs."""
    around = {id(guard.cond) for guard in wait.guards}
    return all(guard.of_all_rounds(signal.warps) for guard in signal.guards if id(guard.cond) not in around)


def _apart(sites: Sites, wait: Site, signal: Site, depth: int) -> Suspect | None:
    """Return the mistake in a signal's stage; None if it matches the wait or is unknown."""
    assert wait.index is not None and signal.index is not None
    steps = difference(sites, signal.index, wait.index, depth)
    word, about = signal.role, {"barrier": signal.barrier}
    order = f"if the signal of another stage of {signal.barrier} comes first"
    if steps is None:
        return None
    notes = ((f"{wait.barrier} is waited for here", wait.span),)
    hint = f"signal {signal.barrier} at the stage of the wait for {wait.barrier}"
    if steps:
        back = steps * 2 > depth
        apart = f"{counted(depth - steps if back else steps, 'stage')} {'before' if back else 'after'}"
        if _fills(sites, signal, depth):
            message = f"this wait for {wait.barrier} is not for the stage that its role fills, which is {apart} it"
            hint = f"wait for {wait.barrier} at the stage that is loaded"
            notes = ((f"{signal.barrier} is signalled for the stage that is filled here", signal.span),)
            order = f"if the stage of {wait.barrier} that is filled is not free yet"
            return Suspect(OTHER_STAGE, Explanation(message, hint, notes, about, order=order), wait.span)
        message = f"this {word} signals {signal.barrier} {apart} the stage that its role waited for in {wait.barrier}"
        return Suspect(OTHER_STAGE, Explanation(message, hint, notes, about, order=order), signal.span)
    between = _step_between(sites, wait, signal)
    if between is None:
        return None
    message = (
        f"the stage advances between the wait for {wait.barrier} and the {word} at {signal.barrier}: what stands after "
        "it uses and signals the next stage, which was not waited for"
    )
    hint = "advance the state (move_to_next_stage) after the last use of its stage in the round"
    notes += ((f"the {word} is here", signal.span),)
    return Suspect(OTHER_STAGE, Explanation(message, hint, notes, about, order=order), between.span)


def _fills(sites: Sites, signal: Site, depth: int) -> bool:
    """Return whether loads fill the stage that a signal names."""
    loads = [load for load in sites.of(signal.barrier, BarrierEffect.COMPLETE_TX) if _same(load.loops, signal.loops)]
    return bool(loads) and all(
        load.index is not None and signal.index is not None and difference(sites, load.index, signal.index, depth) == 0
        for load in loads
    )


def _step_between(sites: Sites, wait: Site, signal: Site) -> Assignment | None:
    """Return an assignment of the stage between a wait and the signal, inside their loop."""
    assert wait.index is not None
    variables = sites.variables(wait.index)[0]
    for one in sites.assignments:
        inside = wait.order < one.order <= signal.order and _same(one.loops, wait.loops)
        if inside and any(one.variable is variable for variable in variables):
            return one
    return None


# -- rounds ------------------------------------------------------------------------------------------------------------


def _other_rounds(func: PrimFunc, sites: Sites) -> Suspect | None:
    """Check for a barrier that completes a different number of phases per outer round than a role waits for."""
    found = next(differing_rounds(func, sites), None)
    if found is None:
        return None
    name, signal, wait = found.barrier, found.signals[0], found.waits[0]
    if found.arrivals > found.count and found.alike:
        return Suspect(OTHER_COUNT, _count(sites, found), wait.span)
    deep, shallow = (signal, wait) if len(signal.loops) > len(wait.loops) else (wait, signal)
    often = "once" if found.rounds == 1 else counted(found.rounds, "time")
    message = (
        f"{name} completes {counted(found.phases, 'phase')} in each round of the outer loop, and its wait is executed "
        f"{often}: the two sides drift apart"
    )
    if len(deep.loops) == len(shallow.loops):
        hint = "let the loops of both sides make the same number of iterations"
    else:
        more = "move the signal out of the inner loop" if deep is signal else "signal in the inner loop too"
        hint = f"the two sides are in loops of different depths: {more}, so that each wait has one round of arrivals"
    shown = signal if deep is signal and len(deep.loops) > len(shallow.loops) else wait
    notes = (
        *site_notes([site for site in found.signals if site is not shown], f"{name} is signalled here"),
        *site_notes([site for site in found.waits if site is not shown], f"{name} is waited for here"),
        *((text, loop.span) for text, loop in _inner_loops(signal, wait)),
    )
    explanation = Explanation(
        message, hint, notes, {"barrier": name}, order=f"if one side of {name} is a phase ahead of the other",
    )  # fmt: skip
    return Suspect(OTHER_ROUNDS, explanation, shown.span)


def _once_for_all(func: PrimFunc, sites: Sites, seen: Collection[Hashable]) -> Suspect | None:
    """Check for threads that wait once for a barrier which completes several phases, in a loop of other threads.

    seen: the places of waits that a finding names, or that passed or hang on a fresh barrier. Behind another
    synchronisation with the loop, such a wait is correct.
    """
    found = next((one for one in waits_once(func, sites) if place_key(one.wait.span) in seen), None)
    return None if found is None else Suspect(OTHER_ROUNDS, _once(found), found.wait.span)


def _once(found: Once) -> Explanation:
    """Explain a wait for one of several phases."""
    wait, last, parity = found.wait, found.phases - 1, int_value(found.wait.argument("phase"))
    passes = {None: "after one of them", 0: "as soon as phase 0 is complete", 1: "at once, before phase 0 is complete"}
    other = f"that of phase {last - 2}" if last > 1 else "let through by a fresh barrier"
    return Explanation(
        f"the loop completes {found.phases} phases of {wait.barrier}, and this wait after it is executed once for "
        f"them: it passes {passes[parity]}, and not only after the last one, phase {last}",
        "let these threads meet the one that waits for every phase at a cta_sync() after the loop, or wait for every "
        f"phase themselves: the parity of the last one, ({found.phases} - 1) % 2 = {last & 1}, is also {other}",
        (
            *site_notes([found.signal], f"{wait.barrier} is signalled here"),
            ("each round of this loop completes a phase", found.loop.span),
        ),
        {"barrier": wait.barrier},
        order="if a thread comes to this wait before the last phase is complete",
    )


def _count(sites: Sites, found: Rounds) -> Explanation:
    """Explain a barrier with equal rounds on both sides but more arrivals per round than its initial count."""
    name, few = found.barrier, counted(found.count, "thread")
    return Explanation(
        f"{name} was initialised for {counted(found.count, 'arrival')} a phase, and {found.arrivals} arrive in each "
        "round: its phases run ahead of the threads that wait",
        f"initialise {name} with {found.arrivals}, or let {few} arrive at it in each round",
        (
            *site_notes(sites.of(name, BarrierEffect.INIT)[:1], "it is initialised here"),
            *site_notes(found.signals, "the {role} is here"),
        ),
        {"barrier": name},
        order=f"if {name} completes a phase before all of its threads have arrived",
    )


def _inner_loops(signal: Site, wait: Site) -> Iterator[tuple[str, Stmt]]:
    """Yield the innermost loops of a signal and a wait if they differ."""
    if len(signal.loops) == len(wait.loops) and signal.loops and signal.loops[-1] is not wait.loops[-1]:
        yield "the loop of the signal is here", signal.loops[-1]
        yield "the loop of the wait is here", wait.loops[-1]
