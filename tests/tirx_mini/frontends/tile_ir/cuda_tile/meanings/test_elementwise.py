"""What operations compute, beside exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tirx_mini.frontends.tile_ir.cuda_tile.meanings import ELEMENTWISE, dtype_of, to_float

BITS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64}


def compute(name: str, to: str, *xs: np.ndarray, **attrs: object) -> np.ndarray:
    given = {"rounding_mode": "nearest_even", "flush_to_zero": False, "propagate_nan": False} | attrs
    with np.errstate(all="ignore"):
        return np.asarray(ELEMENTWISE[name](SimpleNamespace(**given), to, *xs))


def wrapped(x: int, bits: int, signed: bool = True) -> int:
    x %= 1 << bits
    return x - (1 << bits) if signed and x >> (bits - 1) else x


@given(st.sampled_from(sorted(BITS)), st.data())
def test_integers_wrap_and_are_read_with_or_without_sign(element, data):
    bits = BITS[element]
    number = st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)
    a, b = data.draw(number), data.draw(number)
    x, y = (np.array(v, dtype_of(element)) for v in (a, b))
    for name, expected in {
        "addi": a + b,
        "subi": a - b,
        "muli": a * b,
        "andi": a & b,
        "ori": a | b,
        "xori": a ^ b,
    }.items():
        assert int(compute(name, element, x, y)) == wrapped(expected, bits), name
    assert int(compute("mulhii", element, x, y)) == wrapped((a % (1 << bits)) * (b % (1 << bits)) >> bits, bits)
    for signedness in ("signed", "unsigned"):
        p, q = (v if signedness == "signed" else v % (1 << bits) for v in (a, b))
        assert int(compute("maxi", element, x, y, signedness=signedness)) == wrapped(max(p, q), bits)
        less = compute("cmpi", "i1", x, y, signedness=signedness, comparison_predicate="less_than")
        assert bool(less) == (p < q)
        if q and not (p == -(1 << bits - 1) and q == -1):
            quotient = Fraction(p, q)
            roundings = {"zero": int(quotient), "positive_inf": -(-p // q), "negative_inf": p // q}
            for rounding, expected in roundings.items():
                found = compute("divi", element, x, y, signedness=signedness, rounding=rounding)
                assert int(found) == wrapped(expected, bits), (rounding, p, q)
            assert int(compute("remi", element, x, y, signedness=signedness)) == wrapped(p - int(quotient) * q, bits)


@given(st.integers(-(1 << 31), (1 << 31) - 1), st.integers(0, 31))
def test_shifts(a, n):
    x, y = np.array(a, np.int32), np.array(n, np.int32)
    assert int(compute("shli", "i32", x, y)) == wrapped(a << n, 32)
    assert int(compute("shri", "i32", x, y, signedness="signed")) == a >> n
    assert int(compute("shri", "i32", x, y, signedness="unsigned")) == wrapped((a % (1 << 32)) >> n, 32)


FLOATS = st.integers(-(10**6), 10**6).map(lambda n: n / 64)


@given(FLOATS, FLOATS, st.sampled_from(["f16", "bf16", "f32", "tf32"]))
def test_directed_rounding_encloses_the_exact_sum(a, b, element):
    x, y = to_float(np.array(a), element), to_float(np.array(b), element)
    exact = Fraction(float(x)) + Fraction(float(y))
    below, above, towards = (
        compute("addf", element, x, y, rounding_mode=m) for m in ("negative_inf", "positive_inf", "zero")
    )
    assert Fraction(float(below)) <= exact <= Fraction(float(above))
    assert abs(Fraction(float(towards))) <= abs(exact)
    near = Fraction(float(compute("addf", element, x, y)))
    assert near in (Fraction(float(below)), Fraction(float(above)))
    if exact == near:
        assert below == above


def test_extremes_take_numbers_or_nan_and_order_zeros():
    x, y = np.array([np.nan, 1.0, -0.0, 0.0], np.float32), np.array([2.0, np.nan, 0.0, -0.0], np.float32)
    assert compute("maxf", "f32", x, y).tolist() == [2.0, 1.0, 0.0, 0.0]
    assert not np.signbit(compute("maxf", "f32", x, y)[2:]).any()
    assert np.signbit(compute("minf", "f32", x, y)[2:]).all()
    assert np.isnan(compute("minf", "f32", x, y, propagate_nan=True)[:2]).all()


def test_comparisons_with_nan_are_false_if_ordered_and_true_if_not():
    x, y = np.array([np.nan, 1.0], np.float32), np.array([1.0, 1.0], np.float32)
    for predicate, plain in (("equal", True), ("not_equal", False), ("less_than_or_equal", True)):
        kinds = [
            compute("cmpf", "i1", x, y, comparison_predicate=predicate, comparison_ordering=o).tolist()
            for o in ("ordered", "unordered")
        ]
        assert kinds == [[False, plain], [True, plain]]


def test_floats_to_integers_saturate():
    x = np.array([1e20, -1e20, np.nan, 2.9, -2.9], np.float32)
    assert compute("ftoi", "i32", x, signedness="signed").tolist() == [2**31 - 1, -(2**31), 0, 2, -2]
    assert compute("ftoi", "i8", x, signedness="unsigned").view(np.uint8).tolist() == [255, 0, 0, 2, 0]


def test_conversions_between_widths_and_kinds():
    x = np.array([-1, 127], np.int8)
    assert compute("exti", "i32", x, signedness="unsigned").tolist() == [255, 127]
    assert compute("exti", "i32", x > 0, signedness="unsigned").tolist() == [0, 1]
    assert compute("itof", "f16", x, signedness="unsigned").tolist() == [255.0, 127.0]
    assert compute("trunci", "i8", np.array([257, -129], np.int32)).tolist() == [1, 127]
    assert compute("trunci", "i1", np.array([2, 3], np.int32)).tolist() == [False, True]
    assert compute("bitcast", "i32", np.array([1.0], np.float32)).tolist() == [0x3F800000]


@pytest.mark.parametrize(
    ("number", "expected"), [(1 + 2**-11, 1.0), (1 + 3 * 2**-11, 1 + 2**-9), (-1 - 2**-10, -1 - 2**-10)]
)
def test_tf32_has_ten_bits_and_rounds_ties_to_even(number, expected):
    assert to_float(np.array(number, np.float32), "tf32") == np.float32(expected)


def test_half_precision_is_computed_in_float32_and_rounded_once():
    x = np.array([0.1, 1000.0], ml_dtypes.bfloat16)
    assert compute("exp2", "bf16", x).dtype == ml_dtypes.bfloat16
    assert compute("exp2", "bf16", x)[0] == np.exp2(np.float32(x[0])).astype(ml_dtypes.bfloat16)


def test_subnormal_numbers_become_zeros_of_their_sign():
    x = np.array([1e-40, -1e-40], np.float32)
    assert np.signbit(compute("addf", "f32", x, x, flush_to_zero=True)).tolist() == [False, True]
    assert (compute("addf", "f32", x, x) != 0).all()
