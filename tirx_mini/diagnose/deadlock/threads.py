"""Deadlocks of thread-counting barriers, and of instructions for whole warps and warpgroups."""

from __future__ import annotations

import numpy as np

from tirx_mini.sim import GridBarrierWait, Mbarrier, NamedBarrierWait, RegisterWait, RunningWarp, WgmmaWait

from ..kind import Explanation
from .notes import guard_notes
from .rule import cause
from .situation import Group, Situation, barrier_of, line, role_name


@cause(
    "part-of-a-warp", "TX102", 180, "A barrier for all threads completes when all of them call it.",
    "PTX ISA: bar.sync, barrier.cluster",
)  # fmt: skip
def part_of_a_warp(situation: Situation, group: Group) -> Explanation | None:
    """Check for a whole-warp barrier that only some lanes reach."""
    if group.counting is None:
        return None
    some = next((w for w in group.warps if w.mask is not w.all_lanes), None)
    if some is None:
        return None
    guards = group.sites[0].guards if group.sites else ()
    elected = any(guard.elects for guard in guards)
    who = "the elected thread" if elected else f"{some.mask.count} of the 32 threads"
    return Explanation(
        f"{group.call} is called by {who} of {some.role} only, and waits for all threads: the others never reach it",
        f"move {group.call} out of the {'elected ' if elected else ''}branch, to where every thread it counts calls it",
        guard_notes([guard for guard in guards if guard.elects] or guards),
    )


@cause("some-never-call", "TX111", 50, "A barrier waits for every thread that it counts.", "PTX ISA: bar.sync")
def some_never_call(situation: Situation, group: Group) -> Explanation | None:
    """Check for warps that wait at another barrier, or have ended, instead of arriving."""
    barrier = group.counting
    if barrier is not None and isinstance(group.wait, GridBarrierWait):
        return Explanation(
            f"{group.call} waits for the {barrier.expected} threads of the grid, and only {barrier.arrived} reach it",
            f"let every thread of every CTA call {group.call}, each as often as the others",
            guard_notes(group.sites[0].guards if group.sites else ()),
        )
    if barrier is None or not isinstance(group.wait, NamedBarrierWait):
        return None
    cta = group.warps[0].cta
    at_barrier = [w for w in cta.warps if barrier_of(w.waiting) is barrier]
    counted = cta.warps
    if barrier.expected == 128 and len(cta.warps) > 4:
        counted = [w for w in cta.warps if any(w.warp_id // 4 == there.warp_id // 4 for there in at_barrier)]
    absent = [w for w in counted if w not in at_barrier]
    able = {int(number) for site in group.sites for number in np.flatnonzero(site.threads.any(axis=1))}
    waits = [(w.warp_id, barrier_of(w.waiting)) for w in absent if w.waiting is not None]
    if not absent or any(number in able for number, other in waits if isinstance(other, Mbarrier)):
        return None
    if any(other is None for _, other in waits):
        return None  # the cause is the wait of the others
    gone = [w for w in absent if w.done]
    places: dict[str, list[RunningWarp]] = {}
    for w in absent:
        if w.waiting is not None:
            places.setdefault(line(w.waiting.span), []).append(w)
    where = [f"{role_name(warps)} at {place}" for place, warps in places.items()]
    ended = [f"{role_name(gone)} at the end of the kernel"] if gone else []
    return Explanation(
        f"{group.call} waits for {barrier.expected} threads, and only {barrier.arrived} reach it: the others are "
        f"elsewhere, {' and '.join([*where, *ended])}",
        f"let every thread that {group.call} counts call it, or count only those that do",
        guard_notes(group.sites[0].guards if group.sites else ()),
    )


@cause(
    "too-many-registers", "TX117", 165, "The warps of a CTA hold at most the registers that it began with.",
    "PTX ISA: setmaxnreg",
)  # fmt: skip
def too_many_registers(situation: Situation, group: Group) -> Explanation | None:
    """Check for a setmaxnreg whose request exceeds the registers left after all other warps' requests."""
    cta = group.warps[0].cta
    if not isinstance(group.wait, RegisterWait):
        return None
    others = [w for w in cta.warps if w.waiting is not None and not isinstance(w.waiting, RegisterWait)]
    if any(cta.registers.held[w.warp_id] == cta.registers.share for w in others):
        return None  # it may be about to give some up
    return _out_of_registers(group)


@cause(
    "out-of-registers", "TX117", 40, "setmaxnreg.inc waits until other warps have given some up.",
    "PTX ISA: setmaxnreg",
)  # fmt: skip
def out_of_registers(situation: Situation, group: Group) -> Explanation | None:
    """Check for a setmaxnreg that requests more registers than the other warps of the CTA ever release."""
    return _out_of_registers(group) if isinstance(group.wait, RegisterWait) else None


def _out_of_registers(group: Group) -> Explanation:
    pool = group.warps[0].cta.registers
    return Explanation(
        f"{group.role} {group.waits} for {group.waits_for}: the CTA began with {pool.share} registers a thread, and "
        "those that give up some do not give up enough",
        f"the sum over all warps of their registers a thread may not exceed {pool.share} times the number of warps: "
        "lower setmaxnreg.dec or setmaxnreg.inc",
    )


@cause(
    "warpgroup-incomplete", "TX118", 30, "All four warps of a warpgroup issue a wgmma together.",
    "PTX ISA: wgmma.mma_async",
)  # fmt: skip
def warpgroup_incomplete(situation: Situation, group: Group) -> Explanation | None:
    """Check for warps of a warpgroup that never issue the wgmma that the others wait for."""
    if not isinstance(group.wait, WgmmaWait):
        return None
    return Explanation(
        f"{group.role} {group.waits} for {group.waits_for}",
        "all four warps of a warpgroup issue and commit the same wgmmas: no condition on the warp or the thread may "
        "stand around them",
    )
