"""Deadlocks of roles that go round through the stages of a pipeline, and are not where the others expect them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .barriers import Mbarrier
from .causes import Cause, site_notes
from .sites import ARRIVE, COMMIT, LOAD, WAIT, Site
from .stuck import Group, Situation, base_name, counted, stage


def wrong_first_phase(situation: Situation, group: Group) -> Cause | None:
    """Two roles wait for one another from the start: the producer's first wait must pass on a fresh barrier."""
    barrier = group.mbarrier
    if barrier is None or barrier.phase or group.wait.parity != 0:
        return None
    for other in situation.cycle(group)[1:]:
        peer = other.mbarrier
        if peer is None or peer.phase or other.wait.parity != 0:
            continue
        if _fullness(situation, barrier) < _fullness(situation, peer):
            name = base_name(barrier.name)
            notes = tuple((f"{name} is signalled here", site.span) for site in situation.signals(barrier))
            return Cause(
                f"{group.role} {group.waits} for phase 0 of {barrier.name} before anything was produced, and "
                f"{other.role} {other.waits} for what {group.role} should produce: a producer's first wait must pass",
                f"let {group.role} start with phase 1 for {name} (PipelineState.init(is_producer=True)): a fresh "
                "barrier lets a wait for phase 1 through",
                ((f"{other.role} {other.waits} here", other.span), *notes),
            )
    return _nobody_begins(situation, group)


def _fullness(situation: Situation, barrier: Mbarrier) -> int:
    """How surely a barrier says "data is there" (high) rather than "the place is free" (low), by who signals it."""
    name = base_name(barrier.name)
    announced = any(site.call.op.endswith("expect_tx") for site in situation.sites.of(name, ARRIVE))
    if announced or situation.sites.of(name, LOAD):
        return 2
    return 1 if situation.sites.of(name, COMMIT) else 0


def _nobody_begins(situation: Situation, group: Group) -> Cause | None:
    """Roles that do the same wait for one another from the start: the first wait of one of them must pass."""
    cycle = situation.cycle(group)
    barriers = [g.mbarrier for g in cycle if g.mbarrier is not None and g.mbarrier.fresh and g.wait.parity == 0]
    if not cycle or cycle[0] is not group or len(barriers) < len(cycle):
        return None
    if len({_fullness(situation, barrier) for barrier in barriers}) > 1:
        return None  # of a producer and a consumer, the producer's wait is the wrong one
    if any(other not in cycle for g in cycle for other in situation.needed_by(g)):
        return None
    names = " or ".join(dict.fromkeys(barrier.name for barrier in barriers))
    base = base_name(barriers[0].name)
    signals = [site for barrier in barriers for site in situation.signals(barrier)]
    return Cause(
        f"{', and '.join(f'{g.role} {g.waits} for {b.name}' for g, b in zip(cycle, barriers, strict=True))}, each for "
        f"what another does after that: nobody has ever arrived at {names}",
        f"one of them has to begin: let it start with phase 1 for {base} (PipelineState.init(is_producer=True)), which "
        "a fresh barrier lets through",
        (
            *((f"{other.role} {other.waits} here", other.span) for other in cycle[1:]),
            *site_notes(signals, f"{base} is signalled here"),
        ),
    )


def wrong_stage(situation: Situation, group: Group) -> Cause | None:
    """A role has signalled a stage more often than it has waited for that stage, in a loop that does both."""
    for barrier in group.warps[0].cta.mbarriers.values():
        name, sites = base_name(barrier.name), situation.signals(barrier)
        for ring in _waited_before(situation, sites):
            found = _more_often_than_waited(situation, barrier, ring, sites)
            if found is not None:
                return Cause(
                    found,
                    f"signal {name} at the stage of the wait for {ring}, before the state goes on to another",
                    site_notes(sites, f"{name} is signalled here"),
                )
    return None


def _more_often_than_waited(situation: Situation, barrier: Mbarrier, ring: str, sites: list[Site]) -> str | None:
    """Which warp of the barrier's CTA has arrived at it more often than it went through the same stage of `ring`."""
    barriers = barrier.cta.mbarriers.values()
    stages = {stage(b.name): b for b in barriers if base_name(b.name) == ring}
    awaited = stages.get(stage(barrier.name))
    if awaited is None or len(stages) != sum(base_name(b.name) == base_name(barrier.name) for b in barriers):
        return None
    for warp in barrier.cta.warps:
        arrived = situation.rounds_of(warp, barrier, sites)
        waited = awaited.passes[warp.place].count if warp.place in awaited.passes else 0
        if arrived > waited and any(warp.place in b.passes for b in stages.values()):
            return (
                f"{warp.role} has arrived {counted(arrived, 'time')} at {barrier.name}, and waited "
                f"{counted(waited, 'time')} for {awaited.name}: it signals another stage than it waited for"
            )
    return None


