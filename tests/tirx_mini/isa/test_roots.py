"""Quotients and roots with a rounding mode: bounds on both sides of the exact result, and special values."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.tirx_mini.sim.bare import do, run
from tirx_mini.sim import RunningWarp

RNG = np.random.default_rng(1)
A, B = (np.abs(RNG.normal(size=32)) * 2.0 ** RNG.integers(-20, 20, 32) for _ in range(2))


def done(op: str, *values: Any, **attrs: Any) -> Any:
    def program(w: RunningWarp) -> Any:
        yield from ()
        w.gpu.seen["result"] = do(w, op, *values, **attrs)

    return run(program).seen["result"]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_results_stand_on_the_side_that_the_mode_names(kind: Any) -> None:
    name = "f32" if kind is np.float32 else "f64"
    a, b = A.astype(kind), B.astype(kind)
    for op, args in (("div", (a, b)), ("sqrt", (a,)), ("rcp", (a,))):
        below = done(f"{op}.rounded.{name}", *args, rounding="rm")
        above = done(f"{op}.rounded.{name}", *args, rounding="rp")
        nearest = done(f"{op}.rounded.{name}", *args, rounding="rn")
        for lane in range(32):
            low, high = Fraction(float(below[lane])), Fraction(float(above[lane]))
            x, y = Fraction(float(a[lane])), Fraction(float(b[lane]))
            exact = {"div": x / y, "rcp": 1 / x}.get(op)
            assert low * low <= x <= high * high if exact is None else low <= exact <= high
            assert np.nextafter(below[lane], kind(np.inf)) >= above[lane]
            assert nearest[lane] in (below[lane], above[lane])


def test_special_values_are_those_of_ieee_754() -> None:
    assert done("div.rounded.f32", 1.0, 0.0, rounding="rz") == math.inf
    assert math.isnan(done("sqrt.rounded.f64", -1.0, rounding="rp"))
    assert math.copysign(1.0, done("rcp.rounded.f32", -math.inf, rounding="rm")) == -1.0
    largest = float(np.finfo(np.float32).max)
    assert done("div.rounded.f32", largest, 0.5, rounding="rz") == np.float32(largest)
    assert done("div.rounded.f32", largest, 0.5, rounding="rp") == math.inf
    assert done("rcp.rounded.f32", largest, rounding="rn", ftz=True) == 0
