"""Why nothing can advance: the most likely cause in one sentence, what to change in another.

Each rule looks at one group of warps that wait for the same barrier at the same line, and recognises one mistake. The
rules are tried in the order of how certain they are; the first that applies to any group is the cause that is named.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tirx_mini.ir import PrimFunc

from .arrivals import too_few_arrive, too_many_arrive
from .barriers import Mbarrier
from .causes import Cause, guard_notes, site_notes
from .findings import Finding
from .rounds import out_of_step, rounds_differ, stage_stands_still, wrong_first_phase, wrong_stage
from .sites import COMMIT, INIT, LOAD, Site, find_sites, place_key
from .stuck import Group, Situation, base_name, line, role_name, stage
from .suspects import byte_count, bytes_hint

if TYPE_CHECKING:
    from .machine import Gpu
    from .warp import Warp

CONSEQUENCES = ("out-of-step", "rounds-differ", "in-general", "anything")
"""Causes that say what is missing and not why: where there are races, those show it."""


def explain_deadlock(func: PrimFunc, gpu: Gpu, blocked: Sequence[Warp], findings: Sequence[Finding]) -> list[Finding]:
    """`findings` with that of the deadlock, and without those that it includes."""
    situations = _situations(func, gpu, blocked)
    for rule in RULES:
        for situation in situations:
            for group in situation.groups:
                cause = rule(situation, group)
                if cause is not None:
                    name = rule.__name__.replace("_", "-")
                    return _with_deadlock(findings, _finding(situation, group, name, cause), situations)
    raise AssertionError("some rule applies to every group")


def _situations(func: PrimFunc, gpu: Gpu, blocked: Sequence[Warp]) -> list[Situation]:
    """A situation for each way in which a cluster is stuck, the first cluster standing for all of them."""
    sites = find_sites(func)
    found: dict[Hashable, Situation] = {}
    for cluster in dict.fromkeys(warp.cta.cluster for warp in blocked):
        situation = Situation(func, sites, cluster)
        first = found.setdefault(situation.key, situation)
        if first is not situation:
            first.clusters += 1
    return list(found.values())


def _finding(situation: Situation, group: Group, name: str, cause: Cause) -> Finding:
    details: dict[str, Any] = {"cause": name, "hint": cause.hint, "notes": cause.notes}
    if name in CONSEQUENCES:
        details["consequence"] = True
    details |= {"role": group.role, "cta": group.warps[0].cta.name}
    if group.wait.barrier is not None:
        details["barrier"] = group.wait.barrier.name
    cycle = situation.cycle(group)
    if cycle:
        details["cycle"] = tuple(f"{g.role} {g.waits} for {g.wait.text} ({line(g.span)})" for g in cycle)
    details["stuck"] = tuple(situation.stuck_role(g) for g in situation.groups)
    return Finding("deadlock", "error", cause.message, group.span, details)


def _with_deadlock(findings: Sequence[Finding], deadlock: Finding, situations: Sequence[Situation]) -> list[Finding]:
    """The findings in their order; what the deadlock's page says itself is left out."""
    groups = [group for situation in situations for group in situation.groups]
    places = {place_key(group.span) for group in groups}
    dead = {base_name(g.mbarrier.name) for g in groups if g.mbarrier is not None and not g.mbarrier.expected}

    def said(finding: Finding) -> bool:
        if finding.kind == "barrier-uninitialised":
            return base_name(finding.details.get("barrier", "")) in dead
        return finding.kind == "illegal-convergence" and place_key(finding.span) in places

    return [*(finding for finding in findings if not said(finding)), deadlock]


# -- rules, the most certain first ----------------------------------------------------------------------------------


def never_initialised(situation: Situation, group: Group) -> Cause | None:
    """The barrier's memory holds no barrier."""
    barrier = group.mbarrier
    if barrier is None or barrier.expected:
        return None
    name = base_name(barrier.name)
    inits = situation.sites.of(name, INIT)
    if not inits:
        return Cause(
            f"{barrier.name} is never initialised: no mbarrier.init names {name}",
            f"let one thread call Tx.ptx.mbarrier.init on each barrier of {name}, then fence and cta_sync()",
        )
    for site in inits:
        if site.conflict():
            return Cause(
                f"{barrier.name} is never initialised: {_contradiction(site)}, so its init never runs",
                f"move the init of {name} out of the guard, to the top level of the kernel",
                (("the init is here", site.span), *guard_notes(site.conflict())),
            )
    site = inits[0]
    guards = " and ".join(f"`{guard.text}`" for guard in site.guards)
    under = f", which is under {guards}" if guards else ""
    return Cause(
        f"{barrier.name} was never initialised: no thread has executed its init{under}",
        f"initialise every stage of {name} at the top level of the kernel, before the first wait",
        (("the init is here", site.span), *guard_notes(site.guards)),
    )


