"""Small protocols of threads and mbarriers: executed in every order by a model of their own, and on the simulated GPU.

A protocol has a list of steps for each thread. The model knows nothing of the simulator: it walks through all
interleavings, with the happens-before of each, and says whether one of them hangs, breaks a count or races.
"""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from tests.tirx_mini.sim.bare import Result, address, at, block, buffer, do, initialised, one_lane, run
from tirx_mini.ir import Span
from tirx_mini.sim import Doubt, Ends, Late, Operation, Poll, RunningWarp, Signal
from tirx_mini.sim.ordering import Actor, Proxy

Kind = Literal["arrive", "wait", "sync", "read", "write", "expect", "load", "publish", "observe", "meet", "cluster"]
BYTES = 16


@dataclass(frozen=True)
class Step:
    """What a thread does next.

    arrive: at `target`. wait: for parity `value` of `target`. sync: at the named barrier of all threads of the
    protocol. read, write: of the variable `target`. expect: arrive and expect `value` loads at `target`. load: an
    asynchronous write of the variable `value`, which completes bytes at `target`.
    """

    kind: Kind
    target: int = 0
    value: int = 0


@dataclass(frozen=True)
class Protocol:
    """counts: the arrivals that each barrier expects. threads: the steps of each. delays: cycles before each step."""

    counts: tuple[int, ...]
    threads: tuple[tuple[Step, ...], ...]
    delays: tuple[tuple[int, ...], ...] = ()


# -- the model ---------------------------------------------------------------------------------------------------

Clock = tuple[int, ...]


def join(a: Clock, b: Clock) -> Clock:
    return tuple(map(max, a, b))


@dataclass(frozen=True)
class Barrier:
    expected: int
    pending: int
    tx: int
    phase: int
    current: Clock
    released: Clock


@dataclass(frozen=True)
class Flight:
    """A load that has not landed. name: the thread and the step that issued it."""

    name: tuple[int, int]
    target: int
    variable: int
    clock: Clock


@dataclass(frozen=True)
class State:
    """Where each thread stands, with what happened before. accesses: (variable, writes, agent, its time) of each."""

    at: tuple[int, ...]
    clocks: tuple[Clock, ...]
    barriers: tuple[Barrier, ...]
    flights: frozenset[Flight]
    accesses: frozenset[tuple[int, bool, int, int]]
    synced: frozenset[int] = frozenset()


class Wrong(Exception):
    """An order that hangs ("deadlock"), breaks a count ("count") or races ("race")."""


