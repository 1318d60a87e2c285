"""Arithmetic of float64: one rounding, in every direction, against exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.tirx_mini.sim.bare import do, run
from tirx_mini.sim import RunningWarp

RNG = np.random.default_rng(0)
A, B, C = (RNG.normal(size=32) * 2.0 ** RNG.integers(-40, 40, 32) for _ in range(3))


def done(op: str, *values: Any, **attrs: Any) -> Any:
    def program(w: RunningWarp) -> Any:
        yield from ()
        w.gpu.seen["result"] = do(w, op, *values, **attrs)

    return run(program).seen["result"]


@pytest.mark.parametrize("rounding", ["rn", "rz", "rm", "rp"])
@pytest.mark.parametrize("op", ["add", "sub", "mul", "fma"])
def test_results_are_the_neighbours_of_the_exact_ones(op: str, rounding: str) -> None:
    values = (A, B, C) if op == "fma" else (A, B)
    found = done(f"{op}.f64", *values, rounding=rounding)
    for lane in range(32):
        a, b, c = (Fraction(each[lane]) for each in (A, B, C))
        exact = {"add": a + b, "sub": a - b, "mul": a * b, "fma": a * b + c}[op]
        got = Fraction(found[lane])
        if rounding == "rn":
            assert got == Fraction(float(exact))
        up = rounding == "rp" or (rounding == "rz" and exact < 0)
        if rounding != "rn":
            assert got >= exact if up else got <= exact
            other = math.nextafter(found[lane], -math.inf if up else math.inf)
            assert got == exact or (Fraction(other) < exact if up else Fraction(other) > exact)


def test_ends_zeros_and_special_values() -> None:
    most = np.finfo(np.float64).max
    assert done("add.f64", most, most) == np.inf
    assert done("add.f64", most, most, rounding="rz") == most
    assert done("mul.f64", -most, 2.0, rounding="rp") == -most
    assert done("mul.f64", -most, 2.0, rounding="rm") == -np.inf
    assert math.copysign(1, done("add.f64", 1.0, -1.0, rounding="rm")) == -1
    assert math.copysign(1, done("add.f64", 1.0, -1.0)) == 1
    assert math.copysign(1, done("sub.f64", 1.0, 1.0, rounding="rm")) == -1
    assert math.copysign(1, done("mul.f64", 0.0, 1.0, rounding="rm")) == 1
    assert np.isnan(done("fma.f64", np.inf, 0.0, 1.0)) and done("add.f64", np.inf, 1.0) == np.inf
    assert done("fma.f64", 1.5, most, -np.inf) == -np.inf  # the product is finite before it is rounded
