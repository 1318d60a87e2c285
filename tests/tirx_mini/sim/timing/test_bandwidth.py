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


class Forgetful:
    """A bandwidth that drops the windows that have passed at every request."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.used: dict[int, float] = {}

    def take(self, time: float, nbytes: float, now: float) -> float:
        self.used = {window: used for window, used in self.used.items() if window >= now // WINDOW}
        window, left, capacity = int(time // WINDOW), nbytes, self.rate * WINDOW
        while True:
            filled = self.used.get(window, 0.0)
            if filled < capacity:
                if filled + left < capacity:
                    break
                left = filled + left - capacity
                self.used[window] = capacity
            window += 1
        self.used[window] = filled + left
        return max(time + nbytes / self.rate, window * WINDOW + self.used[window] / self.rate)


@given(
    st.lists(st.tuples(st.floats(0, 400), st.floats(0, 50_000), st.integers(1, 200_000)), min_size=1, max_size=60),
    st.integers(0, 700),
)
def test_what_is_remembered_of_the_past_changes_no_time(requests: list[tuple[float, float, int]], burst: int) -> None:
    server, reference, now = Bandwidth(4.0), Forgetful(4.0), 0.0
    for turn in range(burst):  # more windows in use than are remembered
        assert server.take(0.0, 512, 0.0) == reference.take(0.0, 512, 0.0), turn
    for passed, later, nbytes in requests:
        now += passed
        assert server.take(now + later, nbytes, now) == reference.take(now + later, nbytes, now)


def test_requests_that_pile_up_are_not_sorted_through_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each request may look at all windows once in a while only, else a warp's stores take quadratic time."""
    looked = 0
    forget = Bandwidth._forget

    def counted(self: Bandwidth, first: int) -> None:
        nonlocal looked
        looked += len(self._used)
        forget(self, first)

    monkeypatch.setattr(Bandwidth, "_forget", counted)
    server = Bandwidth(1.0)
    for _ in range(20_000):
        server.take(0.0, WINDOW)
    assert looked <= 40_000


def test_windows_that_have_passed_are_forgotten() -> None:
    server = Bandwidth(1.0)
    for turn in range(3000):
        server.take(turn * WINDOW, WINDOW / 2, now=turn * WINDOW)
    assert len(server._used) < 3000
