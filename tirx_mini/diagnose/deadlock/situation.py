"""The warps of a deadlocked machine, in terms of the source."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from tirx_mini.ir import PrimFunc, Span
from tirx_mini.isa import BarrierEffect
from tirx_mini.records import dataclass
from tirx_mini.sim import (
    CountingBarrier,
    CountingWait,
    Mbarrier,
    MbarrierWait,
    RepeatedWait,
    ResidentCluster,
    ResidentCta,
    RunningWarp,
    Signal,
    Wait,
    place_key,
)

from .guards import source_text
from .sites import Site, Sites
from .stuck_role import StuckRole
from .waits import wait_text

BARRIER_CALLS = ("cta_sync", "cluster_sync", "warpgroup_sync", "syncthreads")


@dataclass
class Group:
    """Warps that wait for one barrier in one state at one line. sites: the inlined instances of the instruction."""

    wait: Wait
    warps: list[RunningWarp]
    sites: list[Site]

    @property
    def span(self) -> Span | None:
        return self.wait.span

    @property
    def waits_for(self) -> str:
        """The awaited object, as the end of "warp 3 waits for …"."""
        return wait_text(self.wait)

    @property
    def mbarrier(self) -> Mbarrier | None:
        return self.wait.barrier if isinstance(self.wait, MbarrierWait) else None

    @property
    def parity(self) -> int | None:
        """The parity of the awaited mbarrier phase."""
        return self.wait.parity if isinstance(self.wait, MbarrierWait) else None

    @property
    def counting(self) -> CountingBarrier | None:
        return self.wait.barrier if isinstance(self.wait, CountingWait) else None

    @cached_property
    def role(self) -> str:
        return role_name(self.warps)

    @property
    def waits(self) -> str:
        """The verb form: "waits" or "wait"."""
        return "wait" if " and " in self.role or self.role.startswith("warps") else "waits"

    @property
    def call(self) -> str:
        """The source name of the call: "cta_sync", or the name of the instruction."""
        text = source_text(self.span.user if self.span else None)
        return next((name for name in BARRIER_CALLS if name in text), self.wait.instruction)

    def coming(self, site: Site, barrier: Mbarrier | None = None) -> list[RunningWarp]:
        """Return the warps of the group that would reach `site` if they continued, and signal `barrier` there."""
        if not any(here.leads_to(site) for here in self.sites):
            return []
        threads = site.threads if barrier is None else site.threads_for(barrier.element.stage or 0)
        reach = [any(lanes) for lanes in threads.tolist()]
        warps = [warp for warp in self.warps if reach[warp.warp_id]]
        return warps if barrier is None else [w for w in warps if site.signals(barrier.cta.rank, w.cta.rank)]

    @property
    def key(self) -> Hashable:
        """A key that is equal for equivalent groups in different CTAs."""
        b = self.mbarrier
        state = (b.name, b.expected, b.pending, b.phase, b.tx) if b is not None else self.wait.instruction
        return place_key(self.span), state, self.parity, tuple(w.warp_id for w in self.warps)


@dataclass
class Situation:
    """A deadlocked cluster.

    repeats: the waits of the run that observed one round twice. clusters: the number of clusters in this state.
    """

    func: PrimFunc
    sites: Sites
    cluster: ResidentCluster
    repeats: Sequence[RepeatedWait] = ()
    clusters: int = 1

    @cached_property
    def groups(self) -> list[Group]:
        found: dict[Hashable, Group] = {}
        for warp in self._blocked():
            wait = warp.waiting
            assert wait is not None
            if isinstance(wait, MbarrierWait):
                b = wait.barrier
                state: Hashable = (b.name, b.phase, b.pending, b.tx, wait.parity)
            else:
                state = wait.instruction
            key = (place_key(wait.span), state)
            if key not in found:
                found[key] = Group(wait, [], self.sites.at(wait.span))
            found[key].warps.append(warp)
        return list(found.values())

    def _blocked(self) -> Iterator[RunningWarp]:
        for cta in self.cluster.ctas:
            yield from (warp for warp in cta.warps if not warp.done and warp.waiting is not None)

    @property
    def key(self) -> Hashable:
        return tuple(group.key for group in self.groups)

    def cta_of(self, barrier: Mbarrier) -> ResidentCta:
        """Return the CTA whose shared memory holds a barrier."""
        return next(cta for cta in self.cluster.ctas if cta is barrier.cta)

    def signals(self, barrier: Mbarrier) -> list[Site]:
        """Return the instructions that arrive at a barrier of this name."""
        return self.sites.signals(barrier.element.buffer)

    def coming(self, site: Site, barrier: Mbarrier | None = None) -> list[Group]:
        """Return the groups that would reach `site` if they continued, and signal `barrier` there."""
        return [group for group in self.groups if group.coming(site, barrier)]

    def needed_by(self, group: Group) -> list[Group]:
        """Return the groups that must continue before `group` can."""
        barrier = group.mbarrier
        if barrier is not None:
            found = [g for site in self.signals(barrier) for g in self.coming(site, barrier)]
        else:
            found = [g for g in self.groups if barrier_of(g.wait) is not barrier_of(group.wait)]
        return list({id(g): g for g in found if g is not group}.values())

    def behind(self, ahead: Sequence[Group]) -> list[Group]:
        """Return the groups that are blocked, directly or transitively, only by groups in `ahead`."""
        found: dict[int, Group] = {}
        while True:
            known = {*map(id, ahead), *found}
            more = {
                id(group): group
                for group in self.groups
                if id(group) not in known
                and (needed := self.needed_by(group))
                and all(id(other) in known for other in needed)
            }
            if not more:
                return list(found.values())
            found |= more

    def rounds_of(self, warp: RunningWarp, barrier: Mbarrier, sites: Sequence[Site]) -> int:
        """Return how often the warp has executed `sites` and arrived at the barrier."""
        threads: dict[Hashable, int] = {}
        for site in sites:
            number = int(site.threads_for(barrier.element.stage or 0)[warp.warp_id].sum())
            if number:
                place = place_key(site.span)
                threads[place] = min(number, threads.get(place, number))
        counts: dict[Hashable, int] = {}
        for arrival in barrier.history.arrivals.values():
            if arrival.role in (warp.place, warp.role):
                place = place_key(arrival.span)
                counts[place] = counts.get(place, 0) + arrival.count
        return sum(-(-count // threads.get(place, 1)) for place, count in counts.items())

    def overrun(self, barrier: Mbarrier, sites: Sequence[Site]) -> bool:
        """Return whether a warp has arrived more often than phases have begun, and so did not wait for them."""
        numbers = [site.threads_for(barrier.element.stage or 0).any(axis=1) for site in sites]
        able = np.logical_or.reduce(numbers) if numbers else ()
        begun = barrier.phase + (barrier.pending < barrier.expected)
        return any(
            able[warp.warp_id] and self.rounds_of(warp, barrier, sites) > begun
            for cta in self.cluster.ctas
            for warp in cta.warps
        )

    def in_step(self, barrier: Mbarrier) -> bool:
        """Return whether the arriving warps all began with the same round of each ring that they wait for.

        Warps that take turns begin at different stages or phases: each arrives in its own rounds, so two of them at one
        stage are out of turn, but no count is wrong.
        """
        sites = self.signals(barrier)
        loops = {id(loop) for site in sites for loop in site.loops}
        threads = np.logical_or.reduce([site.threads for site in sites])
        rings = {
            wait.barrier
            for wait in self.sites.all
            if wait.effect is BarrierEffect.WAIT and not wait.by_thread
            if any(id(loop) in loops for loop in wait.loops) and (wait.threads & threads).any()
        }
        roles = {arrival.role for arrival in barrier.history.arrivals.values() if arrival.count}
        for ring in rings:
            stages = [b for cta in self.cluster.ctas for b in cta.mbarriers.values() if b.element.buffer == ring]
            begun: set[Hashable] = set()
            for role in roles:
                first = [
                    (counted.time, counted.phase, b.element.stage)
                    for b in stages
                    if (counted := b.history.wait_counts.get(role)) is not None
                ]
                begun |= {min(first, key=lambda wait: wait[0])[1:]} if first else set()
            if len(begun) > 1:
                return False
        return True

    def cycle(self, start: Group) -> list[Group]:
        """Return groups that wait for one another in a cycle; [] if there is none."""
        return self._cycle_from((start,))

    def _cycle_from(self, path: tuple[Group, ...]) -> list[Group]:
        for needed in self.needed_by(path[-1]):
            if needed in path:
                return list(path[path.index(needed) :])
            found = self._cycle_from((*path, needed))
            if found:
                return found
        return []

    def stuck_role(self, group: Group) -> StuckRole:
        """Return the group as a result for pages and JSON."""
        facts: dict[str, Any] = {}
        barrier = group.mbarrier
        if barrier is not None:
            facts = {"barrier": barrier.name, "stage": barrier.element.stage, "parity": group.parity}
            facts |= {"phase": barrier.phase, "expected": barrier.expected, "pending": barrier.pending}
            facts |= {"tx_bytes": barrier.tx, "so_far": so_far(barrier)}
        ctas = len({warp.cta for warp in group.warps}) * self.clusters
        example, providers = group.warps[0].cta.name, self.providers(group)
        return StuckRole(group.role, group.span, group.waits_for, ctas, example, providers=providers, **facts)

    def providers(self, group: Group) -> tuple[str, ...]:
        """Return the roles that should complete the wait of a group, and their locations."""
        barrier = group.mbarrier
        if barrier is None:
            return tuple(f"{g.role} {g.waits} elsewhere ({line(g.span)})" for g in self.needed_by(group))
        lines: list[str] = []
        for site in self.signals(barrier):
            coming = self.coming(site, barrier)
            others = [f"{g.role}, which {g.waits} at {line(g.span)}" for g in coming if g is not group]
            if others:
                lines.append(f"the {site.role} of {line(site.span)} is up to {'; '.join(others)}")
            else:
                who = "comes after this wait" if coming else "will not be executed again"
                lines.append(f"the {site.role} of {line(site.span)} {who}")
        return tuple(dict.fromkeys(lines))


# -- words -------------------------------------------------------------------------------------------------------------


def so_far(barrier: Mbarrier) -> tuple[str, ...]:
    """Return phrases about the arrivals at the barrier so far, by source location."""
    found: dict[tuple[Signal, str, Hashable], tuple[Span | None, list[str], int, int]] = {}
    own = f" of {barrier.cta.name}"
    for arrival in barrier.history.arrivals.values():
        role = arrival.role.removesuffix(own)
        key = (arrival.signal, role.partition(" of ")[2], place_key(arrival.span))
        span, roles, count, nbytes = found.get(key, (arrival.span, [], 0, 0))
        found[key] = (span, [*roles, role], count + arrival.count, nbytes + arrival.nbytes)
    return tuple(
        f"{signal} of {line(span)}: {f'{nbytes} bytes' if nbytes else f'{count}×'}, by "
        + (roles[0] if len(set(roles)) == 1 else f"{len(set(roles))} warps{' of ' * bool(place)}{place}")
        for (signal, place, _), (span, roles, count, nbytes) in found.items()
    )


def barrier_of(wait: Wait | None) -> Mbarrier | CountingBarrier | None:
    """Return the awaited barrier; None for any other wait."""
    return wait.barrier if isinstance(wait, (MbarrierWait, CountingWait)) else None


def line(span: Span | None) -> str:
    return f"line {span.user.line}" if span is not None else "an unknown line"


def role_name(warps: Sequence[RunningWarp]) -> str:
    """Return warps in words: "warp 3 of warpgroup 1", "warpgroup 0", "warps 1 and 2 of warpgroup 1", "every warp"."""
    total = warps[0].gpu.image.launch.warps
    ids = sorted({warp.warp_id for warp in warps})
    if len(ids) == 1:
        return warps[0].role
    if len(ids) == total:
        return "every warp"
    if total <= 4:
        return f"warps {_listed(ids)}"
    parts: list[str] = []
    for group in range(-(-total // 4)):
        inside = [number % 4 for number in ids if number // 4 == group]
        if len(inside) == 4:
            parts.append(f"warpgroup {group}")
        elif inside:
            parts.append(f"warp{'s' * (len(inside) > 1)} {_listed(inside)} of warpgroup {group}")
    return " and ".join(parts)


def _listed(numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return str(numbers[0])
    return f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
