"""Vector clocks say what a graph of happens-before says."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from tirx_mini.sim.ordering import ORDER, PROXY, ROWS, Causality, PagedCausality

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


kinds = st.one_of(st.integers(4, 9).map(Causality), st.builds(PagedCausality))
"""Clocks that grow, and clocks in pages."""


@given(steps, kinds)
def test_a_clock_holds_exactly_the_acts_that_happen_before(
    trace: list[tuple[str, int, int]], causality: Causality
) -> None:
    """A clock holds exactly the acts from which a path of program order and barriers leads here."""
    agents = [causality.agent(f"warp {i}") for i in range(WARPS)]
    barriers = [causality.sync_clock() for _ in range(BARRIERS)]
    before: list[set[tuple[int, bool]]] = [set() for _ in range(WARPS)]  # (act, whether through a fence)
    published: list[set[tuple[int, bool]]] = [set() for _ in range(BARRIERS)]
    acts: list[tuple[int, int]] = []
    for number, (kind, warp, barrier) in enumerate(trace):
        agent = agents[warp]
        if kind == "act":
            for act, (owner, epoch) in enumerate(acts):
                assert agent.happens_after(owner, epoch) == ((act, False) in before[warp]), number
                fenced = agent.clocks.item(PROXY, owner) >= epoch
                assert fenced == ((act, True) in before[warp]), number
            before[warp].add((len(acts), False))
            acts.append((agent.index, agent.epoch))
        elif kind == "release":
            barriers[barrier].release(agent)
            published[barrier] |= before[warp]
        elif kind == "acquire":
            agent.acquire(barriers[barrier])
            before[warp] |= published[barrier]
        else:
            agent.fence_proxy()
            before[warp] |= {(act, True) for act, _ in before[warp]}


@pytest.mark.parametrize("kind", [Causality, PagedCausality])
def test_a_forked_agent_is_ordered_after_its_issuers_past_only(kind: type[Causality]) -> None:
    causality = kind()
    warp = causality.agent("warp")
    first = warp.epoch
    copy = causality.fork(warp, "copy")
    assert copy.happens_after(warp.index, first)
    assert not copy.happens_after(warp.index, warp.epoch)
    assert not warp.happens_after(copy.index, copy.epoch)


@pytest.mark.parametrize("kind", [Causality, PagedCausality])
def test_an_agent_is_reused_only_where_its_end_happened_before(kind: type[Causality]) -> None:
    causality = kind()
    warp, other = causality.agent("warp"), causality.agent("other")
    done = causality.fork(warp, "first")
    epoch = done.epoch
    causality.finish(done)
    unknown = causality.fork(warp, "second")
    assert unknown is not done
    warp.acquire_epoch(done.index, epoch)
    again = causality.fork(warp, "third")
    assert again is done and again.epoch > epoch
    assert not other.happens_after(again.index, epoch)


def test_growing_clocks_keep_their_entries() -> None:
    causality = Causality(2)
    a, b = causality.agent("a"), causality.agent("b")
    barrier = causality.sync_clock()
    epoch = a.epoch
    barrier.release(a)
    old = a.snapshot()
    b.acquire(barrier)
    more = [causality.agent(str(i)) for i in range(20)]
    assert causality.capacity >= 22
    assert all(agent.clocks.shape == (ROWS, causality.capacity) for agent in (a, b, *more))
    assert b.happens_after(a.index, epoch) and not more[0].happens_after(a.index, epoch)
    assert not old.happens_after(more[-1].index, 1)
    more[0].acquire(barrier)
    assert more[0].happens_after(a.index, epoch)


def test_a_snapshot_does_not_change() -> None:
    causality = Causality()
    a, b = causality.agent("a"), causality.agent("b")
    epoch = b.epoch
    before = a.snapshot()
    a.acquire_from(b)
    assert a.happens_after(b.index, epoch) and not before.happens_after(b.index, epoch)
    assert np.array_equal(before.clocks[ORDER] > 0, np.arange(causality.capacity) == a.index)
