"""A bandwidth: requests in any order take their time, and together exactly as long as their bytes need."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from tirx_mini.sim.timing import WINDOW, Bandwidth


@given(st.lists(st.tuples(st.floats(0, 5000), st.integers(1, 4000)), min_size=1, max_size=40))
def test_bandwidth_is_never_exceeded_nor_wasted(requests: list[tuple[float, int]]) -> None:
    """In whatever order requests are made, each takes its time, and all together no less than their bytes need."""
    server = Bandwidth(4.0)
    ends = [server.take(time, nbytes) for time, nbytes in requests]
    for (time, nbytes), end in zip(requests, ends, strict=True):
        assert end >= time + nbytes / 4 - 1e-6
    first, total = min(time for time, _ in requests), sum(nbytes for _, nbytes in requests)
    assert max(ends) >= first - WINDOW + total / 4 - 1e-6
    last = max(time for time, _ in requests)
    assert max(ends) <= last + WINDOW + total / 4 + 1e-6


def test_an_early_request_is_not_held_up_by_a_late_one_made_before() -> None:
    server = Bandwidth(10.0)
    server.take(10_000, 5000)
    assert server.take(0, 100) == pytest.approx(10)


def test_windows_that_have_passed_are_forgotten() -> None:
    server = Bandwidth(1.0)
    for turn in range(3000):
        server.take(turn * WINDOW, WINDOW / 2, now=turn * WINDOW)
    assert len(server._used) < 3000