def part_of_a_warp(situation: Situation, group: Group) -> Cause | None:
    """A barrier for whole warps is reached by some lanes only."""
    if group.counting is None:
        return None
    some = next((w for w in group.warps if w.mask is not w.all_lanes), None)
    if some is None:
        return None
    guards = group.sites[0].guards if group.sites else ()
    elected = any(guard.elects for guard in guards)
    who = "the elected thread" if elected else f"{some.mask.count} of the 32 threads"
    return Cause(
        f"{group.call} is called by {who} of {some.role} only, and waits for all threads: the others never get here",
        f"move {group.call} out of the {'elected ' if elected else ''}branch, to where every thread it counts calls it",
        guard_notes([guard for guard in guards if guard.elects] or guards),
    )


def nobody_signals(situation: Situation, group: Group) -> Cause | None:
    """No instruction of the kernel arrives at the barrier, or only such as come after the wait for it."""
    barrier = group.mbarrier
    if barrier is None or not barrier.pending:
        return None
    if situation.signals(barrier):
        return _only_itself(situation, group)
    name = base_name(barrier.name)
    if situation.sites.of(name, LOAD):
        return Cause(
            f"no thread arrives at {barrier.name}: TMA loads deliver bytes to it, but nothing announces them",
            f"let the thread that issues the loads call Tx.ptx.mbarrier.arrive.expect_tx on {name}, with their bytes",
        )
    multiplies = [site for site in situation.sites.all if site.role.startswith("tcgen05.mma")]
    if multiplies and not any(group.coming(site) for site in multiplies):
        return Cause(
            f"nothing ever arrives at {barrier.name}: no tcgen05.commit names it, so nothing tells when MMAs end",
            f"call Tx.ptx.tcgen05.commit on {name} after the last gemm_async, in the same thread",
        )
    return Cause(
        f"nothing ever arrives at {barrier.name}: no instruction of the kernel names it but the wait",
        f"let the threads that this waits for call Tx.ptx.mbarrier.arrive on {name}",
    )


def _only_itself(situation: Situation, group: Group) -> Cause | None:
    """Nobody has ever arrived at the barrier, and only those who wait for it would, once they have."""
    barrier = group.mbarrier
    if barrier is None or not barrier.fresh or not group.sites:
        return None
    number, passed = stage(barrier.name) or 0, max(site.order for site in group.sites)
    own: list[Site] = []
    for site in situation.signals(barrier):
        for cta in situation.cluster.ctas:
            reach = set(np.flatnonzero(site.threads_for(number).any(axis=1)).tolist())
            if not reach or not site.signals(barrier.cta.rank, cta.rank):
                continue
            if any(warp.warp_id in reach and warp not in group.warps for warp in cta.warps):
                return None
            own.append(site)
    if not own or any(site.order < passed for site in own):
        return None
    return Cause(
        f"nothing arrives at {barrier.name} but {group.role} itself, after it has waited for it",
        f"let the threads that this waits for arrive at {barrier.name}: the index of the arrive says at which",
        site_notes(own, "the {role} is here"),
    )


def signal_never_runs(situation: Situation, group: Group) -> Cause | None:
    """The instructions that would arrive are under guards that no thread satisfies."""
    barrier = group.mbarrier
    if barrier is None or not barrier.pending:
        return None
    signals = situation.signals(barrier)
    if not signals or any(site.reachable for site in signals):
        return None
    site = signals[0]
    return Cause(
        f"nothing arrives at {barrier.name}: {_contradiction(site)}, so the {site.role} never runs",
        "correct the guards, so that a thread gets there",
        ((f"the {site.role} is here", site.span), *guard_notes(site.conflict())),
    )


def one_cta_signals(situation: Situation, group: Group) -> Cause | None:
    """The barrier of one CTA of the cluster gets arrivals, that of another does not."""
    barrier = group.mbarrier
    if barrier is None or barrier.phase or barrier.pending < barrier.expected:
        return None
    peers = [cta.mbarriers.get(barrier.offset) for cta in situation.cluster.ctas if cta is not barrier.cta]
    served = next((b for b in peers if b is not None and b.phase), None)
    signals = situation.signals(barrier)
    if served is None or not signals:
        return None
    commits = [site for site in signals if site.role == COMMIT]
    if not commits:
        name = base_name(barrier.name)
        return Cause(
            f"every arrival at {name} goes to {served.cta.name}, and {group.role} of {barrier.cta.name} "
            f"{group.waits} for {barrier.name} of its own CTA",
            f"let only {served.cta.name} wait for {name}, or signal it in {barrier.cta.name} too: arrivals through a "
            "remote_view or a cta_id go to that CTA only",
            tuple((f"the {site.role} is here", site.span) for site in signals),
        )
    mask = (1 << len(situation.cluster.ctas)) - 1
    return Cause(
        f"the commit signals {barrier.name} of {served.cta.name} only, and {barrier.cta.name} waits for its own",
        f"commit with cta_mask={mask}, so that the barrier of every CTA of the cluster is signalled",
        tuple(("the commit is here", site.span) for site in commits),
    )


def bytes_differ(situation: Situation, group: Group) -> Cause | None:
    """All threads have arrived, and a round announces other bytes than it delivers."""
    barrier = group.mbarrier
    if barrier is None or barrier.pending == barrier.expected or not barrier.tx:
        return None
    count = byte_count(situation.func, situation.sites, base_name(barrier.name))
    if count is None or count.announced == count.delivered:
        return None
    return Cause(count.sentence(barrier.name), bytes_hint(situation.func), count.notes)


