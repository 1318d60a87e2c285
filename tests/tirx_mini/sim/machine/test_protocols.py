"""The proof of a run about all orders of its events agrees with a walk through all of them."""

from __future__ import annotations

import random

import pytest

from tests.tirx_mini.sim.machine.interleavings import Step
from tests.tirx_mini.sim.machine.protocols import Wide, WideModel, difference, protocol, said

WRITE, READ, MEET, SYNC, CLUSTER = Step("write"), Step("read"), Step("meet"), Step("sync"), Step("cluster")
PUBLISH, OBSERVE = Step("publish"), Step("observe", 0, 1)
ARRIVE, WAIT_OLD = Step("arrive"), Step("wait", 0, 1)
FOUR = ((0, 0, 3), (0, 1, 9), (1, 0, 1), (1, 1, 5))
THREE = ((0, 0, 3), (0, 1, 9), (0, 2, 1))
LANES, WARPS, CTAS = ((0, 0, 3), (0, 0, 9)), ((0, 0, 3), (0, 1, 9)), ((0, 0, 3), (1, 0, 9))

CASES: dict[str, tuple[Wide, str, str]] = {
    "lanes of a warp, apart": (Wide((1,), ((WRITE,), (READ,)), ((0,),) * 2, LANES), "race", "wrong"),
    "lanes of a warp that meet": (Wide((1,), ((WRITE, MEET), (MEET, READ)), ((0,) * 2,) * 2, LANES), "ok", "proved"),
    "warps at a barrier": (Wide((1,), ((WRITE, SYNC), (SYNC, READ)), ((0,) * 2,) * 2, WARPS), "ok", "proved"),
    "CTAs at their own barriers": (Wide((1,), ((WRITE, SYNC), (SYNC, READ)), ((0,) * 2,) * 2, CTAS), "race", "wrong"),
    "CTAs of a cluster": (Wide((1,), ((WRITE, CLUSTER), (CLUSTER, READ)), ((0,) * 2,) * 2, CTAS), "ok", "proved"),
    "a flag": (Wide((1,), ((WRITE, PUBLISH), (OBSERVE, READ)), ((0,) * 2,) * 2, CTAS), "ok", "proved"),
    "a flag that is set too early": (
        Wide((1,), ((PUBLISH, WRITE), (OBSERVE, READ)), ((0,) * 2,) * 2, CTAS), "race", "wrong",
    ),
    "a wait that only a later phase ends, as the next one may hide its own": (
        Wide((1,), ((WAIT_OLD, READ), (ARRIVE, ARRIVE)), ((0, 0), (0, 2000)), WARPS), "ok", "proved",
    ),
    "a wait whose phase another one hides for good": (
        Wide((1,), ((WAIT_OLD,), (ARRIVE,)), ((0,), (2000,)), WARPS), "deadlock", "wrong",
    ),
    "a wait that may miss three phases": (
        Wide((1,), ((WAIT_OLD,), (ARRIVE, ARRIVE, ARRIVE)), ((0,), (2000, 0, 2000)), WARPS), "deadlock", "wrong",
    ),
    "a wait that a later phase ends, which follows it": (
        Wide((1,), ((WAIT_OLD, ARRIVE), (ARRIVE,)), ((0, 4000), (2000,)), WARPS), "deadlock", "wrong",
    ),
    "a wait that a later phase ends, behind what it reads": (
        Wide((1,), ((WAIT_OLD, READ), (ARRIVE, WRITE, ARRIVE)), ((0, 0), (0, 0, 2000)), WARPS), "race", "wrong",
    ),
    "two late waits, each of which holds back the phase that ends the other": (
        Wide((1, 1), ((WAIT_OLD, Step("wait", 1), Step("arrive", 1)), (Step("wait", 1, 1), Step("wait"), ARRIVE),
                      (ARRIVE, Step("arrive", 1))), ((0,) * 3, (0,) * 3, (2000, 0)), THREE), "deadlock", "wrong",
    ),
    "two late waits, of which one comes before the phase that makes the other late": (
        Wide((1, 1), ((ARRIVE, Step("wait", 1, 1), ARRIVE), (WAIT_OLD, Step("arrive", 1), Step("arrive", 1))),
             ((2000, 0, 0), (0, 0, 0)), WARPS), "ok", "proved",
    ),
    "an own arrival that shows a phase complete, though another one may have made it": (
        Wide((1,), ((MEET, WRITE), (ARRIVE, WAIT_OLD, MEET), (READ, ARRIVE)), ((0, 0), (2000, 0, 0), (0, 0)),
             ((0, 0, 4), (0, 0, 14), (0, 1, 3))), "ok", "open",
    ),
    "a count of two that other additions may reach without the writer": (
        Wide((1,), ((WRITE, PUBLISH), (PUBLISH,), (PUBLISH,), (Step("observe", 0, 2), READ)),
             ((2000, 0), (0,), (0,), (4000, 0)), FOUR), "race", "wrong",
    ),
    "a count of two that only the writer's addition reached first": (
        Wide((1,), ((WRITE, PUBLISH), (PUBLISH,), (PUBLISH,), (Step("observe", 0, 2), READ)),
             ((0, 0), (1000,), (2000,), (4000, 0)), FOUR), "race", "open",
    ),
    "a count of three of three": (
        Wide((1,), ((WRITE, PUBLISH), (PUBLISH,), (PUBLISH,), (Step("observe", 0, 3), READ)),
             ((0, 0), (1000,), (2000,), (4000, 0)), FOUR), "ok", "proved",
    ),
    "a count of one, and a write behind it": (
        Wide((1,), ((PUBLISH, WRITE, PUBLISH), (OBSERVE, READ)), ((0,) * 3, (4000, 0)), CTAS), "race", "wrong",
    ),
    "a count of one, and an addition behind it": (
        Wide((1,), ((WRITE, PUBLISH, PUBLISH), (OBSERVE, READ)), ((0,) * 3, (4000, 0)), CTAS), "ok", "proved",
    ),
    "a flag that nobody sets": (Wide((1,), ((WRITE,), (OBSERVE, READ)), ((0,), (0, 0)), CTAS), "deadlock", "wrong"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_protocol_is_judged_for_all_orders(name: str) -> None:
    wide, verdict, words = CASES[name]
    assert WideModel(wide).verdict() == verdict
    assert said(wide) == words


def test_random_protocols_are_judged_as_by_a_walk_through_all_orders() -> None:
    for seed in range(400):
        wide = protocol(random.Random(seed))
        assert not difference(wide), (seed, wide)


def test_random_protocols_have_every_outcome() -> None:
    found = {(said(wide), WideModel(wide).verdict()) for wide in (protocol(random.Random(seed)) for seed in range(60))}
    assert {("proved", "ok"), ("wrong", "race"), ("wrong", "deadlock")} <= found
