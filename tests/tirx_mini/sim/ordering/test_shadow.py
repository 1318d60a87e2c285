"""The shadow finds a race where and only where two conflicting accesses are unordered."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from tirx_mini.ir import Span
from tirx_mini.sim.ordering import (
    AccessLog,
    Actor,
    Causality,
    Conflict,
    ConflictKind,
    Operation,
    Proxy,
    Segment,
    Shadow,
    distinct,
)

WARPS = 3

traces = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["read", "write"]), st.integers(0, WARPS - 1), st.integers(0, 7), st.integers(1, 8)),
        st.tuples(st.just("sync"), st.integers(0, WARPS - 1), st.integers(0, WARPS - 1), st.just(0)),
    ),
    max_size=40,
)


@given(traces, st.booleans())
def test_races_are_exactly_the_unordered_accesses(trace: list[tuple[str, int, int, int]], scattered: bool) -> None:
    """Against a list of all accesses to each byte and the order that the synchronisation gives."""
    causality = Causality()
    agents = [causality.agent(str(i)) for i in range(WARPS)]
    found: list[Conflict] = []
    segment = Segment(0, 16, 2, AccessLog(), found.append, initialised=True)
    history: list[tuple[int, int, bool, set[int]]] = []
    expected = False
    for number, (kind, who, start, length) in enumerate(trace):
        if kind == "sync":  # who releases, `start` acquires
            released = causality.sync_clock()
            released.release(agents[who])
            agents[start].acquire(released)
            continue
        granules = set(range(start, min(8, start + length)))
        writes = kind == "write"
        for agent, epoch, wrote, where in history:
            if granules & where and (writes or wrote) and not agents[who].happens_after(agent, epoch):
                expected = True
        history.append((agents[who].index, agents[who].epoch, writes, granules))
        operation = Operation.STORE if writes else Operation.LOAD
        actor = Actor(agents[who], 0, Proxy.GENERIC, operation, str(who), Span("kernel", number))
        select = np.array(sorted(granules)) if scattered else slice(min(granules), max(granules) + 1)
        (segment.write if writes else segment.read)(select, actor)
        assert bool(found) == expected, number


global_traces = st.lists(
    st.one_of(
        st.tuples(
            st.sampled_from(["read", "write", "reduce"]), st.integers(0, 3), st.integers(0, 3), st.integers(1, 4)
        ),
        st.tuples(st.just("sync"), st.integers(0, 3), st.integers(0, 3), st.just(0)),
    ),
    max_size=40,
)


@given(global_traces)
def test_races_in_global_memory_are_exactly_the_unordered_accesses(trace: list[tuple[str, int, int, int]]) -> None:
    """Readers and reductions of a granule are sets; agents 0 to 2 are of one cluster, agent 3 of another."""
    causality = Causality()
    agents = [causality.agent(str(i)) for i in range(4)]
    cluster = [0, 0, 0, 1]
    found: list[Conflict] = []
    segment = Segment(0, 16, 4, AccessLog(), found.append, initialised=True, shared=True)
    history: list[tuple[int, int, str, set[int]]] = []
    expected = False
    for number, (kind, who, start, length) in enumerate(trace):
        if kind == "sync":
            released = causality.sync_clock()
            released.release(agents[who])
            agents[start].acquire(released)
            continue
        granules = set(range(start, min(4, start + length)))
        for agent, epoch, did, where in history:
            ordered = cluster[agent] == cluster[who] and agents[who].happens_after(agent, epoch)
            if granules & where and {kind, did} not in ({"read"}, {"reduce"}) and not ordered:
                expected = True
        history.append((who, agents[who].epoch, kind, granules))
        actor = Actor(agents[who], cluster[who], Proxy.GENERIC, Operation.LOAD, str(who), Span("kernel", number))
        getattr(segment, kind)(slice(min(granules), max(granules) + 1), actor)
        assert bool(found) == expected, number
        if expected:
            return


def test_the_readers_of_a_granule_are_few_however_many_read_it() -> None:
    log = AccessLog()
    segment = Segment(0, 64, 16, log, lambda _: None, initialised=True, shared=True)
    for cluster in range(2000):
        segment.read(slice(0, 4), Actor(Causality().agent("warp"), cluster, Proxy.GENERIC, Operation.LOAD, "warp 0"))
    (number,) = distinct(segment.readers[-1])
    assert len(log.members(number)) == 2


@pytest.fixture
def causality() -> Causality:
    return Causality()


def actor(causality: Causality, proxy: Proxy = Proxy.GENERIC, operation: Operation = Operation.STORE) -> Actor:
    return Actor(causality.agent("agent"), 0, proxy, operation, "warp 0", Span("kernel", len(causality.agents)))


def test_a_conflict_has_its_extent_and_its_earlier_access(causality: Causality) -> None:
    found: list[Conflict] = []
    segment = Segment(1024, 2048, 16, AccessLog(), found.append)
    first, second = actor(causality), actor(causality, operation=Operation.LOAD)
    segment.write(segment.span(1024 + 64, 1024 + 128), first)
    segment.read(segment.span(1024 + 96, 1024 + 160), second)
    race, uninitialised = sorted(found, key=lambda c: c.kind.value)
    assert race.kind is ConflictKind.RACE and race.earlier is not None and race.earlier.span == first.span
    assert race.extent() == (1024 + 96, 1024 + 128)
    assert uninitialised.kind is ConflictKind.UNINITIALISED and uninitialised.extent() == (1024 + 128, 1024 + 160)


def test_a_proxy_is_crossed_only_through_a_fence(causality: Causality) -> None:
    kinds: list[ConflictKind] = []
    segment = Segment(0, 64, 16, AccessLog(), lambda c: kinds.append(c.kind))
    warp = causality.agent("warp")
    writer = Actor(warp, 0, Proxy.GENERIC, Operation.STORE, "warp 0")
    segment.write(slice(0, 2), writer)
    segment.read(slice(0, 2), Actor(causality.fork(warp, "copy"), 0, Proxy.ASYNC, Operation.TMA_STORE, "warp 0"))
    assert kinds == [ConflictKind.PROXY]
    warp.fence_proxy()
    segment.read(slice(0, 2), Actor(causality.fork(warp, "copy"), 0, Proxy.ASYNC, Operation.TMA_STORE, "warp 0"))
    assert kinds == [ConflictKind.PROXY]


def test_clusters_are_never_ordered(causality: Causality) -> None:
    kinds: list[ConflictKind] = []
    segment = Segment(0, 64, 16, AccessLog(), lambda c: kinds.append(c.kind), initialised=True, shared=True)
    one = actor(causality)
    segment.write(slice(0, 1), one)
    segment.write(slice(0, 1), one)
    assert not kinds
    other = actor(causality)
    other.agent, other.cluster = one.agent, 1
    segment.write(slice(0, 1), other)
    assert kinds == [ConflictKind.RACE]


def test_a_result_is_unread_until_all_of_it_is_read(causality: Causality) -> None:
    segment = Segment(0, 64, 16, AccessLog(), lambda _: None)
    mma = actor(causality, Proxy.ASYNC, Operation.TCGEN05_MMA)
    assert segment.unread(slice(0, 4), Operation.TCGEN05_MMA) is None
    segment.write(slice(0, 4), mma)
    lost = segment.unread(slice(0, 4), Operation.TCGEN05_MMA)
    assert lost is not None and lost.span == mma.span
    segment.read(slice(0, 3), actor(causality, operation=Operation.TCGEN05_LD))
    assert segment.unread(slice(0, 3), Operation.TCGEN05_MMA) is None
    assert segment.unread(slice(2, 4), Operation.TCGEN05_MMA) is lost
    segment.forget(slice(0, 4))
    assert segment.unread(slice(0, 4), Operation.TCGEN05_MMA) is None


@given(st.lists(st.integers(0, 30), max_size=60))
def test_distinct_has_each_number_once(numbers: list[int]) -> None:
    assert sorted(distinct(np.array(numbers, np.int32))) == sorted(set(numbers))


@given(st.lists(st.integers(0, 90), min_size=1, max_size=8), st.sampled_from([2, 4, 16]))
def test_scattered_items_touch_the_granules_they_overlap(starts: list[int], width: int) -> None:
    log = AccessLog()
    segments = [Segment(0, 32, 16, log, lambda _: None), Segment(40, 64, 4, log, lambda _: None),
                Segment(64, 128, 8, log, lambda _: None)]  # fmt: skip
    shadow = Shadow(segments)
    touched = {(s.start, int(g)) for s, granules in shadow.scattered(np.array(starts), width) for g in granules}
    expected = {
        (s.start, (byte - s.start) // s.granule)
        for start in starts for byte in range(start, start + width) for s in segments if s.start <= byte < s.stop
    }  # fmt: skip
    assert touched == expected


def test_pieces_cover_a_range_across_segments() -> None:
    log = AccessLog()
    shadow = Shadow([Segment(0, 32, 16, log, lambda _: None), Segment(32, 64, 4, log, lambda _: None)])
    assert [(s.start, where) for s, where in shadow.pieces(16, 40)] == [(0, slice(1, 2)), (32, slice(0, 2))]
    assert list(shadow.pieces(64, 80)) == []
    assert shadow.segment(63) is shadow.segments[1] and shadow.segment(64) is None
