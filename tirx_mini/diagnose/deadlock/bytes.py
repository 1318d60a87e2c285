"""Deadlocks in which a phase lacks bytes or receives too many."""

from __future__ import annotations

from tirx_mini.ir import int_value
from tirx_mini.isa import BarrierEffect

from ..kind import Explanation
from .byte_counts import byte_count, bytes_hint
from .notes import site_notes
from .rule import cause
from .situation import Group, Situation


@cause(
    "bytes-differ", "TX106", 140, "A phase completes when the bytes expected are those that landed.",
    "PTX ISA: mbarrier, tx-count",
)  # fmt: skip
def bytes_differ(situation: Situation, group: Group) -> Explanation | None:
    """Check for a phase with all arrivals whose expected bytes per round differ from the delivered ones."""
    barrier = group.mbarrier
    if barrier is None or barrier.pending == barrier.expected or not barrier.tx:
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
