"""Deadlocks in which nothing signals the barrier: no init, no arrival, or unsatisfiable guards."""

from __future__ import annotations

import numpy as np

from tirx_mini.isa import BarrierEffect, Completion
from tirx_mini.sim import Mbarrier

from ..kind import Explanation
from .byte_counts import announce_hint, deliveries
from .notes import guard_notes, site_notes
from .rule import cause
from .sites import Site
from .situation import Group, Situation


@cause(
    "never-initialised", "TX101", 190, "A wait on memory that holds no mbarrier never ends.", "PTX ISA: mbarrier.init",
)  # fmt: skip
def never_initialised(situation: Situation, group: Group) -> Explanation | None:
    """Check for a barrier that was never initialised."""
    barrier = group.mbarrier
    if barrier is None or barrier.expected:
        return None
    name = barrier.element.buffer
    if barrier.init_span is not None:
        return Explanation(
            f"{group.role} {group.waits} for {barrier.name}, which has not been a barrier since its "
            "mbarrier.inval",
            f"invalidate {barrier.name} after its last wait, behind a synchronisation of all who use it",
            (("it is invalidated here", barrier.history.invalidated),),
        )
    inits = situation.sites.of(name, BarrierEffect.INIT)
    if not inits:
        return Explanation(
            f"{barrier.name} is never initialised: no mbarrier.init names {name}",
            f"let one thread call Tx.ptx.mbarrier.init on each barrier of {name}, then fence and cta_sync()",
        )
    for site in inits:
        if site.conflict():
            return Explanation(
                f"{barrier.name} is never initialised: {_contradiction(site)}, so its init never runs",
                f"move the init of {name} out of the guard, to the top level of the kernel",
                (("the init is here", site.span), *guard_notes(site.conflict())),
            )
    site = inits[0]
    guards = " and ".join(f"`{guard.text}`" for guard in site.guards)
    under = f", which is under {guards}" if guards else ""
    return Explanation(
        f"{barrier.name} was never initialised: no thread has executed its init{under}",
        f"initialise every stage of {name} at the top level of the kernel, before the first wait",
        (("the init is here", site.span), *guard_notes(site.guards)),
    )


@cause(
    "nobody-signals", "TX103", 170, "A phase completes when its arrivals have come, and no instruction arrives.",
    "PTX ISA: mbarrier",
)  # fmt: skip
def nobody_signals(situation: Situation, group: Group) -> Explanation | None:
    """Check for a barrier without arrivals in the program, or only after the wait for it."""
    barrier = group.mbarrier
    if barrier is None or not barrier.pending:
        return None
    name = barrier.element.buffer
    if signals := situation.signals(barrier):
        if barrier.fresh and _names_one(group) and not any(_may_name(site, barrier.element.stage) for site in signals):
            return Explanation(
                f"nothing ever arrives at {barrier.name}: every arrival at {name} names another barrier of it",
                f"let the threads that this waits for arrive at {barrier.name}",
                site_notes(signals, "the {role} is here"),
            )
        return _only_itself(situation, group)
    if loads := situation.sites.of(name, BarrierEffect.COMPLETE_TX):
        return Explanation(
            f"no thread arrives at {barrier.name}: {deliveries(loads)} deliver bytes to it, but nothing announces them",
            announce_hint(loads, name),
        )
    multiplies = [site for site in situation.sites.all if site.instruction.completion is Completion.COMMIT]
    if multiplies and not any(group.coming(site) for site in multiplies):
        return Explanation(
            f"nothing ever arrives at {barrier.name}: no tcgen05.commit names it, so nothing tells when MMAs end",
            f"call Tx.ptx.tcgen05.commit on {name} after the last gemm_async, in the same thread",
        )
    return Explanation(
        f"nothing ever arrives at {barrier.name}: no instruction of the kernel names it but the wait",
        f"let the threads that this waits for call Tx.ptx.mbarrier.arrive on {name}",
    )


def _names_one(group: Group) -> bool:
    """Return whether the wait names a fixed barrier, by a constant or the thread index."""
    return bool(group.sites) and all(site.fixed for site in group.sites)


def _may_name(site: Site, stage: int | None) -> bool:
    """Return whether some thread may name the barrier of this stage."""
    return stage is None or bool(site.threads_for(stage).any())


