"""Predictions beside measured times: how far a step is off where the others set the scale."""

from __future__ import annotations

import pytest

from benchmarks.clock_accuracy import Prediction, left_out

EXACT = [Prediction(step, 1024, 2 + 10.0 * step, 2 + 5.0 * step, 2.0) for step in range(1, 12)]


def test_a_step_like_the_others_is_predicted_without_them() -> None:
    assert left_out(EXACT).error == pytest.approx(0)


def test_a_step_that_no_other_one_is_like_is_off() -> None:
    slow = Prediction(12, 1024, 202.0, 52.0, 2.0)
    worst = left_out([*EXACT, slow])
    assert worst.step == 12 and worst.error == pytest.approx(100 / 202)


def test_times_that_the_host_decides_fit_nothing() -> None:
    hosted = Prediction(12, 1024, 13.0, 5.0, 2.0, host_us=13.0)
    assert left_out([*EXACT, hosted]).error == pytest.approx(0)
