"""Measurements that take turns: every round has each of them, in an order of its own, after two that do not count."""

from __future__ import annotations

from functools import partial

from tirx_mini.runtime import in_turn


def test_measurements_take_turns() -> None:
    calls: list[str] = []

    def measure(name: str) -> float:
        calls.append(name)
        return float(len(calls))

    times = in_turn({name: partial(measure, name) for name in "abc"}, 8)
    rounds = [calls[start : start + 3] for start in range(0, len(calls), 3)]
    assert len(rounds) == 10 and all(sorted(each) == list("abc") for each in rounds)
    assert len({tuple(each) for each in rounds}) > 1
    assert sorted(us for found in times.values() for us in found) == [float(number) for number in range(7, 31)]