def bytes_astray(situation: Situation, group: Group) -> Cause | None:
    """All threads have arrived, and bytes are missing or too many, though not by what the program says of a round."""
    barrier = group.mbarrier
    if barrier is None or barrier.pending == barrier.expected or not barrier.tx:
        return None
    if barrier.tx > 0:
        message = f"{barrier.name} waits for {barrier.tx} bytes that no TMA load delivers"
    else:
        message = f"{-barrier.tx} bytes were delivered to {barrier.name} that nothing announced"
    return Cause(message, bytes_hint(situation.func))


def some_never_call(situation: Situation, group: Group) -> Cause | None:
    """Warps that a barrier counts wait at another one, or have ended."""
    barrier = group.counting
    if barrier is None or group.wait.kind != "bar.sync":
        return None
    cta = group.warps[0].cta
    at_barrier = [w for w in cta.warps if w.waiting is not None and w.waiting.barrier is barrier]
    counted = cta.warps
    if barrier.expected == 128 and len(cta.warps) > 4:
        counted = [w for w in cta.warps if any(w.warp_id // 4 == there.warp_id // 4 for there in at_barrier)]
    absent = [w for w in counted if w not in at_barrier]
    able = {int(number) for site in group.sites for number in np.flatnonzero(site.threads.any(axis=1))}
    waits = [(w.warp_id, w.waiting.barrier) for w in absent if w.waiting is not None]
    if not absent or any(number in able for number, other in waits if isinstance(other, Mbarrier)):
        return None
    if any(other is None for _, other in waits):
        return None  # what those wait for is the cause
    gone = [w for w in absent if w.done]
    elsewhere = [w for w in absent if w.waiting is not None]
    where = f"{role_name(elsewhere)} at {line(elsewhere[0].waiting.span)}" if elsewhere and elsewhere[0].waiting else ""
    ended = f"{role_name(gone)} at the end of the kernel" if gone else ""
    return Cause(
        f"{group.call} waits for {barrier.expected} threads, and only {barrier.arrived} get there: the others are "
        f"elsewhere, {' and '.join(filter(None, (where, ended)))}",
        f"let every thread that {group.call} counts call it, or count only those that do",
        guard_notes(group.sites[0].guards if group.sites else ()),
    )


def out_of_registers(situation: Situation, group: Group) -> Cause | None:
    """setmaxnreg asks for more registers than the CTA's other warps will ever give up."""
    if group.wait.kind != "setmaxnreg":
        return None
    pool = group.warps[0].cta.registers
    return Cause(
        f"{group.role} {group.waits} for {group.wait.text}: the CTA began with {pool.share} registers a thread, and "
        "those that give up some do not give up enough",
        f"the sum over all warps of their registers a thread may not exceed {pool.share} times the number of warps: "
        "lower setmaxnreg.dec or setmaxnreg.inc",
    )


def warpgroup_incomplete(situation: Situation, group: Group) -> Cause | None:
    """Some warps of a warpgroup never issue the wgmma that the others wait for."""
    if group.wait.kind != "wgmma":
        return None
    return Cause(
        f"{group.role} {group.waits} for {group.wait.text}",
        "all four warps of a warpgroup issue and commit the same wgmmas: no condition on the warp or the thread may "
        "stand around them",
    )


def in_general(situation: Situation, group: Group) -> Cause | None:
    """What is missing, where no rule knows why."""
    barrier = group.mbarrier
    if barrier is None:
        return None
    name = base_name(barrier.name)
    lacking = situation.stuck_role(group).lacking
    return Cause(
        f"{group.role} {group.waits} for {group.wait.text}, and nothing can complete it"
        + (f": {lacking}" if lacking else ""),
        f"check which phase is waited for, and who arrives at {name} how often in each round",
        tuple((f"{name} is signalled here", site.span) for site in situation.signals(barrier)),
    )


def anything(situation: Situation, group: Group) -> Cause | None:
    """A wait for something else."""
    if group.counting is not None and any(g.counting is None for g in situation.groups):
        return None
    return Cause(
        f"{group.role} {group.waits} for {group.wait.text}, and nothing can provide it",
        "let every thread that is waited for get there",
    )


Rule = Callable[[Situation, Group], "Cause | None"]

RULES: tuple[Rule, ...] = (
    never_initialised,
    part_of_a_warp,
    nobody_signals,
    signal_never_runs,
    one_cta_signals,
    bytes_differ,
    too_few_arrive,
    wrong_first_phase,
    too_many_arrive,
    stage_stands_still,
    wrong_stage,
    out_of_step,
    rounds_differ,
    bytes_astray,
    some_never_call,
    out_of_registers,
    warpgroup_incomplete,
    in_general,
    anything,
)


# -- words -------------------------------------------------------------------------------------------------------------


def _contradiction(site: Site) -> str:
    """Why no thread gets to the site."""
    texts = [f"`{guard.text}`" for guard in site.conflict()]
    return f"no thread satisfies {'both ' if len(texts) == 2 else ''}{' and '.join(texts)}"
