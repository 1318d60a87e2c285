"""Deadlocks in which one side of a handover skips some rounds or makes one too few."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tirx_mini.ir import int_value
from tirx_mini.isa import BarrierEffect
from tirx_mini.sim import NamedBarrierWait, RunningWarp

from ..kind import Explanation, counted
from .guards import Guard
from .notes import guard_notes, site_notes
from .rule import cause
from .sites import Assignment, Site, Sites
from .situation import Group, Situation, line, role_name
from .states import WRONG_PARITY


def _of_some_rounds(site: Site, others: Sequence[Site]) -> list[Guard]:
    """Return the guards of a site that select rounds and enclose none of the others."""
    around = {id(guard.cond) for other in others for guard in other.guards}
    return [g for g in site.guards if not g.of_all_rounds(site.warps) and id(g.cond) not in around]


@cause(
    "announced-sometimes", "TX106", 142, "A phase completes when the bytes expected are those that landed.",
    "PTX ISA: mbarrier, tx-count",
)  # fmt: skip
def announced_sometimes(situation: Situation, group: Group) -> Explanation | None:
    """Check for a load in each round whose bytes are announced only in some."""
    barrier = group.mbarrier
    if barrier is None or not barrier.phase:
        return None
    name = barrier.element.buffer
    loads = situation.sites.of(name, BarrierEffect.COMPLETE_TX)
    for site in situation.sites.signals(name):
        beside = [load for load in loads if list(map(id, load.loops)) == list(map(id, site.loops))]
        guards = _of_some_rounds(site, beside)
        if site.effect is BarrierEffect.ARRIVE_EXPECT_TX and beside and guards:
            return Explanation(
                f"the bytes of {name} are announced only in rounds with `{guards[0].text}`, and the load is issued in "
                "the others, too",
                "announce the bytes in every round that loads: a box beyond the edge of the tensor is full, of zeros",
                (("the bytes are announced here", site.span), *site_notes(beside, "the load is here")),
                span=site.span,
            )
    return None


@cause(
    "copies-beside-the-count", "TX107", 135, "cp.async.mbarrier.arrive without .noinc adds the arrival that it makes.",
    "PTX ISA: cp.async.mbarrier.arrive",
)  # fmt: skip
def copies_beside_the_count(situation: Situation, group: Group) -> Explanation | None:
    """Check for a barrier whose only arrivals are cp.async.mbarrier.arrive without .noinc, which add to the count."""
    barrier = group.mbarrier
    signals = [] if barrier is None else situation.signals(barrier)
    if barrier is None or not signals or not all(s.instruction.adds_arrival for s in signals):
        return None
    return Explanation(
        f"cp.async.mbarrier.arrive adds the arrival that it makes, so none of the {barrier.expected} arrivals that "
        f"{barrier.name} was initialised for ever comes",
        "write Tx.ptx.cp_async.mbarrier.arrive.noinc(…), whose arrivals are among those that the init counts",
        (*site_notes(signals, "it arrives here"), ("it is initialised here", barrier.init_span)),
        span=signals[0].span,
    )


@cause(
    "arrives-sometimes", "TX107", 132, "Each round of a barrier gets all of its arrivals.", "PTX ISA: mbarrier.init"
)
def arrives_sometimes(situation: Situation, group: Group) -> Explanation | None:
    """Check for a missing arrival that is conditional on the round."""
    barrier = group.mbarrier
    if barrier is None or not barrier.phase or not 0 < barrier.pending < barrier.expected:
        return None
    signals = situation.signals(barrier)
    for site in signals:
        waits = [
            wait for wait in situation.sites.all
            if wait.effect is BarrierEffect.WAIT and wait.order < site.order and (wait.threads & site.threads).any()
            and list(map(id, wait.loops)) == list(map(id, site.loops))
        ]  # fmt: skip
        guards = _of_some_rounds(site, waits)
        if not site.threads_arrive or not waits or not guards:
            continue
        name, got = barrier.element.buffer, barrier.expected - barrier.pending
        return Explanation(
            f"{barrier.name} gets {got} of the {counted(barrier.expected, 'arrival')} of a round: in some rounds "
            f"`{guards[0].text}` does not hold, and the {site.role} is skipped",
            f"arrive at {name} in every round that waits for {waits[-1].barrier}: move the {site.role} out of the "
            "guard",
            (("the arrive is here", site.span), *guard_notes(guards), ("every round waits here", waits[-1].span)),
            span=site.span,
        )
    return None


# -- phases ------------------------------------------------------------------------------------------------------------


@cause("phase-not-flipped", WRONG_PARITY.code, 144, WRONG_PARITY.rule, WRONG_PARITY.isa)
def phase_not_flipped(situation: Situation, group: Group) -> Explanation | None:
    """Check for a wait that does not advance to the next phase, unlike the role's other waits for the barrier."""
    sites = situation.sites
    for name in dict.fromkeys(site.barrier for site in sites.all if site.barrier):
        waits = [site for site in sites.of(name, BarrierEffect.WAIT) if site.loops]
        for wait in waits:
            others = [w for w in waits if w is not wait and w.order < wait.order and (w.threads & wait.threads).any()]
            flips = [flip for other in others for flip in _flips(sites, other, wait)]
            if flips and not any(_flips(sites, wait, None)):
                return Explanation(
                    f"the phase does not go on after this wait for {name}, as it does after the one of "
                    f"{line(others[-1].span)}: the next wait is for the phase that is over",
                    f"flip the phase after this wait, too, as {line(flips[-1].span)} does",
                    (("it goes on here", flips[-1].span),),
                    {"barrier": name},
                    span=wait.span,
                )
    return None