class Model:
    """Walks through all orders of a protocol."""

    def __init__(self, protocol: Protocol) -> None:
        self.protocol = protocol
        loads = [(t, s) for t, steps in enumerate(protocol.threads) for s, x in enumerate(steps) if x.kind == "load"]
        self.agents: Mapping[tuple[int, int], int] = {name: len(protocol.threads) + i for i, name in enumerate(loads)}
        self.width = len(protocol.threads) + len(loads)
        self.states = 0

    def verdict(self, limit: int = 3000) -> str | None:
        """"ok", or what is wrong in some order; None beyond so many states."""
        first = self.first()
        seen, todo = {first}, [first]
        try:
            while todo:
                state = todo.pop()
                for after in self.successors(state):
                    if after not in seen:
                        seen.add(after)
                        todo.append(after)
                if len(seen) > limit:
                    return None
        except Wrong as wrong:
            return str(wrong)
        return "ok"

    def first(self) -> State:
        """Where all threads begin."""
        zero: Clock = (0,) * self.width
        clocks = tuple(tuple(1 if i == t else 0 for i in range(self.width)) for t in range(len(self.protocol.threads)))
        barriers = tuple(Barrier(n, n, 0, 0, zero, zero) for n in self.protocol.counts)
        return State((0,) * len(clocks), clocks, barriers, frozenset(), frozenset())

    def successors(self, state: State) -> list[State]:
        found: list[State] = []
        done = True
        for thread, steps in enumerate(self.protocol.threads):
            if state.at[thread] < len(steps):
                done = False
                found += self.step(state, thread, steps[state.at[thread]])
        found += [self.land(state, flight) for flight in state.flights]
        if not found and not done:
            raise Wrong("deadlock")
        return found

    def step(self, state: State, thread: int, step: Step) -> list[State]:
        clock = state.clocks[thread]
        barrier = state.barriers[step.target] if step.kind in ("arrive", "expect", "wait") else None
        if step.kind == "wait":
            assert barrier is not None
            if barrier.phase & 1 == step.value & 1:
                return []
            return [self.moved(state, thread, join(clock, barrier.released))]
        if step.kind in ("arrive", "expect"):
            assert barrier is not None
            if step.kind == "expect":
                barrier = replace(barrier, tx=barrier.tx + BYTES * step.value)
            barrier = self.arrived(replace(barrier, current=join(barrier.current, clock)))
            return [self.moved(self.with_barrier(state, step.target, barrier), thread, self.advanced(clock, thread))]
        if step.kind == "sync":
            return self.sync(state, thread)
        if step.kind == "load":
            flight = Flight((thread, state.at[thread]), step.target, step.value, clock)
            state = replace(state, flights=state.flights | {flight})
            return [self.moved(state, thread, self.advanced(clock, thread))]
        return [self.moved(self.accessed(state, step.target, step.kind == "write", thread, clock), thread, clock)]

    def sync(self, state: State, thread: int) -> list[State]:
        if thread in state.synced:
            return []
        synced = state.synced | {thread}
        if len(synced) < len(self.protocol.threads):
            return [replace(state, synced=synced)]
        joined: Clock = (0,) * self.width
        for clock in state.clocks:
            joined = join(joined, clock)
        clocks = tuple(self.advanced(joined, t) for t in range(len(state.clocks)))
        return [replace(state, synced=frozenset(), clocks=clocks, at=tuple(place + 1 for place in state.at))]

    def land(self, state: State, flight: Flight) -> State:
        agent = self.agents[flight.name]
        clock = tuple(1 if i == agent else tick for i, tick in enumerate(flight.clock))
        state = self.accessed(state, flight.variable, True, agent, clock)
        # Whoever acquires the load follows what it wrote over, though no other access of its thread.
        hidden = {a for a in state.accesses if a[0] == flight.variable and a[2] != agent}
        state = replace(state, accesses=state.accesses - hidden)
        barrier = state.barriers[flight.target]
        own: Clock = tuple(1 if i == agent else 0 for i in range(self.width))
        barrier = replace(barrier, tx=barrier.tx - BYTES, current=join(barrier.current, own))
        state = self.with_barrier(state, flight.target, self.completed(barrier))
        return replace(state, flights=state.flights - {flight})

    def accessed(self, state: State, variable: int, writes: bool, agent: int, clock: Clock) -> State:
        for other, wrote, by, tick in state.accesses:
            if other == variable and by != agent and (writes or wrote) and clock[by] < tick:
                raise Wrong("race")
        return replace(state, accesses=state.accesses | {(variable, writes, agent, clock[agent])})

    @staticmethod
    def arrived(barrier: Barrier) -> Barrier:
        if not barrier.pending:
            raise Wrong("count")
        return Model.completed(replace(barrier, pending=barrier.pending - 1))

    @staticmethod
    def completed(barrier: Barrier) -> Barrier:
        if barrier.pending or barrier.tx:
            return barrier
        return replace(barrier, pending=barrier.expected, phase=barrier.phase + 1, released=barrier.current)

    @staticmethod
    def with_barrier(state: State, number: int, barrier: Barrier) -> State:
        barriers = tuple(barrier if i == number else b for i, b in enumerate(state.barriers))
        return replace(state, barriers=barriers)

    @staticmethod
    def moved(state: State, thread: int, clock: Clock) -> State:
        at = tuple(place + (t == thread) for t, place in enumerate(state.at))
        return replace(state, at=at, clocks=tuple(clock if t == thread else c for t, c in enumerate(state.clocks)))

    @staticmethod
    def advanced(clock: Clock, agent: int) -> Clock:
        return tuple(tick + (i == agent) for i, tick in enumerate(clock))


# -- the same on the simulated GPU ---------------------------------------------------------------------------------