def _only_itself(situation: Situation, group: Group) -> Explanation | None:
    """Check for a barrier at which only its own waiters would arrive."""
    barrier = group.mbarrier
    if barrier is None or not barrier.fresh or not group.sites or _overran(situation, barrier):
        return None
    number, passed = barrier.element.stage or 0, max(site.order for site in group.sites)
    lanes = np.logical_or.reduce([site.threads for site in group.sites])
    own: list[Site] = []
    for site in situation.signals(barrier):
        for cta in situation.cluster.ctas:
            reach = set(np.flatnonzero(site.threads_for(number).any(axis=1)).tolist())
            if not reach or not site.signals(barrier.cta.rank, cta.rank):
                continue
            if any(warp.warp_id in reach and warp not in group.warps for warp in cta.warps):
                return None
            if not (site.threads & lanes).any():
                return None  # other lanes of the same warp
            own.append(site)
    if not own or any(site.order < passed for site in own):
        return None
    hint = f"let the threads that this waits for arrive at {barrier.name}: the index of the arrive says at which"
    notes = site_notes(own, "the {role} is here")
    if idle := _never_awaited(situation):
        hint = f"wait for {idle[0].barrier} instead, if it was meant: it is signalled, and no thread waits for it"
        notes += site_notes(idle[:1], f"{idle[0].barrier} is signalled here")
    return Explanation(
        f"only {group.role} itself arrives at {barrier.name}, after its own wait", hint, notes
    )


def _never_awaited(situation: Situation) -> list[Site]:
    """Return the signals of barriers without any wait."""
    awaited = {site.barrier for site in situation.sites.all if site.effect in (BarrierEffect.WAIT, BarrierEffect.TEST)}
    signals = [site for site in situation.sites.all if site.effect and site.effect.arrives]
    return [site for site in signals if site.barrier and site.barrier not in awaited | {""}]


def _overran(situation: Situation, barrier: Mbarrier) -> bool:
    """Return whether arrivals for the barrier may have gone to another stage, which has received too many."""
    name, signals = barrier.element.buffer, situation.signals(barrier)
    stages = [b for b in situation.cta_of(barrier).mbarriers.values() if b.element.buffer == name]
    return any(situation.overrun(stage, signals) for stage in stages)


@cause("signal-never-runs", "TX104", 160, "Code under guards that exclude each other runs in no thread.")
def signal_never_runs(situation: Situation, group: Group) -> Explanation | None:
    """Check for arrivals under guards that no thread satisfies."""
    barrier = group.mbarrier
    if barrier is None or not barrier.pending:
        return None
    signals = situation.signals(barrier)
    if not signals or any(site.reachable for site in signals):
        return None
    site = signals[0]
    return Explanation(
        f"nothing arrives at {barrier.name}: {_contradiction(site)}, so the {site.role} never runs",
        "correct the guards, so that a thread executes it",
        ((f"the {site.role} is here", site.span), *guard_notes(site.conflict())),
    )


@cause(
    "one-cta-signals", "TX105", 150, "A commit arrives in each CTA of its mask, and in no other.",
    "PTX ISA: tcgen05.commit",
)  # fmt: skip
def one_cta_signals(situation: Situation, group: Group) -> Explanation | None:
    """Check for a barrier that receives arrivals in one CTA of the cluster but not in another."""
    barrier = group.mbarrier
    if barrier is None or barrier.phase or barrier.pending < barrier.expected:
        return None
    peers = [cta.mbarriers.get(barrier.offset) for cta in situation.cluster.ctas if cta is not barrier.cta]
    served = next((b for b in peers if b is not None and b.phase), None)
    signals = situation.signals(barrier)
    if served is None or not signals:
        return None
    commits = [site for site in signals if site.effect is BarrierEffect.COMMIT]
    if not commits:
        name = barrier.element.buffer
        return Explanation(
            f"every arrival at {name} goes to {served.cta.name}, and {group.role} of {barrier.cta.name} "
            f"{group.waits} for {barrier.name} of its own CTA",
            f"let only {served.cta.name} wait for {name}, or signal it in {barrier.cta.name} too: arrivals through a "
            "remote_view or a cta_id go to that CTA only",
            tuple((f"the {site.role} is here", site.span) for site in signals),
        )
    mask, pairs = (1 << len(situation.cluster.ctas)) - 1, len(situation.cluster.ctas) > 2
    if pairs and all(commit.call.attr("cta_group", 1) == 2 for commit in commits):
        return Explanation(
            f"the commit signals {barrier.name} of {served.cta.name}, and {barrier.cta.name} waits for its own: the "
            "mask counts CTAs of the cluster, and not of the pair",
            "commit with the mask of the leader's own pair: cta_mask=3 << rank, where rank is that of the leader",
            tuple(("the commit is here", site.span) for site in commits),
        )
    return Explanation(
        f"the commit signals {barrier.name} of {served.cta.name} only, and {barrier.cta.name} waits for its own",
        f"commit with cta_mask={mask}, so that the barrier of every CTA of the cluster is signalled",
        tuple(("the commit is here", site.span) for site in commits),
    )


def _contradiction(site: Site) -> str:
    """Return the reason why no thread reaches the site."""
    texts = [f"`{guard.text}`" for guard in site.conflict()]
    return f"no thread satisfies {'both ' if len(texts) == 2 else ''}{' and '.join(texts)}"
