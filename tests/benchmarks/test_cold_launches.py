"""Cold launches are split into those that fit a constant and those that judge it."""

from __future__ import annotations

from benchmarks.cold_launches import HALVES, cases


def test_the_halves_share_no_shape_and_are_about_equal() -> None:
    held_out, fitted = ({shape for shape, _, _ in cases(half, 10_000, float("inf"))} for half in HALVES)
    assert not held_out & fitted
    assert 0.8 < len(held_out) / len(fitted) < 1.25