def _flips(sites: Sites, wait: Site, before: Site | None) -> Iterator[Assignment]:
    """Yield the assignments of a wait's phase after it in its own loop, up to the site `before`."""
    variables = sites.variables(wait.argument("phase"))[0]
    for one in sites.assignments:
        ahead = before is None or one.order <= before.order
        inside = one.loops[: len(wait.loops)] and list(map(id, one.loops)) == list(map(id, wait.loops))
        if one.order > wait.order and ahead and inside and any(one.variable is v for v in variables):
            yield one


# -- turns -------------------------------------------------------------------------------------------------------------


@cause("no-first-turn", "TX111", 55, "A barrier waits for every thread that it counts.", "PTX ISA: bar.sync")
def no_first_turn(situation: Situation, group: Group) -> Explanation | None:
    """Check for warps that take turns without an initial arrival."""
    turns: dict[int, list[RunningWarp]] = {}
    for warp in (warp for other in situation.groups for warp in other.warps):
        if isinstance(warp.waiting, NamedBarrierWait):
            turns.setdefault(warp.waiting.number, []).append(warp)
    for number, takers in turns.items():
        wait = takers[0].waiting
        assert isinstance(wait, NamedBarrierWait)
        for other, givers in turns.items():
            gives = _gives(situation, number, givers) if other != number and not wait.barrier.rounds else []
            if gives:
                giver = role_name(givers)
                return Explanation(
                    f"{role_name(takers)} waits for its first turn at barrier {number}, which {giver} gives only after "
                    "a turn of its own: nobody begins",
                    f"let {giver} call Tx.ptx.bar.arrive({number}, {wait.threads}) once, before its first wait",
                    site_notes(gives, "the turn is given here"),
                )
    return None


def _gives(situation: Situation, number: int, warps: Sequence[RunningWarp]) -> list[Site]:
    """Return the arrivals of warps at a named barrier after their current waits."""
    ids = [warp.warp_id for warp in warps]
    places = [place for warp in warps if warp.waiting for place in situation.sites.at(warp.waiting.span)]
    return [
        site for site in situation.sites.all
        if site.instruction.arrives_at_named_barrier and site.threads[ids].any()
        and int_value(site.argument("barrier_id")) == number and all(place.order < site.order for place in places)
    ]  # fmt: skip
