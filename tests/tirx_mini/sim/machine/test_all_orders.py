"""What a run says of all orders of its events is what a walk through all of them shows."""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tirx_mini.sim.machine.interleavings import Kind, Model, Protocol, Step, execute, judged

VARIABLES = 2



def one(kind: Kind, most: int = 1, value: int = 0) -> st.SearchStrategy[tuple[Step, ...]]:
    return st.tuples(st.builds(Step, st.just(kind), st.integers(0, most), st.integers(0, value)))


def loading(target: int, variable: int) -> tuple[Step, ...]:
    return Step("expect", target, 1), Step("load", target, variable)


steps = st.one_of(
    one("arrive"),
    one("wait", value=1),
    one("wait", value=1),
    st.builds(loading, st.integers(0, 1), st.integers(0, VARIABLES - 1)),
    one("read", VARIABLES - 1),
    one("write", VARIABLES - 1),
    one("expect", value=1),
    one("load", value=VARIABLES - 1),
)
"""Mostly what kernels do, and what breaks the count of bytes."""


@st.composite
def protocols(draw: st.DrawFn) -> Protocol:
    """Two or three threads with a few steps each, and two barriers."""
    count = draw(st.integers(2, 3))
    threads = tuple(sum(draw(st.lists(steps, max_size=4)), ()) for _ in range(count))
    if draw(st.booleans()):  # a barrier of all threads, somewhere in each
        threads = tuple((*t[: len(t) // 2], Step("sync"), *t[len(t) // 2 :]) for t in threads)
    counts = tuple(draw(st.lists(st.integers(1, 2), min_size=2, max_size=2)))
    delays = tuple(tuple(draw(st.sampled_from((0, 0, 50, 400, 2000))) for _ in t) for t in threads)
    return Protocol(counts, threads, delays)


def said(protocol: Protocol) -> str:
    """The verdict of one run: "proved", "wrong", or "open" where another order may end otherwise."""
    return judged(partial(execute, protocol, VARIABLES))


@given(protocols())
@settings(max_examples=400, deadline=None)
def test_what_one_run_proves_holds_in_every_order(protocol: Protocol) -> None:
    if said(protocol) == "proved":
        assert Model(protocol).verdict() in ("ok", None), protocol


def arrive(target: int) -> Step:
    return Step("arrive", target)


def wait(target: int, parity: int) -> Step:
    return Step("wait", target, parity)


WRITE, READ = Step("write"), Step("read")

CASES: dict[str, tuple[Protocol, str, str]] = {
    "a ring of two threads": (
        Protocol((1, 1), ((wait(1, 1), WRITE, arrive(0)) * 1 + (wait(1, 0), WRITE, arrive(0)),
                          (wait(0, 0), READ, arrive(1), wait(0, 1), READ, arrive(1)))),
        "ok", "proved",
    ),
    "two threads wait for each other": (
        Protocol((1, 1), ((wait(0, 0), arrive(1)), (wait(1, 0), arrive(0)))), "deadlock", "wrong",
    ),
    "one of two rounds may hide the other from a slow waiter": (
        Protocol((1, 1), ((arrive(0), arrive(0)), (wait(0, 0), READ)), ((0, 2000), (0, 0))), "deadlock", "wrong",
    ),
    "a producer that does not wait for the consumer, which this run shows in time": (
        Protocol((1, 1), ((arrive(0), arrive(0)), (wait(0, 0), wait(0, 1))), ((0, 4000), (0, 0))),
        "deadlock", "wrong",
    ),
    "two producers of one barrier, of which either may come first": (
        Protocol((1, 1), ((WRITE, arrive(0)), (arrive(0),), (wait(0, 0), READ, arrive(1))),
                 ((0, 0), (0,), (0, 0, 0))),
        "race", "wrong",
    ),
    "one of two producers runs ahead and takes the place of the other": (
        Protocol((2, 1), ((arrive(0), arrive(0)), (WRITE, arrive(0), wait(1, 0), arrive(0)),
                          (wait(0, 0), READ, arrive(1))), ((0, 4000), (0,) * 4, (0,) * 3)),
        "race", "wrong",
    ),
    "signals that nobody waits for": (Protocol((1, 1), ((arrive(0),), (arrive(0), WRITE))), "ok", "open"),
    "two producers of one phase": (
        Protocol((2, 1), ((WRITE, arrive(0)), (arrive(0),), (wait(0, 0), READ, arrive(1)))), "ok", "proved",
    ),
    "a late wait for the parity of the first phase": (
        Protocol((1, 1), ((arrive(0), arrive(0), WRITE, arrive(0)), (wait(0, 0), READ)), ((0,) * 4, (4000, 0))),
        "race", "wrong",
    ),
    "a wait that a fresh barrier lets through": (
        Protocol((1, 1), ((WRITE, arrive(0), arrive(0)), (wait(0, 1), READ)), ((0,) * 3, (4000, 0))), "race", "wrong",
    ),
    "bytes that land before they are expected": (
        Protocol((1, 1), ((Step("load", 0), Step("expect", 0, 1)), (wait(0, 0), READ)), ((0, 2000), (0, 0))),
        "ok", "proved",
    ),
    "a second round that does not wait for the bytes of the first": (
        Protocol((1, 1), ((Step("expect", 0, 1), Step("load", 0), Step("expect", 0, 1), Step("load", 0)),
                          (wait(0, 0), wait(0, 1))), ((0, 0, 2000, 0), (0, 0))),
        "count", "wrong",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_an_adversarial_protocol_is_judged_for_all_orders(name: str) -> None:
    protocol, verdict, words = CASES[name]
    assert Model(protocol).verdict() == verdict
    assert said(protocol) == words
