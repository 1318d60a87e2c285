"""Vector clocks say what a graph of happens-before says."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
from hypothesis import given

from tirx_mini.sim.causality import ORDER, PROXY, ROWS, Causality

WARPS, BARRIERS = 4, 3

steps = st.lists(
    st.one_of(
        st.tuples(st.just("act"), st.integers(0, WARPS - 1), st.just(0)),
        st.tuples(st.just("release"), st.integers(0, WARPS - 1), st.integers(0, BARRIERS - 1)),
        st.tuples(st.just("acquire"), st.integers(0, WARPS - 1), st.integers(0, BARRIERS - 1)),
        st.tuples(st.just("fence"), st.integers(0, WARPS - 1), st.just(0)),
    ),
    max_size=60,
)


@given(steps, st.integers(4, 9))
def test_knowledge_is_reachability(trace: list[tuple[str, int, int]], capacity: int) -> None:
    """`known` holds exactly the acts from which a path of program order and barriers leads here."""
    causality = Causality(capacity)
    agents = [causality.agent(f"warp {i}") for i in range(WARPS)]
    barriers = [causality.knowledge() for _ in range(BARRIERS)]
    before: list[set[tuple[int, bool]]] = [set() for _ in range(WARPS)]  # (act, whether through a fence)
    published: list[set[tuple[int, bool]]] = [set() for _ in range(BARRIERS)]
    acts: list[tuple[int, int]] = []
    for number, (kind, warp, barrier) in enumerate(trace):
        agent = agents[warp]
        if kind == "act":
            for act, (owner, epoch) in enumerate(acts):
                assert agent.knows(owner, epoch) == ((act, False) in before[warp]), number
                fenced = agent.known.item(PROXY, owner) >= epoch
                assert fenced == ((act, True) in before[warp]), number
            before[warp].add((len(acts), False))
            acts.append((agent.index, agent.epoch))
        elif kind == "release":
            barriers[barrier].add(agent)
            published[barrier] |= before[warp]
        elif kind == "acquire":
            agent.learn(barriers[barrier])
            before[warp] |= published[barrier]
        else:
            agent.fence_proxy()
            before[warp] |= {(act, True) for act, _ in before[warp]}


def test_a_fence_of_some_lanes_does_not_cover_what_others_wrote() -> None:
    causality = Causality()
    writer, reader = causality.agent("writer"), causality.agent("reader")
    epoch = writer.epoch
    writer.fence_proxy(own=False)
    barrier = causality.knowledge()
    barrier.add(writer)
    reader.learn(barrier)
    assert reader.knows(writer.index, epoch)
    assert reader.known.item(PROXY, writer.index) < epoch


def test_a_forked_agent_knows_what_its_issuer_did_and_nothing_later() -> None:
    causality = Causality()
    warp = causality.agent("warp")
    first = warp.epoch
    copy = causality.fork(warp, "copy")
    assert copy.knows(warp.index, first)
    assert not copy.knows(warp.index, warp.epoch)
    assert not warp.knows(copy.index, copy.epoch)


def test_agents_are_used_again_only_where_their_end_is_known() -> None:
    causality = Causality()
    warp, other = causality.agent("warp"), causality.agent("other")
    done = causality.fork(warp, "first")
    epoch = done.epoch
    causality.finish(done)
    unknown = causality.fork(warp, "second")
    assert unknown is not done
    warp.learn_epoch(done.index, epoch)
    again = causality.fork(warp, "third")
    assert again is done and again.epoch > epoch
    assert not other.knows(again.index, epoch)


def test_clocks_grow_with_all_they_hold() -> None:
    causality = Causality(2)
    a, b = causality.agent("a"), causality.agent("b")
    barrier = causality.knowledge()
    epoch = a.epoch
    barrier.add(a)
    old = a.snapshot()
    b.learn(barrier)
    more = [causality.agent(str(i)) for i in range(20)]
    assert causality.capacity >= 22
    assert all(agent.known.shape == (ROWS, causality.capacity) for agent in (a, b, *more))
    assert b.knows(a.index, epoch) and not more[0].knows(a.index, epoch)
    assert not old.knows(more[-1].index, 1)
    more[0].learn(barrier)
    assert more[0].knows(a.index, epoch)


def test_a_snapshot_stays_as_it_was() -> None:
    causality = Causality()
    a, b = causality.agent("a"), causality.agent("b")
    epoch = b.epoch
    before = a.snapshot()
    a.learn_from(b)
    assert a.knows(b.index, epoch) and not before.knows(b.index, epoch)
    assert np.array_equal(before.known[ORDER] > 0, np.arange(causality.capacity) == a.index)
