"""Clocks in pages say what arrays say, and share what is equal in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import hypothesis.strategies as st
from hypothesis import given, settings

from tirx_mini.sim.ordering import ROWS, Agent, Causality, PagedCausality, SyncClock, causality, common, pages

FAR = (0, 1, 63, 64, 65, 2047, 2048, 2049, 5000)
"""Agents of one leaf, of one page, and of different ones."""

Act = Callable[[list[Agent], list[SyncClock], int, int], object]

ACTS: dict[str, Act] = {
    "advance": lambda a, c, i, j: a[i].advance(),
    "release": lambda a, c, i, j: c[j % 2].release(a[i]),
    "release an epoch": lambda a, c, i, j: c[j % 2].release_epoch(a[i].index, a[i].epoch),
    "release the past": lambda a, c, i, j: c[j % 2].release_past(a[i]),
    "release what is in order": lambda a, c, i, j: c[j % 2].release_synced(a[i]),
    "acquire": lambda a, c, i, j: a[i].acquire(c[j % 2]),
    "acquire what may be older": lambda a, c, i, j: a[i].acquire_older(c[j % 2].clocks.copy()),
    "acquire from another": lambda a, c, i, j: a[i].acquire_from(a[j]),
    "acquire an epoch": lambda a, c, i, j: a[i].acquire_epoch(a[j].index, a[j].epoch),
    "acquire the past": lambda a, c, i, j: a[i].acquire_past(a[j].clocks),
    "follow": lambda a, c, i, j: a[i].executed(a[j].index, a[j].epoch),
    "keep": lambda a, c, i, j: a[i].keep([0, 2], a[j].index, [1, 2]) if i != j else None,
    "observe": lambda a, c, i, j: a[i].observe(a[j].clocks),
    "fence": lambda a, c, i, j: a[i].fence_gpu(bool(j & 1), bool(j & 2)),
    "fence a proxy": lambda a, c, i, j: a[i].fence_proxy(),
    "fence before": lambda a, c, i, j: a[i].fence_tcgen05_before(),
    "fence after": lambda a, c, i, j: a[i].fence_tcgen05(),
    "merge fences": lambda a, c, i, j: a[i].merge_fenced(a[j].fenced) if a[j].fenced is not None else None,
    "copy": lambda a, c, i, j: c[0].copy_from(c[1]),
    "clear": lambda a, c, i, j: c[j % 2].clear(),
}


def shown(clocks: Any) -> list[list[int]]:
    return [[clocks.item(row, agent) for agent in range(5)] for row in range(ROWS)]


@given(st.lists(st.tuples(st.sampled_from(sorted(ACTS)), st.integers(0, 3), st.integers(0, 3)), max_size=40))
@settings(deadline=None)
def test_clocks_in_pages_hold_what_arrays_hold(trace: list[tuple[str, int, int]]) -> None:
    worlds = [(made, [made.agent(str(i)) for i in range(4)], [made.sync_clock() for _ in range(2)])
              for made in (Causality(8), PagedCausality())]  # fmt: skip
    for name, i, j in trace:
        for _, agents, clocks in worlds:
            ACTS[name](agents, clocks, i, j)
        (_, dense, arrays), (_, paged, shared) = worlds
        for one, other in (*zip(dense, paged, strict=True), *zip(arrays, shared, strict=True)):
            assert shown(one.clocks) == shown(other.clocks), name
    for one, other in zip(dense, paged, strict=True) if trace else ():
        assert shown(one.fenced_clocks()) == shown(other.fenced_clocks())
        assert one.has_fenced == other.has_fenced
        assert [one.known.item(i) for i in range(5)] == [other.known.item(i) for i in range(5)]
        assert (one.fenced is None) == (other.fenced is None)
        snapshot = other.snapshot(other.fenced)
        assert [snapshot.known.item(i) for i in range(5)] == [one.known.item(i) for i in range(5)]
    if trace:
        assert shown(common([a.clocks for a in dense])) == shown(common([a.clocks for a in paged]))
        for one, other in zip(dense[0].joined(dense[1:]), paged[0].joined(paged[1:]), strict=True):
            assert [one.item(i) for i in range(5)] == [other.item(i) for i in range(5)]


rows = st.dictionaries(st.sampled_from(FAR), st.integers(1, 3))


@given(rows, rows)
def test_rows_of_pages_are_joined_and_compared_agent_by_agent(left: dict[int, int], right: dict[int, int]) -> None:
    a = b = pages.NOTHING
    for agent, epoch in left.items():
        a = pages.replaced(a, agent, epoch)
    for agent, epoch in right.items():
        b = pages.replaced(b, agent, epoch)
    both, either, one = (pages.PagedClocks([row]) for row in (pages.join(a, b), pages.meet(a, b), a))
    for agent in (*FAR, 10**6):
        mine, theirs = left.get(agent, 0), right.get(agent, 0)
        assert one.item(0, agent) == mine
        assert both.item(0, agent) == max(mine, theirs)
        assert either.item(0, agent) == min(mine, theirs)
    assert pages.holds(a, b) == all(left.get(agent, 0) >= epoch for agent, epoch in right.items())
    joined = pages.join(a, b)
    assert pages.join(joined, b) is joined and pages.join(joined, a) is joined


def leaves(clocks: pages.PagedClocks) -> set[int]:
    return {id(leaf) for root in clocks.rows for page in root if page for leaf in page if leaf is not None}


def test_agents_that_take_turns_share_what_they_know() -> None:
    """The pages of all clocks together grow with the agents, not with their square."""
    made, count = PagedCausality(), 1000
    agents = [made.agent(str(number)) for number in range(count)]
    turn = made.sync_clock()
    for agent in agents:
        agent.acquire(turn)
        agent.fence_gpu(True, True)
        turn.release(agent)
    assert len(set().union(*(leaves(agent.clocks) for agent in agents))) < 5 * count
    assert agents[-1].happens_after(0, 1) and not agents[0].happens_after(agents[-1].index, 1)


def test_agents_that_meet_share_what_they_know() -> None:
    made, count = PagedCausality(), 1000
    agents = [made.agent(str(number)) for number in range(count)]
    for _ in range(3):
        barrier = made.sync_clock()
        for agent in agents:
            barrier.release(agent)
        for agent in agents:
            agent.acquire(barrier)
    assert len(set().union(*(leaves(agent.clocks) for agent in agents))) < 3 * count


def test_few_warps_have_arrays_and_many_have_pages() -> None:
    assert not isinstance(causality(64), PagedCausality)
    assert isinstance(causality(8000), PagedCausality)
