"""The event clock: events happen in the order of their times, and a held event holds back its owner's later ones."""

from __future__ import annotations

import itertools
import random

from hypothesis import given
from hypothesis import strategies as st

from tirx_mini.sim.timing import Clock, HoldingClock


def test_events_happen_in_the_order_of_time() -> None:
    clock, seen = Clock(), []
    clock.at(3, None, seen.append, "third")
    clock.at(1, None, seen.append, "first")
    clock.at(1, None, seen.append, "second")
    clock.at(2, None, lambda: clock.at(1, None, seen.append, "late"))
    clock.run()
    assert seen == ["first", "second", "late", "third"] and clock.now == 3
    shuffled = set()
    for seed in range(10):
        clock, seen = Clock(random.Random(seed)), []
        for name in "abc":
            clock.at(0, None, seen.append, name)
        clock.run()
        shuffled.add("".join(seen))
    assert len(shuffled) > 1


Posted = list[tuple[int, "Posted"]]
"""What an event posts: after how long each, and what that posts."""
POSTED = st.recursive(
    st.just([]), lambda inner: st.lists(st.tuples(st.integers(-1, 2), inner), max_size=4), max_leaves=30
)


@given(st.lists(st.tuples(st.integers(0, 3), POSTED), max_size=6))
def test_events_at_one_time_happen_in_the_order_in_which_they_were_posted(first: Posted) -> None:
    def happen(clock: Clock) -> list[tuple[float, int]]:
        seen: list[tuple[float, int]] = []
        number = itertools.count()

        def post(posted: Posted) -> None:
            for delay, then in posted:
                clock.at(clock.now + delay, None, run, next(number), then)

        def run(which: int, then: Posted) -> None:
            seen.append((clock.now, which))
            post(then)

        post(first)
        clock.run()
        return seen

    in_heap = HoldingClock()  # keeps all in one heap
    assert happen(Clock()) == happen(in_heap)


def test_a_cleared_clock_does_nothing() -> None:
    clock, seen = Clock(), []
    clock.at(0.0, None, seen.append, "now")
    clock.at(1.0, None, seen.append, "later")
    clock.clear()
    clock.run()
    assert not seen


class Engine:
    """An owner of events. delays: how often one of them was held back."""

    cluster_index = 0
    event = "an engine"

    def __init__(self) -> None:
        self.delays = 0

    def delay(self, now: float) -> None:
        self.delays += 1


def test_events_of_one_owner_wait_behind_one_that_is_held() -> None:
    def happen(clock: Clock) -> tuple[list[int], list[int]]:
        seen: list[int] = []
        engines = [Engine(), Engine()]
        for time in range(6):
            clock.at(float(time), engines[time % 2], seen.append, time)
        clock.at(6.0, None, seen.append, 6)
        clock.run()
        return seen, [engine.delays for engine in engines]

    in_order = ([0, 1, 2, 3, 4, 5, 6], [0, 0])
    assert happen(HoldingClock()) == happen(Clock()) == in_order
    assert happen(HoldingClock([0])) == ([1, 3, 5, 6, 0, 2, 4], [3, 0])
    assert happen(HoldingClock([3])) == ([0, 1, 2, 4, 6, 3, 5], [0, 2])
