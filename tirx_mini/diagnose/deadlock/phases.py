"""The number of phases of a barrier per round of the outer loop: completed and awaited."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

import numpy as np

from tirx_mini.ir import Const, For, PrimFunc, Stmt, While, int_value, trips
from tirx_mini.isa import BarrierEffect
from tirx_mini.records import dataclass

from .guards import behind, ended_by
from .sites import Site, Sites


@dataclass(frozen=True)
class Rounds:
    """The phases of a barrier in one round of the outer loop, as completed and as awaited.

    phases: the number completed. rounds: the number that a thread waits for. count: arrivals that complete a phase.
    alike: whether all signals and waits execute equally often.
    """

    barrier: str
    phases: int
    rounds: int
    count: int
    alike: bool
    signals: tuple[Site, ...]
    waits: tuple[Site, ...]

    @property
    def arrivals(self) -> int:
        """The number of arrivals per awaited phase."""
        return self.phases * self.count // self.rounds


def differing_rounds(func: PrimFunc, sites: Sites) -> Iterator[Rounds]:
    """Yield the barriers that complete a different number of phases than any thread waits for."""
    assert func.launch is not None
    names = dict.fromkeys(site.barrier for site in sites.all if site.effect is BarrierEffect.WAIT and site.barrier)
    for name in names:
        inits = sites.of(name, BarrierEffect.INIT)
        stages = {site.index is None or int_value(site.index) is None for site in inits}
        if not inits or (stages != {True} and len(inits) != max(map(sites.depth, inits))):
            continue
        for stage in range(sites.depth(inits[0])):
            found = _rounds(sites, name, stage, func.launch.cluster_size)
            if found is not None and found.phases != found.rounds:
                yield found
                break


@dataclass(frozen=True)
class Once:
    """A wait that its threads execute once, behind a loop that completes several phases of its barrier.

    signal: a site in the loop. phases: the number of phases that the loop completes.
    """

    wait: Site
    signal: Site
    loop: For
    phases: int


def waits_once(func: PrimFunc, sites: Sites) -> Iterator[Once]:
    """Yield the waits behind a loop by threads that do not wait for each of its phases, as others do."""
    assert func.launch is not None
    for wait in sites.all:
        if wait.effect is not BarrierEffect.WAIT or not wait.barrier or sites.depth(wait) != 1:
            continue
        signals, depth = sites.signals(wait.barrier), len(wait.loops)
        loop = signals[0].loops[depth] if signals and len(signals[0].loops) > depth else None
        count = initial_count(sites, wait.barrier, 0)
        if not isinstance(loop, For) or count is None or any(loop is around for around in wait.loops):
            continue
        inside = all(_begins(site.loops, (*wait.loops, loop)) and site.order < wait.order for site in signals)
        members = sites.of(wait.barrier, BarrierEffect.WAIT, BarrierEffect.TEST)
        taking = [site.threads for site in members if any(around is loop for around in site.loops)]
        if not inside or not taking or not (wait.threads & ~np.logical_or.reduce(taking)).any():
            continue
        phases = _phases(signals, loop, count, func.launch.cluster_size)
        if phases > 1:
            yield Once(wait, signals[0], loop, phases)


def _begins(loops: Sequence[Stmt], first: Sequence[Stmt]) -> bool:
    """Return whether a nest of loops begins with these."""
    return list(map(id, loops[: len(first)])) == list(map(id, first))


def _phases(signals: Sequence[Site], loop: For, count: int, ctas: int) -> int:
    """Return the number of phases that the signals complete in a loop; 0 if unknown."""
    arrivals = 0
    for site in signals:
        outer = next(number for number, around in enumerate(site.loops) if around is loop)
        trips = site.rounds_within(site.loops[:outer])
        guards = all(guard.of_all_rounds(site.warps) for guard in site.guards)
        if trips is None or not guards:
            return 0
        arrivals += trips * sum(site.arriving(0, 0, rank) for rank in range(1 if site.by_cta else ctas))
    return 0 if arrivals % count else arrivals // count


def _rounds(sites: Sites, name: str, stage: int, ctas: int) -> Rounds | None:
    """Return the rounds of one barrier per iteration of the unbounded loop, or None if unknown."""
    count = initial_count(sites, name, stage)
    around = [site for site in sites.all if site.barrier == name and site.effect]
    signals = [site for site in around if site.effect and site.effect.arrives and _outer(site) is not None]
    waits = [site for site in around if site.effect is BarrierEffect.WAIT and _outer(site) is not None]
    asked = any(site.effect is BarrierEffect.TEST or site.counts for site in around)
    paces = {_pace(sites, site) for site in (*signals, *waits)}
    if count is None or asked or not signals or not waits or len(paces) > 1:
        return None
    arrivals = 0
    for site in signals:
        trips, own = _trips(site), 1 if site.by_cta else ctas
        if trips is None:
            return None
        arrivals += trips * sum(site.arriving(stage, 0, rank) for rank in range(own))
    waited = np.zeros(waits[0].threads.shape, int)
    for site in waits:
        trips = _trips(site)
        if trips is None:
            return None
        waited += trips * site.threads_for(stage)
    rounds = set(waited[waited > 0].tolist())
    if len(rounds) != 1 or not arrivals or arrivals % count:
        return None
    alike = len({_trips(site) for site in (*signals, *waits)}) == 1
    return Rounds(name, arrivals // count, rounds.pop(), count, alike, tuple(signals), tuple(waits))


def initial_count(sites: Sites, name: str, stage: int) -> int | None:
    """Return the initial count of a barrier if all of its inits agree."""
    inits = [site for site in sites.of(name, BarrierEffect.INIT) if site.threads_for(stage).any()]
    counts = {int_value(site.argument("count")) for site in inits}
    return counts.pop() if len(counts) == 1 else None


def _outer(site: Site) -> int | None:
    """Return the index of the outermost loop of unknown length around a site."""
    return next((number for number, loop in enumerate(site.loops) if _length(loop) is None), None)


def _pace(sites: Sites, site: Site) -> Hashable:
    """Return a key of the rounds that the outer loop around a site makes; equal for loops with equal rounds.

    Roles that take turns advance by several rounds at once, and each makes only some of the rounds.
    """
    loop = site.loops[_outer(site) or 0]
    if not isinstance(loop, While):
        return None
    variables = [*sites.variables(loop.cond)[0], *ended_by(loop)]
    steps = [
        one for one in sites.assignments
        if any(one.variable is variable for variable in variables) and any(around is loop for around in one.loops)
    ]  # fmt: skip
    values = (behind([one.value], sites.bound) for one in steps)
    return tuple(tuple(node.value for node in nodes if isinstance(node, Const)) for nodes in values)


def _trips(site: Site) -> int | None:
    """Return the executions of a site per round of the unbounded loop; None if guards or inner loops leave it open."""
    outer = _outer(site)
    if outer is None or any(_length(loop) is None for loop in site.loops[outer + 1 :]):
        return None
    if not all(guard.of_all_rounds(site.warps) for guard in site.guards):
        return None
    return site.rounds_within(site.loops[: outer + 1])


def _length(loop: object) -> int | None:
    """Return the trip count of a loop, or None if unknown."""
    if not isinstance(loop, For):
        return None
    start, stop = int_value(loop.start), int_value(loop.stop)
    return None if start is None or stop is None else trips(start, stop, loop.step)
