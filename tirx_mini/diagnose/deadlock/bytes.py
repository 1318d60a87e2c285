"""Deadlocks in which a phase lacks bytes, or has too many."""

from __future__ import annotations

from ..kind import Explanation
from .byte_counts import byte_count, bytes_hint
from .rule import cause
from .situation import Group, Situation


@cause(
    "bytes-differ", "TX106", 140, "A phase completes when the bytes expected are those that landed.",
    "PTX ISA: mbarrier, tx-count",
)  # fmt: skip
def bytes_differ(situation: Situation, group: Group) -> Explanation | None:
    """All threads have arrived, and a round announces other bytes than it delivers."""
    barrier = group.mbarrier
    if barrier is None or barrier.pending == barrier.expected or not barrier.tx:
        return None
    count = byte_count(situation.func, situation.sites, barrier.element.buffer)
    if count is None or count.announced == count.delivered:
        return None
    return Explanation(count.sentence(barrier.name), bytes_hint(situation.func), count.notes)


@cause(
    "bytes-astray", "TX106", 60, "A phase completes when the bytes expected are those that landed.",
    "PTX ISA: mbarrier, tx-count",
)  # fmt: skip
def bytes_astray(situation: Situation, group: Group) -> Explanation | None:
    """Bytes are missing or too many, though not by what a round announces; or they came, and no thread arrived."""
    barrier = group.mbarrier
    if barrier is None or not barrier.tx or (barrier.pending == barrier.expected and barrier.tx > 0):
        return None
    if barrier.tx > 0:
        message = f"{barrier.name} waits for {barrier.tx} bytes that nothing delivers"
    else:
        message = f"{-barrier.tx} bytes were delivered to {barrier.name} that nothing announced"
    return Explanation(message, bytes_hint(situation.func))