def execute(
    protocol: Protocol, variables: int, mixed: Ends | None = None, late: Late | None = None
) -> Result:
    """One run of a protocol; thread t is lane 0 of warp t. mixed, late: as for a `Gpu`."""
    names = [f"bar{number}" for number in range(len(protocol.counts))]
    shared: dict[str, Any] = dict.fromkeys(names, ("uint64", 1))
    shared |= {f"var{number}": ("float32", 4, 4) for number in range(variables)}
    threads = len(protocol.threads)

    def program(w: RunningWarp) -> Any:
        for name, count in zip(names, protocol.counts, strict=True):
            yield from initialised(w, count, name)
        if w.warp_id == 0:
            one_lane(w)
            for number in range(variables):
                w.store(buffer(w, f"var{number}"), 0, 0.5)
            w.mask = w.all_lanes
        yield from block(w, "bar.sync.all", 0)
        one_lane(w)
        delays: Sequence[int] = protocol.delays[w.warp_id] if protocol.delays else ()
        for number, step in enumerate(protocol.threads[w.warp_id]):
            at(w, 10 * (w.warp_id + 1) + number)
            if number < len(delays) and delays[number]:
                w.gpu.wake(w, w.time + delays[number])
                yield Poll(w, w.time, w.span)
            yield from _perform(w, step, threads)

    return run(program, threads=32 * threads, shared=shared, mixed=mixed, late=late)


def _perform(w: RunningWarp, step: Step, threads: int) -> Any:
    name = f"bar{step.target}"
    if step.kind == "arrive":
        do(w, "mbarrier.arrive", address(w, name))
    elif step.kind == "wait":
        yield from block(w, "mbarrier.try_wait", address(w, name), step.value)
    elif step.kind == "expect":
        do(w, "mbarrier.arrive.expect_tx", address(w, name), BYTES * step.value)
    elif step.kind == "sync":
        w.mask = w.all_lanes
        yield from block(w, "bar.sync", 1, 32 * threads)
        one_lane(w)
    elif step.kind == "load":
        _load(w, step)
    elif step.kind == "write":
        w.store(buffer(w, f"var{step.target}"), 0, float(w.warp_id + 1))
    else:
        w.load(buffer(w, f"var{step.target}"), 0)


def _load(w: RunningWarp, step: Step) -> None:
    """An asynchronous write, without the proxy of a real one."""
    place = buffer(w, f"var{step.value}").byte_offset
    barrier = w.gpu.mbarrier(w, address(w, f"bar{step.target}"))
    agent = w.cta.cluster.causality.fork(w.agent, "load")
    span: Span | None = w.span
    actor = Actor(agent, w.cta.cluster.index, Proxy.GENERIC, Operation.TMA_LOAD, "load", span)

    def land() -> None:
        w.cta.smem.shadow.write(place, place + 4, actor)
        w.cta.smem.view(4)[place // 4] = 0xF000 + w.warp_id
        barrier.complete_tx(w.cta, agent, BYTES, w.gpu.clock.now, Signal.TMA_LOAD, "load", span)
        w.cta.cluster.causality.finish(agent)

    w.gpu.clock.at(w.time + 300, w, land)


class Execute(typing.Protocol):
    """Makes a run of a protocol. mixed, late: as for a `Gpu`."""

    def __call__(self, mixed: Ends | None = None, late: Late | None = None) -> Result: ...


def judged(execute: Execute) -> str:
    """The verdict of one run: "proved", "wrong", or "open" where another order may end otherwise."""
    result, mixed = execute(), None
    if _right(result) and result.outcome.mixed:
        mixed = result.outcome.mixed
        result = execute(mixed)
    doubts = list(result.outcome.open_orders or ())
    if _right(result) and result.outcome.tested:
        result = execute(mixed, Late.ALL)
        doubts += [one for one in result.outcome.open_orders or () if one.doubt is Doubt.VALUES]
    return ("open" if doubts else "proved") if _right(result) else "wrong"


def _right(result: Result) -> bool:
    stuck = result.outcome.blocked or result.seen.get("stuck", False)
    return not stuck and not any(finding.severity == "error" for finding in result.findings)
