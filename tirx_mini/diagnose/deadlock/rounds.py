"""Deadlocks of roles that cycle through pipeline stages and get out of step."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from tirx_mini.isa import BarrierEffect
from tirx_mini.sim import Mbarrier

from ..kind import Explanation, counted
from .advances import advanced_first
from .first_waits import fullness
from .handovers import other_stage
from .notes import guard_notes, site_notes
from .rule import cause
from .sites import Site
from .situation import Group, Situation
from .twice import state_notes


@cause(
    "wrong-first-phase", "TX108", 120, "A fresh barrier lets a wait for parity 1 through, and blocks parity 0.",
    "PTX ISA: mbarrier.try_wait",
)  # fmt: skip
def wrong_first_phase(situation: Situation, group: Group) -> Explanation | None:
    """Check for a producer whose first wait must pass on a fresh barrier but has parity 0."""
    barrier = group.mbarrier
    if barrier is None or barrier.phase or group.parity != 0:
        return None
    for other in situation.cycle(group)[1:]:
        peer = other.mbarrier
        if peer is None or not peer.fresh or peer.tx or other.parity != 0:
            continue
        if fullness(situation.sites, barrier.element.buffer) < fullness(situation.sites, peer.element.buffer):
            name = barrier.element.buffer
            if (advanced := advanced_first(situation.sites, [*group.sites, *other.sites])) is not None:
                return replace(advanced, order=None)
            notes = tuple((f"{name} is signalled here", site.span) for site in situation.signals(barrier))
            return Explanation(
                f"{group.role} {group.waits} for phase 0 of {barrier.name} before anything was produced, and "
                f"{other.role} {other.waits} for what {group.role} should produce: a producer's first wait must pass",
                f"let {group.role} start with phase 1 for {name} (PipelineState.init(is_producer=True)): a fresh "
                "barrier lets a wait for phase 1 through",
                ((f"{other.role} {other.waits} here", other.span), *notes),
            )
    return _nobody_begins(situation, group)


def _nobody_begins(situation: Situation, group: Group) -> Explanation | None:
    """Check for symmetric roles that wait for one another from the start."""
    cycle = situation.cycle(group)
    barriers = [g.mbarrier for g in cycle if g.mbarrier is not None and g.mbarrier.fresh and g.parity == 0]
    if not cycle or cycle[0] is not group or len(barriers) < len(cycle):
        return None
    if len({fullness(situation.sites, barrier.element.buffer) for barrier in barriers}) > 1:
        return None  # of a producer and a consumer, the producer's wait is the wrong one
    if any(other not in cycle for g in cycle for other in situation.needed_by(g)):
        return None
    names = " or ".join(dict.fromkeys(barrier.name for barrier in barriers))
    base = barriers[0].element.buffer
    signals = [site for barrier in barriers for site in situation.signals(barrier)]
    return Explanation(
        f"{', and '.join(f'{g.role} {g.waits} for {b.name}' for g, b in zip(cycle, barriers, strict=True))}, each for "
        f"what another does after its own wait: no thread has ever arrived at {names}",
        f"one of them has to begin: let it start with phase 1 for {base} (PipelineState.init(is_producer=True)), which "
        "a fresh barrier lets through",
        (
            *((f"{other.role} {other.waits} here", other.span) for other in cycle[1:]),
            *site_notes(signals, f"{base} is signalled here"),
        ),
    )


@cause("wrong-stage", "TX120", 90, "A role signals the stage that it waited for.", "PTX ISA: mbarrier")
def wrong_stage(situation: Situation, group: Group) -> Explanation | None:
    """Check for a role that signals a stage more often than it waits for that stage."""
    shown = other_stage(situation.sites)
    for barrier in group.warps[0].cta.mbarriers.values():
        name, sites = barrier.element.buffer, situation.signals(barrier)
        for ring in _waited_before(situation, sites):
            found = _more_often_than_waited(situation, barrier, ring, sites)
            if found is not None and _signalled_twice(situation, sites):
                return Explanation(
                    f"{found}: two instructions signal it in each round",
                    f"signal {name} once for each wait for {ring}",
                    site_notes(sites, f"{name} is signalled here"),
                )
            if found is not None and shown is not None:
                return replace(shown.explanation, span=shown.span)
            if found is not None:
                return Explanation(
                    f"{found}: it signals another stage than it waited for",
                    f"signal {name} at the stage of the wait for {ring}, before the state advances",
                    () if len(sites) == 1 else site_notes(sites, f"{name} is signalled here"),
                    span=sites[0].span if len(sites) == 1 else None,
                )
    return None


def _more_often_than_waited(situation: Situation, barrier: Mbarrier, ring: str, sites: list[Site]) -> str | None:
    """Return the warp that has arrived at a barrier more often than it passed the same stage of `ring`."""
    barriers = situation.cta_of(barrier).mbarriers.values()
    stages = {b.element.stage: b for b in barriers if b.element.buffer == ring}
    awaited = stages.get(barrier.element.stage)
    if awaited is None or len(stages) != sum(b.element.buffer == barrier.element.buffer for b in barriers):
        return None
    for warp in situation.cta_of(barrier).warps:
        arrived = situation.rounds_of(warp, barrier, sites)
        waited = awaited.history.wait_counts[warp.place].count if warp.place in awaited.history.wait_counts else 0
        if arrived > waited and any(warp.place in b.history.wait_counts for b in stages.values()):
            return (
                f"{warp.role} has arrived {counted(arrived, 'time')} at {barrier.name}, and waited "
                f"{counted(waited, 'time')} for {awaited.name}"
            )
    return None


def _signalled_twice(situation: Situation, sites: Sequence[Site]) -> bool:
    """Return whether two sites in one round of a loop name the same barrier by loop variables alone."""
    seen: set[Hashable] = set()
    for site in sites:
        if site.index is None or situation.sites.variables(site.index)[0]:
            continue
        key = (*map(id, site.loops), *(id(guard.cond) for guard in site.guards), repr(site.index))
        if key in seen:
            return True
        seen.add(key)
    return False


def _waited_before(situation: Situation, sites: list[Site]) -> Iterator[str]:
    """Yield the barrier rings that the warps of `sites` wait for earlier in the same loop."""
    if not sites or any(site.by_thread or not site.certain or not site.loops for site in sites):
        return
    threads = np.logical_or.reduce([site.threads for site in sites])
    for wait in situation.sites.all:
        if wait.effect is BarrierEffect.WAIT and not wait.by_thread and (wait.threads & threads).any():
            same = any(list(map(id, site.loops)) == list(map(id, wait.loops)) for site in sites)
            deeper = any(len(site.loops) > len(wait.loops) for site in sites)  # it may signal several times a wait
            if same and not deeper and all(
                wait.order < site.order and wait.loops[0] is site.loops[0] for site in sites
            ):
                yield wait.barrier


@cause("stage-stands-still", "TX109", 100, "Both sides of a pipeline go on to the next stage in each iteration.")
def stage_stands_still(situation: Situation, group: Group) -> Explanation | None:
    """Check for arrivals that all go to one stage of a ring, and none to the awaited one."""
    barrier = group.mbarrier
    if barrier is None or barrier.tx < 0:  # loads do signal this stage
        return None
    name = barrier.element.buffer
    stages = [b for b in situation.cta_of(barrier).mbarriers.values() if b.element.buffer == name]
    ahead = max(stages, key=lambda b: b.phase)
    if ahead.phase < barrier.phase + 2 or not _stays(situation, ahead, barrier):
        return None
    notes = tuple((f"{name} is signalled here", site.span) for site in situation.signals(barrier))
    return Explanation(
        f"{ahead.name} has completed {ahead.phase} phases, and {barrier.name} {barrier.phase}: the role that "
        f"signals {name} does not advance to the next stage",
        "advance the stage of the side that signals in each iteration (PipelineState.move_to_next_stage())",
        notes,
    )


def _stays(situation: Situation, ahead: Mbarrier, behind: Mbarrier) -> bool:
    """Return whether a warp signals `ahead` repeatedly without the stage `behind`.

    With as many alternating warps as stages, a single warp may do so, but not all of them together; then only a warp
    that has signalled no other stage counts.
    """
    name, sites = ahead.element.buffer, [site for site in situation.signals(ahead) if not site.by_thread]
    others = [b for b in situation.cta_of(ahead).mbarriers.values() if b.element.buffer == name and b is not ahead]
    for warp in (warp for cta in situation.cluster.ctas for warp in cta.warps):
        if not any(site.threads[warp.warp_id].any() for site in sites):
            continue  # it signals a barrier of its own, always the same one
        again = situation.rounds_of(warp, ahead, sites) >= situation.rounds_of(warp, behind, sites) + 2
        if again and (situation.in_step(ahead) or not any(situation.rounds_of(warp, b, sites) for b in others)):
            return True
    return False


@cause(
    "signalled-sometimes", "TX110", 85, "Each wait needs its arrivals, so both sides make the same number of rounds.",
    "PTX ISA: mbarrier",
)  # fmt: skip
def signalled_sometimes(situation: Situation, group: Group) -> Explanation | None:
    """Check for roles that wait for each other where one signals only in some rounds."""
    barrier = group.mbarrier
    if barrier is None or barrier.pending < barrier.expected or barrier.tx or not situation.cycle(group):
        return None
    name, signals = barrier.element.buffer, situation.signals(barrier)
    skipped = [
        [guard for guard in situation.sites.own_guards(site) if not guard.of_all_rounds(site.warps)] for site in signals
    ]
    if not signals or not all(skipped) or not any(situation.coming(site, barrier) for site in signals):
        return None
    guards = list({id(guard.cond): guard for some in skipped for guard in some}.values())
    texts = " or ".join(dict.fromkeys(f"`{guard.text}`" for guard in guards))
    return Explanation(
        f"{group.role} {group.waits} for round {barrier.phase + 1} of {barrier.name}, and {name} is signalled only "
        f"under {texts}: the rounds that the guard leaves out never complete",
        f"signal {name} in each round of its loop, or wait for it only in the rounds that signal it",
        (*site_notes(signals, f"{name} is signalled here"), *guard_notes(guards)),
    )


@cause(
    "out-of-step", "TX119", 80, "Each round of a pipeline's stage is consumed before the next one is waited for.",
    "PTX ISA: mbarrier", consequence=True,
)  # fmt: skip
def out_of_step(situation: Situation, group: Group) -> Explanation | None:
    """Check for a role that waits for a round whose predecessor no role has used."""
    barrier = group.mbarrier
    if barrier is None or not barrier.phase or barrier.pending < barrier.expected or barrier.history.observers:
        return None
    name, behind = barrier.element.buffer, situation.behind([group])
    waits = situation.sites.of(name, BarrierEffect.WAIT)
    users = [g for site in waits for g in situation.coming(site, barrier)]
    needed = situation.needed_by(group)
    if not needed or any(other is not group and all(other is not g for g in behind) for other in (*needed, *users)):
        return None
    return Explanation(
        f"{group.role} {group.waits} for round {barrier.phase + 1} of {barrier.name}, and no role has consumed round "
        f"{barrier.phase}: the stage or the phase that {group.role} {group.waits} for is out of step with the "
        f"threads that signal {name}",
        "go on by one stage for each round of the ring; a role that takes turns with another goes on by the other's "
        "rounds too, before its first and after each of its own (PipelineState.skip)",
        site_notes(situation.signals(barrier), f"{name} is signalled here"),
    )


@cause(
    "overtaken", "TX119", 75, "A wait finds its phase before the next one completes.", "PTX ISA: mbarrier.try_wait",
    consequence=True,
)  # fmt: skip
def overtaken(situation: Situation, group: Group) -> Explanation | None:
    """Check for a wait for a phase that is over, while the next phase of its parity never completes."""
    barrier = group.mbarrier
    if barrier is None or any(situation.coming(site, barrier) for site in situation.signals(barrier)):
        return None
    stage = barrier.element.stage or 0
    signals = [site for site in situation.signals(barrier) if site.threads_for(stage).any()]
    threads = np.logical_or.reduce([site.threads_for(stage) for site in signals])
    if any(site.effect is BarrierEffect.WAIT and (site.threads & threads).any() for site in situation.sites.all):
        return None  # they do wait for other roles; the pipeline rules are more precise
    counts = barrier.history.wait_counts
    passed = {counts[warp.place].count if warp.place in counts else 0 for warp in group.warps}
    # A role that has waited for each phase so far waits for phase `waited` now, and its parity is right.
    waited = passed.pop()
    if passed or waited + 2 > barrier.phase or waited & 1 != group.parity or barrier.phase & 1 != group.parity:
        return None
    return Explanation(
        f"{group.role} {group.waits} for round {waited + 1} of {barrier.name}, which has completed {barrier.phase}: a "
        "wait sees no more than the round before the current one, so the threads that signal it must not advance by "
        "two",
        "let the threads that signal wait until each round is consumed, with a barrier in the other direction",
        site_notes(signals, f"{barrier.element.buffer} is signalled here"),
    )


@cause(
    "rounds-differ", "TX110", 70, "Each wait needs its arrivals, so both sides make the same number of rounds.",
    "PTX ISA: mbarrier", consequence=True,
)  # fmt: skip
def rounds_differ(situation: Situation, group: Group) -> Explanation | None:
    """Check for arriving roles that have left the loop of their arrivals."""
    barrier = group.mbarrier
    if barrier is None or not barrier.phase:
        return None
    looped = [site for site in situation.signals(barrier) if site.loops]
    if not looped or any(g is not group for site in looped for g in situation.coming(site)):
        return None
    name = barrier.element.buffer
    stages = [b for b in situation.cta_of(barrier).mbarriers.values() if b.element.buffer == name]
    rounds = sum(b.phase for b in stages)
    return Explanation(
        f"{group.role} {group.waits} for round {rounds + 1} of {name}, but the threads that signal it have left their "
        f"loop after {rounds}: the two loops make different numbers of iterations",
        "let both roles make the same number of iterations, and advance their stage in each of them",
        (*state_notes(situation.func), *((f"{name} is signalled here", site.span) for site in looped)),
    )
