"""Random protocols of lanes, warps and CTAs of a cluster, with mbarriers, flags and barriers, and all of their orders.

As in `interleavings`, a model that knows nothing of the simulator walks through all orders. A thread is one lane;
several may be of one warp, and warps of two CTAs.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from tests.tirx_mini.sim.bare import Result, address, at, block, buffer, do, initialised, one_lane, run
from tests.tirx_mini.sim.machine.interleavings import Clock, Kind, Model, Protocol, State, Step, join, judged
from tirx_mini.sim import Ends, Late, RunningWarp
from tirx_mini.sim.machine import GlobalMemory
from tirx_mini.sim.translate import Poll

VARIABLES, FLAGS = 2, 2
JOINTS: tuple[Kind, ...] = ("meet", "sync", "cluster")
POLLS = 600
"""Looks at a flag after which a thread is taken to wait for ever."""

Place = tuple[int, int, int]
"""The CTA, the warp and the lane of a thread."""


@dataclass(frozen=True)
class Wide(Protocol):
    """A protocol whose threads are anywhere in a cluster. places: of the threads. Barrier b is of CTA b % ctas.

    publish: an atomic addition to the flag `target`, which releases. observe: look at it with acquire semantics until
    it is at least `value`. meet, sync, cluster: the barriers of a warp, a CTA, and the cluster.
    """

    places: tuple[Place, ...] = ()

    @property
    def ctas(self) -> int:
        """The number of its CTAs."""
        return max(cta for cta, _, _ in self.places) + 1

    @property
    def warps(self) -> int:
        """The number of warps of each CTA."""
        return max(warp for _, warp, _ in self.places) + 1

    def of_warp(self, cta: int, warp: int) -> list[int]:
        """The threads of a warp."""
        return [number for number, place in enumerate(self.places) if place[:2] == (cta, warp)]


@dataclass(frozen=True)
class WideState(State):
    """flags: the value of each, and what its additions released."""

    flags: tuple[tuple[int, Clock], ...] = ()


class WideModel(Model):
    """Walks through all orders of a protocol in a cluster."""

    protocol: Wide

    def first(self) -> State:
        """As `Model.first`."""
        state, zero = super().first(), (0,) * self.width
        return WideState(
            state.at, state.clocks, state.barriers, state.flights, state.accesses, flags=((0, zero),) * FLAGS
        )

    def step(self, state: State, thread: int, step: Step) -> list[State]:
        """As `Model.step`."""
        assert isinstance(state, WideState)
        clock = state.clocks[thread]
        if step.kind in JOINTS:
            return self._joined(state, thread, step.kind)
        if step.kind == "publish":
            count, released = state.flags[step.target]
            flags = _with(state.flags, step.target, (count + 1, join(released, clock)))
            return [self.moved(replace(state, flags=flags), thread, self.advanced(clock, thread))]
        if step.kind == "observe":
            count, released = state.flags[step.target]
            return [self.moved(state, thread, join(clock, released))] if count >= step.value else []
        return super().step(state, thread, step)

    def _group(self, thread: int, kind: Kind) -> list[int]:
        """The threads that a barrier of this kind waits for."""
        shared = {"meet": 2, "sync": 1, "cluster": 0}[kind]
        places = self.protocol.places
        return [other for other, place in enumerate(places) if place[:shared] == places[thread][:shared]]

    def _joined(self, state: WideState, thread: int, kind: Kind) -> list[State]:
        if thread in state.synced:
            return []
        synced, group = state.synced | {thread}, self._group(thread, kind)
        if not synced.issuperset(group):
            return [replace(state, synced=synced)]
        joined: Clock = (0,) * self.width
        for other in group:
            joined = join(joined, state.clocks[other])
        clocks = tuple(
            self.advanced(joined, t) if t in group else clock for t, clock in enumerate(state.clocks)
        )
        steps = tuple(place + (t in group) for t, place in enumerate(state.at))
        return [replace(state, synced=synced - set(group), clocks=clocks, at=steps)]


def _with(items: tuple[Any, ...], number: int, item: Any) -> tuple[Any, ...]:
    return (*items[:number], item, *items[number + 1 :])


# -- random ones ---------------------------------------------------------------------------------------------------


def protocol(rng: random.Random) -> Wide:
    """A protocol of two to four threads with a few steps each."""
    ctas = rng.choice((1, 1, 2))
    warps = [(cta, warp) for cta in range(ctas) for warp in range(rng.choice((1, 2) if ctas == 2 else (1, 2, 3)))]
    rng.shuffle(warps)
    lanes = dict.fromkeys(warps, 1)
    for warp in warps:
        if sum(lanes.values()) < 4 and rng.random() < 0.4:
            lanes[warp] = 2
    warps.sort()
    segments = rng.choice((1, 1, 2))
    joints = [rng.choice(JOINTS) for _ in range(segments - 1)]
    places: list[Place] = []
    threads: list[list[Step]] = []
    for cta, warp in warps:
        meets = [rng.random() < 0.4 for _ in range(segments)]
        for lane in rng.sample(range(32), lanes[cta, warp]):
            steps: list[Step] = []
            for number in range(segments):
                steps += _some(rng, cta, ctas, 2)
                if meets[number]:
                    steps += (Step("meet"), *_some(rng, cta, ctas, 1))
                if number < segments - 1:
                    steps.append(Step(joints[number]))
            places.append((cta, warp, lane))
            threads.append(steps)
    _answer(rng, places, threads)
    counts = tuple(rng.choice((1, 1, 2)) for _ in range(2))
    delays = tuple(tuple(rng.choice((0, 0, 50, 400, 2000)) for _ in steps) for steps in threads)
    return Wide(counts, tuple(map(tuple, threads)), delays, tuple(places))


def _answer(rng: random.Random, places: Sequence[Place], threads: list[list[Step]]) -> None:
    """Let threads signal what others wait for, mostly: without that nearly all protocols hang."""
    for thread, steps in enumerate(list(map(tuple, threads))):
        for step in steps:
            if step.kind not in ("wait", "observe") or rng.random() < 0.15:
                continue
            near = [t for t, place in enumerate(places) if t != thread and (
                step.kind == "observe" or place[0] == places[thread][0])]  # fmt: skip
            signal: Kind = "publish" if step.kind == "observe" else "arrive"
            for _ in range(step.value if step.kind == "observe" else 1 + step.value) if near else ():
                other = threads[rng.choice(near)]
                other.insert(rng.randint(0, len(other)), Step(signal, step.target))
    limits = random.Random()
    limits.setstate(rng.getstate())
    for thread, steps in enumerate(threads):  # most looks at a flag end at its last value
        for number, step in enumerate(steps):
            if step.kind == "observe":
                others = [other for t, mine in enumerate(threads) if t != thread for other in mine]
                total = sum(other.kind == "publish" and other.target == step.target for other in others)
                least = 1 if limits.random() < 0.4 else max(1, total)
                steps[number] = Step("observe", step.target, limits.randint(least, max(1, total)))


def _some(rng: random.Random, cta: int, ctas: int, most: int) -> list[Step]:
    kinds: tuple[Kind, ...] = ("arrive", "wait", "wait", "publish", "observe", "read", "write", "write")
    steps = []
    for _ in range(rng.randint(0, most)):
        kind = rng.choice(kinds)
        if kind in ("arrive", "wait"):
            steps.append(Step(kind, rng.randrange(2) if ctas == 1 else cta, rng.randrange(2)))
        elif kind in ("publish", "observe"):
            steps.append(Step(kind, rng.randrange(FLAGS), rng.choice((1, 1, 2))))
        else:
            steps.append(Step(kind, rng.randrange(VARIABLES)))
    return steps


# -- the same on the simulated GPU ---------------------------------------------------------------------------------


def execute(wide: Wide, mixed: Ends | None = None, late: Late | None = None) -> Result:
    """One run of a protocol. mixed, late: as for a `Gpu`."""
    names = [f"bar{number}" for number in range(len(wide.counts))]
    arrays = {"V": np.zeros(VARIABLES, np.float32), "F": np.zeros(FLAGS, np.uint32)}

    def program(w: RunningWarp) -> Any:
        for name, count in zip(names, wide.counts, strict=True):
            yield from initialised(w, count, name)
        mine = wide.of_warp(w.cta.rank, w.warp_id)
        steps = {thread: list(enumerate(wide.threads[thread])) for thread in mine}
        while any(steps.values()):
            yield from _apart(w, wide, steps)
            if not any(steps.values()):
                break
            kinds = {left[0][1].kind for left in steps.values() if left}
            assert len(kinds) == 1 and all(steps.values()), "the lanes of a warp come to a barrier together"
            for left in steps.values():
                at(w, 100 + left.pop(0)[0])
            w.select(w.all_lanes)
            yield from _joint(w, kinds.pop(), len({warp for cta, warp, _ in wide.places if cta == w.cta.rank}))

    return run(
        program, threads=32 * wide.warps, grid=(wide.ctas, 1, 1), cluster=(wide.ctas, 1, 1),
        shared=dict.fromkeys(names, ("uint64", 1)), arrays=arrays, access_bytes=4, mixed=mixed, late=late,
    )  # fmt: skip


def _joint(w: RunningWarp, kind: Kind, warps: int) -> Generator[Any, None, None]:
    if kind == "meet":
        do(w, "bar.warp.sync")
    elif kind == "sync":
        yield from block(w, "bar.sync", 1, 32 * warps)
    else:
        yield from block(w, "barrier.cluster.sync")


def _apart(w: RunningWarp, wide: Wide, steps: dict[int, list[tuple[int, Step]]]) -> Generator[Any, None, None]:
    """The steps of the threads of a warp up to the next barrier: one that would wait lets the other one go on."""
    polls, delayed = 0, set()
    while ready := [t for t, left in steps.items() if left and left[0][1].kind not in JOINTS]:
        due = {t for t in ready if wide.delays[t][steps[t][0][0]] and (t, steps[t][0][0]) not in delayed}
        turn = next((t for t in ready if _passes(w, wide, t, *steps[t][0], due=t in due)), None)
        if turn is None:
            polls += 1
            if polls > POLLS:
                w.gpu.seen["stuck"] = True
                for left in steps.values():
                    left.clear()
                return
            w.gpu.wake(w, w.time + 100)
            yield Poll(w, w.time, w.span)
            continue
        number, step = steps[turn][0]
        one_lane(w, wide.places[turn][2])
        at(w, 1000 * (turn + 1) + number)
        if turn in due:
            delayed.add((turn, number))
            w.gpu.wake(w, w.time + wide.delays[turn][number])
            yield Poll(w, w.time, w.span)
            continue
        steps[turn].pop(0)
        yield from _perform(w, step)


def _passes(w: RunningWarp, wide: Wide, thread: int, number: int, step: Step, due: bool) -> bool:
    """Return whether a step would not wait; a look at a flag is made here. due: whether its delay comes first."""
    if step.kind == "wait":
        barrier = w.gpu.mbarrier(w, address(w, f"bar{step.target}"))
        return bool(barrier.expected) and barrier.completed(step.value)
    if step.kind != "observe" or due:
        return True
    one_lane(w, wide.places[thread][2])
    at(w, 1000 * (thread + 1) + number)
    found = do(w, "ld", GlobalMemory.base(1) + 4 * step.target, type="u32", sem="acquire", scope="gpu")
    return int(np.asarray(found).max()) >= step.value


def _perform(w: RunningWarp, step: Step) -> Generator[Any, None, None]:
    flag = GlobalMemory.base(1) + 4 * step.target
    if step.kind == "arrive":
        do(w, "mbarrier.arrive", address(w, f"bar{step.target}"))
    elif step.kind == "wait":
        yield from block(w, "mbarrier.try_wait", address(w, f"bar{step.target}"), step.value)
    elif step.kind == "publish":
        do(w, "red", flag, 1, op="add", type="u32", sem="release", scope="gpu")
    elif step.kind == "write":
        w.store(buffer(w, "V"), step.target, float(w.warp_id + 1))
    elif step.kind == "read":
        w.load(buffer(w, "V"), step.target)


def said(wide: Wide) -> str:
    """The verdict of one run: "proved", "wrong", or "open" where another order may end otherwise."""
    return judged(partial(execute, wide))


def compared(wide: Wide) -> tuple[str, str | None]:
    """The verdict of a run and of the walk through all orders; None where the walk is too long."""
    return said(wide), WideModel(wide).verdict()


def difference(wide: Wide) -> str:
    """The difference of a run from the walk through all orders: "" where they agree."""
    return differing(*compared(wide))


def differing(words: str, verdict: str | None) -> str:
    """The difference of the verdicts that `compared` returns: "" where they agree."""
    if words == "proved" and verdict not in ("ok", None):
        return f"proved, and {verdict}"
    return "wrong, and ok" if words == "wrong" and verdict == "ok" else ""


def reduced(wide: Wide, found: Sequence[str]) -> Wide:
    """The protocol with as few steps as still differ so."""
    for thread, steps in enumerate(wide.threads):
        for number, step in enumerate(steps):
            if step.kind not in JOINTS:
                fewer = (*steps[:number], *steps[number + 1 :])
                times = (*wide.delays[thread][:number], *wide.delays[thread][number + 1 :])
                less = Wide(
                    wide.counts, _with(wide.threads, thread, fewer), _with(wide.delays, thread, times), wide.places
                )
                if difference(less) in found:
                    return reduced(less, found)
    return wide
