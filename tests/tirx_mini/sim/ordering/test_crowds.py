"""Sets of very many accesses give the answers that their members give one by one."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import hypothesis.strategies as st
from hypothesis import given, settings

from tirx_mini.ir import Span
from tirx_mini.sim.ordering import (
    AccessLog,
    Actor,
    Conflict,
    Operation,
    PagedCausality,
    Proxy,
    Release,
    Segment,
    Strong,
    crowds,
    log,
)  # fmt: skip

AGENTS = 5


@dataclass(frozen=True)
class Act:
    """The action of an agent. kind: "read", "write", "load", "store", "add", "look", "release", "acquire", "part"."""

    kind: str
    agent: int
    scope: str
    width: int
    looks: bool


acts = st.builds(
    Act,
    st.sampled_from(("read", "write", "load", "store", "add", "add", "add", "look", "turn")),
    st.integers(0, AGENTS - 1),
    st.sampled_from(("gpu", "gpu", "sys", "cta")),
    st.sampled_from((4, 4, 8)),
    st.booleans(),
)


def conflicts(trace: list[Act], large: int) -> tuple[list[tuple[Any, ...]], list[list[int]]]:
    """Each conflict of a trace, and what each agent knows at its end, with crowds from so many members on."""
    found: list[tuple[Any, ...]] = []

    def complain(conflict: Conflict) -> None:
        assert conflict.earlier is not None
        found.append((conflict.kind, conflict.actor.span, conflict.earlier.span))

    causality = PagedCausality()
    agents = [causality.agent(str(number)) for number in range(AGENTS)]
    for agent in agents[:-1]:
        agent.warp = agent.index // 2  # two parts of each warp
    turn = causality.sync_clock()
    with patch.object(crowds, "LARGE", large), patch.object(log, "LARGE", large):
        segment = Segment(0, 8, 4, AccessLog(), complain, initialised=True, shared=True)
        for number, act in enumerate(trace):
            agent = agents[act.agent]
            operation = {"read": Operation.LOAD, "load": Operation.LOAD, "write": Operation.STORE,
                         "store": Operation.STORE}.get(act.kind, Operation.ATOMIC)  # fmt: skip
            actor = Actor(agent, 0, Proxy.GENERIC, operation, "", Span("", number + 1, 0, number + 1, 1))
            actor.decides, place = act.looks, (0, act.agent // 2)
            strong = Strong(act.scope, place, act.width)
            where = slice(0, 1)
            if act.kind == "turn":
                agent.acquire(turn)
                turn.release(agent)
            elif act.kind == "read":
                segment.read(where, actor)
            elif act.kind == "write":
                segment.write(where, actor)
            else:
                actor.strong = strong
                clock = causality.transient_clock()
                if act.kind == "load":
                    for _, releases in segment.strong_read(where, actor):
                        for release in crowds.apart(releases, act.scope):
                            agent.acquire_older(release.clocks)
                    continue
                taken: list[int] = []
                if act.kind != "store":
                    for member, releases in segment.observed(where, actor):
                        if act.kind == "look":
                            for release in crowds.apart(releases, act.scope):
                                agent.acquire_older(release.clocks)
                            taken.append(member)
                clock.release(agent)
                released = Release(clock.clocks, act.scope, place)
                segment.strong_write(where, actor, (released,), act.kind != "store", taken)
    return found, [[agent.clocks.item(row, k) for row in range(2) for k in range(AGENTS)] for agent in agents]


@given(st.lists(acts, max_size=30))
@settings(deadline=None, max_examples=300)
def test_a_crowd_finds_the_conflicts_that_its_members_find(trace: list[Act]) -> None:
    few, known = conflicts(trace, 1000)
    many, same = conflicts(trace, 2)
    assert set(many) == set(few)
    assert same == known


def test_sets_of_very_many_share_their_parts() -> None:
    made = AccessLog()
    causality = PagedCausality()
    numbers, number = [], 0
    for index in range(1000):
        actor = Actor(causality.agent(str(index)), 0, Proxy.GENERIC, Operation.ATOMIC, "")
        actor.strong = Strong("gpu", (0, 0), 4)
        number = made.add(number, made.strong_number(actor, True))
        numbers.append(number)
    assert list(made.members(number)) == list(range(1, 1001))
    sets = [made.members(each) for each in numbers[200:]]
    parts = {id(part) for each in sets if isinstance(each, crowds.Crowd) for part in each.parts}
    assert len(parts) < 80
    assert all(len(list(a)) + 1 == len(list(b)) for a, b in pairwise(sets))
