"""Sharing in turns: a resource that all who want some get as much of as the others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tirx_mini.sim.timing import Clock, FairShare, Flow

Request = tuple[float, int, float]
"""(when, by which flow, how much)"""


def ends_of(requests: list[Request], rate: float, most: float) -> list[float]:
    """When each of the requests is done."""
    clock = Clock()
    share = FairShare(clock, rate, most)
    flows = {number: Flow() for _, number, _ in requests}
    ends = [-1.0] * len(requests)

    def make(index: int, number: int, amount: float) -> None:
        share.serve(flows[number], amount, lambda took: ends.__setitem__(index, clock.now))

    for index, (time, number, amount) in enumerate(requests):
        clock.at(time, None, make, index, number, amount)
    clock.run()
    assert share.flows == 0
    return ends


def by_small_steps(requests: list[Request], rate: float, most: float) -> list[float]:
    """The same, by the definition: from one change to the next, each flow's first request gets its share."""
    left = [amount for _, _, amount in requests]
    order = sorted(range(len(requests)), key=lambda i: requests[i][0])
    ends, now = [-1.0] * len(requests), 0.0
    while min(ends) < 0:
        come = [i for i in order if requests[i][0] <= now + 1e-9 and ends[i] < 0]
        first = {requests[i][1]: i for i in reversed(come)}
        coming = [requests[i][0] - now for i in order if requests[i][0] > now + 1e-9]
        share = min(most, rate / len(first)) if first else 0.0
        step = min([left[i] / share for i in first.values()] + coming)
        now += step
        for i in first.values():
            left[i] -= share * step
            if left[i] <= 1e-6:
                ends[i] = now
    return ends


def test_a_single_flow_gets_at_most_its_own_rate() -> None:
    assert ends_of([(0, 0, 100)], rate=10, most=4) == [25]


def test_flows_share_the_rate_equally() -> None:
    assert ends_of([(0, 0, 100), (0, 1, 100)], rate=10, most=10) == [20, 20]
    assert ends_of([(0, 0, 100), (0, 1, 50)], rate=10, most=10) == [15, 10]


def test_a_later_flow_slows_down_the_earlier_ones() -> None:
    assert ends_of([(0, 0, 100), (5, 1, 25)], rate=10, most=10) == [12.5, 10]


def test_a_flow_is_served_in_order() -> None:
    assert ends_of([(0, 0, 40), (0, 0, 10), (0, 1, 40)], rate=10, most=10) == [8, 9, 8]


def test_the_callback_gets_the_duration_of_its_request() -> None:
    clock, took = Clock(), []
    share, flow = FairShare(clock, 10, 10), Flow()
    share.serve(flow, 30, took.append)
    share.serve(flow, 20, took.append)
    clock.run()
    assert took == [3, 2]


def test_an_empty_request_takes_no_time() -> None:
    assert ends_of([(3, 0, 0), (3, 0, 20)], rate=10, most=10) == [3, 5]


requests = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3), st.integers(1, 60)), min_size=1, max_size=14)


@given(requests, st.integers(1, 12), st.integers(1, 12))
def test_shares_follow_the_definition(requests: list[Request], rate: int, most: int) -> None:
    assert ends_of(requests, rate, most) == pytest.approx(by_small_steps(requests, rate, most))


@given(requests, st.integers(1, 12), st.integers(1, 12), st.integers(0, 13), st.integers(1, 50))
def test_a_larger_request_speeds_up_none(requests: list[Request], rate: int, most: int, index: int, more: int) -> None:
    time, number, amount = requests[index % len(requests)]
    longer = [*requests]
    longer[index % len(requests)] = (time, number, amount + more)
    before, after = ends_of(requests, rate, most), ends_of(longer, rate, most)
    assert all(b <= a + 1e-6 for b, a in zip(before, after, strict=True))
