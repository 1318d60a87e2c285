"""Sums that are rounded once: float64 in between does not round them a second time."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.tirx_mini.sim.bare import do, run
from tirx_mini.sim import RunningWarp


def done(op: str, *values: Any, **attrs: Any) -> np.ndarray:
    def program(w: RunningWarp) -> Any:
        yield from ()
        w.gpu.seen["result"] = do(w, op, *values, **attrs)

    return run(program).seen["result"]


def nearest(exact: Fraction) -> np.float32:
    """The nearest float32, with ties to even, found among the neighbours of a first guess."""
    guess = np.float32(float(exact))
    around = [np.nextafter(guess, np.float32(-np.inf)), guess, np.nextafter(guess, np.float32(np.inf))]
    return min(around, key=lambda each: (abs(Fraction(float(each)) - exact), each.view(np.uint32) & 1))


def test_a_fused_product_is_rounded_once() -> None:
    rng = np.random.default_rng(1)
    a, b = ((rng.integers(1 << 23, 1 << 24, 32) | 1).astype(np.float32) for _ in range(2))
    product = a.astype(np.float64) * b.astype(np.float64)
    half = np.array([(int(p) & -int(p)) for p in product], np.float64)  # c is far below what float64 can hold beside
    c = (half * 2.0**-30 * np.where(np.arange(32) % 2, 1, -1)).astype(np.float32)
    found = done("fma.rn", a, b, c)
    exact = [[Fraction(float(number)) for number in numbers] for numbers in zip(a, b, c, strict=True)]
    np.testing.assert_array_equal(found, np.array([nearest(x * y + z) for x, y, z in exact]))
    tie = done("fma.rn", np.float32(1 + 2**-12), np.float32(1 + 2**-12), np.float32(2.0**-80))
    assert tie == np.float32(1 + 2**-11 + 2**-23)


@pytest.mark.parametrize(("rounding", "want"), [("rp", 1 + 2**-23), ("rm", 1.0), ("rz", 1.0), ("rn", 1.0)])
def test_a_sum_that_float64_cannot_hold_has_a_direction(rounding: str, want: float) -> None:
    assert done("add.f32", np.float32(1), np.float32(2.0**-100), rounding=rounding) == np.float32(want)


def test_an_approximate_quotient_by_a_large_number_is_a_zero_with_its_sign() -> None:
    """PTX ISA, div: beyond 2^126 the reciprocal is 0; an infinite dividend gives NaN. The zero is -0.0 on an H200."""
    a = np.float32([1, -1, 1, -1, np.inf, 3])
    b = np.float32([2.0**127, 2.0**127, -(2.0**127), -(2.0**127), 2.0**127, 4])

    def program(w: RunningWarp) -> Any:
        yield from ()
        w.gpu.seen["result"] = do(w, "div.approx", np.resize(a, 32), np.resize(b, 32))

    found = run(program).seen["result"][:6]
    assert list(np.signbit(found[:4])) == [False, True, True, False] and not found[:4].any()
    assert np.isnan(found[4]) and found[5] == 0.75
