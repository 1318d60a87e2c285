"""Deadlocks in which a phase lacks bytes or receives too many."""

from __future__ import annotations

from dataclasses import replace

from tirx_mini.ir import int_value
from tirx_mini.isa import BarrierEffect
from tirx_mini.sim import Mbarrier

from ..kind import Explanation
from .byte_counts import announced_elsewhere, byte_count, bytes_hint
from .notes import site_notes
from .rule import cause
from .situation import Group, Situation


@cause(
    "bytes-differ", "TX106", 140, "A phase completes when the bytes expected are those that landed.",
    "PTX ISA: mbarrier, tx-count",
)  # fmt: skip
def bytes_differ(situation: Situation, group: Group) -> Explanation | None:
    """Check for bytes announced at another barrier, and for bytes per round that differ from the delivered ones."""
    barrier = group.mbarrier
    if barrier is None or (barrier.pending == barrier.expected and barrier.tx >= 0) or not barrier.tx:
        return None
    name = barrier.element.buffer
    if (elsewhere := announced_elsewhere(situation.func, situation.sites, name)) is not None:
        return replace(elsewhere.explanation, span=elsewhere.span)
    if (other := _at_another_cta(situation, barrier)) is not None:
        return other
    if barrier.pending == barrier.expected:
        return None
    count = byte_count(situation.func, situation.sites, barrier.element.buffer)
    if count is None or count.announced == count.delivered:
        return None
    wrong = count.other_barrier(barrier.element.buffer)
    message, hint = wrong or (count.sentence(barrier.name), bytes_hint(situation.func))
    return Explanation(message, hint, count.notes)


@cause(
    "bytes-astray", "TX106", 60, "A phase completes when the bytes expected are those that landed.",
    "PTX ISA: mbarrier, tx-count",
)  # fmt: skip
def bytes_astray(situation: Situation, group: Group) -> Explanation | None:
    """Check for missing or excess bytes that the byte counts do not explain, or bytes without an arrival."""
    barrier = group.mbarrier
    if barrier is None or not barrier.tx or (barrier.pending == barrier.expected and barrier.tx > 0):
        return None
    if (other := _one_stage_for_all(situation, barrier.element.buffer)) is not None:
        return other
    if barrier.tx > 0:
        message = f"{barrier.name} waits for {barrier.tx} bytes that nothing delivers"
    else:
        message = f"{-barrier.tx} bytes were delivered to {barrier.name} that nothing announced"
    return Explanation(message, bytes_hint(situation.func))


def _at_another_cta(situation: Situation, barrier: Mbarrier) -> Explanation | None:
    """Check for bytes that land at this barrier and were announced at the one of another CTA."""
    name, owner = barrier.element.buffer, barrier.cta.rank
    peers = [cta for cta in situation.cluster.ctas if cta is not barrier.cta]
    told = [cta for cta in peers if (peer := cta.mbarriers.get(barrier.offset)) is not None and peer.tx > 0]
    announce = [site for site in situation.signals(barrier) if site.effect and site.effect.expects_bytes]
    own, loads = [site for site in announce if not site.remote], situation.sites.of(name, BarrierEffect.COMPLETE_TX)
    if barrier.tx >= 0 or not told or not own or not loads or any(load.rank != owner for load in loads):
        return None
    there = told[0].mbarriers[barrier.offset]
    return Explanation(
        f"{told[0].name} announces {there.tx} bytes at its own {there.name}, and the loads complete at "
        f"{barrier.cta.name}'s, where {-barrier.tx} bytes have landed that nothing announced",
        f"announce them at the barrier that the loads signal, {name}.remote_view({owner}).arrive(stage, bytes)",
        site_notes(loads, "this load signals the barrier of one CTA"),
        span=own[0].span,
    )


def _one_stage_for_all(situation: Situation, name: str) -> Explanation | None:
    """Check for loads that always signal one barrier of a ring while their bytes are announced at the current stage."""
    sites = situation.sites
    loads = [load for load in sites.of(name, BarrierEffect.COMPLETE_TX) if load.loops]
    announce = [site for site in sites.signals(name) if site.effect and site.effect.expects_bytes]
    numbers = {None if load.index is None else int_value(load.index) for load in loads}
    if not announce or len(numbers) != 1 or None in numbers or any(site.fixed for site in announce):
        return None
    if sites.depth(loads[0]) == 1:
        return None
    return Explanation(
        f"the loads of every round signal {name}[{numbers.pop()}], and their bytes are announced at the stage of the "
        "round",
        f"give each load the barrier of its stage: mbar={name}.ptr_to([stage])",
        (*site_notes(loads, "this load names one stage"), *site_notes(announce, "the bytes are announced here")),
        span=loads[0].span,
    )
