"""The missing arrivals and bytes of a stuck group, for deadlocks that no other rule explains."""

from __future__ import annotations

from tirx_mini.sim import ColumnsWait

from ..kind import Explanation
from .rule import cause
from .situation import Group, Situation


@cause(
    "in-general", "TX112", 20, "Each phase needs its arrivals, and each wait its phase.", "PTX ISA: mbarrier",
    consequence=True,
)  # fmt: skip
def in_general(situation: Situation, group: Group) -> Explanation | None:
    """Report the missing arrivals or bytes of a phase, for an unknown reason."""
    barrier = group.mbarrier
    if barrier is None or (not situation.cycle(group) and any(map(situation.cycle, situation.groups))):
        return None  # it waits for some of those that wait for one another
    name = barrier.element.buffer
    lacking = situation.stuck_role(group).lacking
    return Explanation(
        f"{group.role} {group.waits} for {group.waits_for}, and nothing can complete it"
        + (f": {lacking}" if lacking else ""),
        f"check which phase is waited for, and who arrives at {name} how often in each round",
        tuple((f"{name} is signalled here", site.span) for site in situation.signals(barrier)),
    )


@cause("anything", "TX113", 10, "A warp waits for something that a warp which can run provides.", consequence=True)
def anything(situation: Situation, group: Group) -> Explanation | None:
    """Report a wait for anything else."""
    if group.counting is not None and any(g.counting is None for g in situation.groups):
        return None
    message = f"{group.role} {group.waits} for {group.waits_for}, and nothing can provide it"
    if isinstance(group.wait, ColumnsWait) and group.wait.held:
        return Explanation(
            message,
            "let one warp of a CTA allocate, once: an SM has 512 columns, and a CTA frees its own at the end",
            tuple(("the CTA has allocated columns here before", place) for place in group.wait.blocks),
        )
    return Explanation(message, "make sure that each thread that it waits for reaches its part")