def _waited_before(situation: Situation, sites: list[Site]) -> Iterator[str]:
    """The rings of barriers that those who come to `sites` wait for before, in the same loop."""
    if not sites or any(site.by_thread or not site.certain or not site.loops for site in sites):
        return
    threads = np.logical_or.reduce([site.threads for site in sites])
    for wait in situation.sites.all:
        if wait.role == WAIT and not wait.by_thread and (wait.threads & threads).any():
            same = any(list(map(id, site.loops)) == list(map(id, wait.loops)) for site in sites)
            if same and all(wait.order < site.order and wait.loops[0] is site.loops[0] for site in sites):
                yield wait.barrier


def stage_stands_still(situation: Situation, group: Group) -> Cause | None:
    """All arrivals go to one stage of a barrier array, and none to the one that is waited for."""
    barrier = group.mbarrier
    if barrier is None:
        return None
    name = base_name(barrier.name)
    stages = [b for b in barrier.cta.mbarriers.values() if base_name(b.name) == name]
    ahead = max(stages, key=lambda b: b.phase)
    if ahead.phase < barrier.phase + 2 or not _stays(situation, ahead, barrier):
        return None
    notes = tuple((f"{name} is signalled here", site.span) for site in situation.signals(barrier))
    return Cause(
        f"{ahead.name} has completed {ahead.phase} phases, and {barrier.name} {barrier.phase}: whoever signals {name} "
        "does not go on to the next stage",
        "advance the stage of the side that signals in each iteration (PipelineState.move_to_next_stage())",
        notes,
    )


def _stays(situation: Situation, ahead: Mbarrier, behind: Mbarrier) -> bool:
    """Whether somebody signals `ahead` again and again without the stage `behind`.

    One of those who take turns may do so where they are as many as the stages, but not as often as all of them: there
    it shows only in one who has been at no other stage.
    """
    name, sites = base_name(ahead.name), situation.signals(ahead)
    others = [b for b in ahead.cta.mbarriers.values() if base_name(b.name) == name and b is not ahead]
    for warp in (warp for cta in situation.cluster.ctas for warp in cta.warps):
        again = situation.rounds_of(warp, ahead, sites) >= situation.rounds_of(warp, behind, sites) + 2
        if again and (situation.in_step(ahead) or not any(situation.rounds_of(warp, b, sites) for b in others)):
            return True
    return False


def out_of_step(situation: Situation, group: Group) -> Cause | None:
    """A role waits for a round while the round before it was used by nobody, and all others wait for that role."""
    barrier = group.mbarrier
    if barrier is None or not barrier.phase or barrier.pending < barrier.expected or barrier.looks:
        return None
    name, behind = base_name(barrier.name), situation.behind([group])
    waits = situation.sites.of(name, WAIT)
    users = [g for site in waits for g in situation.coming(site, barrier)]
    needed = situation.needed_by(group)
    if not needed or any(other is not group and all(other is not g for g in behind) for other in (*needed, *users)):
        return None
    return Cause(
        f"{group.role} {group.waits} for round {barrier.phase + 1} of {barrier.name}, and nobody has used round "
        f"{barrier.phase}: the stage or the phase that {group.role} {group.waits} for is out of step with those who "
        f"signal {name}",
        "go on by one stage for each round of the ring; a role that takes turns with another goes on by the other's "
        "rounds too, before its first and after each of its own (PipelineState.skip)",
        site_notes(situation.signals(barrier), f"{name} is signalled here"),
    )


def rounds_differ(situation: Situation, group: Group) -> Cause | None:
    """Those who should arrive have left the loop in which they did."""
    barrier = group.mbarrier
    if barrier is None or not barrier.phase:
        return None
    looped = [site for site in situation.signals(barrier) if site.loops]
    if not looped or any(g is not group for site in looped for g in situation.coming(site)):
        return None
    name = base_name(barrier.name)
    stages = [b for b in barrier.cta.mbarriers.values() if base_name(b.name) == name]
    rounds = sum(b.phase for b in stages)
    return Cause(
        f"{group.role} {group.waits} for round {rounds + 1} of {name}, but those who signal it have left their "
        f"loop after {rounds}: the two loops do not go round equally often",
        "let both roles make the same number of iterations, and advance their stage in each of them",
        tuple((f"{name} is signalled here", site.span) for site in looped),
    )
