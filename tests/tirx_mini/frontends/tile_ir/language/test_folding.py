"""Operations of constants are those of NumPy in the constants' types."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tirx_mini.frontends.tile_ir.language import DTYPES, DType, TileError, numpy_dtype
from tirx_mini.frontends.tile_ir.language.folding import (
    absolute_of,
    binary_of,
    complement_of,
    converted,
    negative_of,
    unary_of,
)
from tirx_mini.tile_ir import ct

from .programs import Programs

INTEGERS = [t for t in DTYPES if t.is_integer]
FLOATS = [t for t in DTYPES if t.is_float and t.arithmetic]
NARROW = [ct.float8_e4m3fn, ct.float8_e5m2, ct.float8_e8m0fnu, ct.float4_e2m1fn]
BOTH: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "floordiv": np.floor_divide, "mod": np.mod,
    "equal": np.equal, "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal,
    "greater": np.greater, "greater_equal": np.greater_equal,
}  # fmt: skip
WHOLE = BOTH | {
    "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor,
    "bitwise_lshift": np.left_shift, "bitwise_rshift": np.right_shift, "maximum": np.maximum, "minimum": np.minimum,
}  # fmt: skip
REAL = BOTH | {"truediv": np.divide, "maximum": np.fmax, "minimum": np.fmin, "pow": np.power, "atan2": np.arctan2}
OF_ONE = ("exp", "exp2", "log", "log2", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "floor", "ceil")


def same(found: Any, wanted: Any) -> bool:
    """Return whether two numbers are one: NaN is NaN, and zeros have signs."""
    a, b = float(found), float(wanted)
    return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))


def whole(dtype: DType) -> st.SearchStrategy[int]:
    low, high = dtype.limits
    return st.integers(low, high) | st.integers(max(low, -9), 9)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@settings(max_examples=30)
@given(data=st.data())
def test_integers_are_those_of_numpy(dtype: DType, data: st.DataObject) -> None:
    a, b = data.draw(whole(dtype)), data.draw(whole(dtype))
    kind = numpy_dtype(dtype).type
    for name, numpy in WHOLE.items():
        if (name in ("floordiv", "mod") and b == 0) or ("shift" in name and b < 0):
            with pytest.raises(TileError):
                binary_of(name, converted(a, dtype), converted(b, dtype))
            continue
        with np.errstate(all="ignore"):
            wanted = numpy(kind(a), kind(b))
        for x, y in ((converted(a, dtype), converted(b, dtype)), (converted(a, dtype), b), (a, converted(b, dtype))):
            found = binary_of(name, x, y)
            assert (getattr(found, "value", found), type(getattr(found, "value", found))) == (
                wanted,
                type(wanted.item()),
            )
            assert isinstance(found, bool) or found.dtype == dtype
    with np.errstate(all="ignore"):
        assert negative_of(converted(a, dtype)).value == -kind(a)
        assert absolute_of(converted(a, dtype)).value == np.abs(kind(a))
        assert complement_of(converted(a, dtype)).value == ~kind(a)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@settings(max_examples=30)
@given(number=st.integers(-(2**70), 2**70), exponent=st.integers(0, 2**62))
def test_integers_wrap_around(dtype: DType, number: int, exponent: int) -> None:
    wrapped = np.array(number % 2**64, np.uint64).astype(numpy_dtype(dtype))
    assert converted(number, dtype).value == wrapped
    base, power = converted(number, dtype), converted(exponent % 100, ct.int8)
    if dtype.kind == "i":
        wanted = np.array(pow(base.value, power.value, 2**64), np.uint64).astype(numpy_dtype(dtype))
        assert binary_of("pow", base, power).value == wanted


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@settings(max_examples=30)
@given(a=st.floats(), b=st.floats() | st.sampled_from([0.0, -0.0, 1.0, 0.1, -3.0]))
def test_floats_are_those_of_numpy(dtype: DType, a: float, b: float) -> None:
    kind = numpy_dtype(dtype).type
    with np.errstate(all="ignore"):
        x, y = converted(a, dtype), converted(b, dtype)
        p, q = kind(x.value), kind(y.value)
        for name, numpy in REAL.items():
            found, wanted = binary_of(name, x, y), numpy(p, q)
            if isinstance(found, bool):
                assert found == wanted, name
            elif name in ("pow", "atan2"):
                np.testing.assert_allclose(found.value, float(wanted), rtol=float(2 * ml_dtypes.finfo(kind).eps))
            elif name in ("maximum", "minimum"):
                assert found.value == wanted or (math.isnan(found.value) and np.isnan(wanted)), name
            elif name not in ("floordiv", "mod") or abs(float(p)) < 100 * abs(float(q)):
                assert same(found.value, wanted), (name, p, q)
        for name in OF_ONE:
            wanted = float(getattr(np, name)(p))
            np.testing.assert_allclose(unary_of(name, x).value, wanted, rtol=float(2 * ml_dtypes.finfo(kind).eps),
                                       atol=float(ml_dtypes.finfo(kind).smallest_subnormal))  # fmt: skip
        assert same(negative_of(x).value, -p)
        assert same(absolute_of(x).value, abs(p))


@pytest.mark.parametrize("dtype", [*FLOATS, *NARROW], ids=str)
@settings(max_examples=30)
@given(number=st.floats(-400, 400))
def test_floats_are_rounded_once(dtype: DType, number: float) -> None:
    """The rounded number is one of the two neighbours, and no other number of the type is nearer."""
    kind = numpy_dtype(dtype).type
    found = converted(number, dtype).value
    if dtype.bitwidth > 8:
        assert same(found, kind(found))
        for towards in (-math.inf, math.inf):
            assert abs(float(np.nextafter(kind(found), kind(towards))) - number) >= abs(found - number)
    else:
        numbers = [float(v) for v in np.arange(2**dtype.bitwidth, dtype=np.uint8).view(numpy_dtype(dtype))]
        finite = [v for v in numbers if math.isfinite(v)]
        if min(finite) <= number <= max(finite):
            assert abs(found - number) == min(abs(v - number) for v in finite)


def test_a_number_between_two_of_bfloat16_is_not_rounded_twice() -> None:
    assert converted(1 + 2**-8 + 2**-40, ct.bfloat16).value == 1 + 2**-7
    assert converted(1 + 2**-8, ct.bfloat16).value == 1
    assert converted(1 + 2**-11 + 2**-40, ct.tfloat32).value == 1 + 2**-10


@pytest.mark.parametrize(("expression", "printed"), [
    ("ct.float64(ct.float16(0.2))", "0.199951171875"),
    ("ct.float64(ct.float16(0.1) + ct.float16(0.2))", "0.2998046875"),
    ("ct.float16(0.1) == 0.1", "True"), ("ct.float16(60000) + ct.float16(60000) > 65504", "True"),
    ("ct.int64(ct.uint32(-3))", "4294967293"), ("ct.int8(300)", "44"), ("ct.int8(2.9)", "2"),
    ("ct.maximum(ct.float32(math.nan), 1.0)", "1.0"), ("ct.isnan(ct.maximum(math.nan, 1, propagate_nan=True))", "True"),
    ("ct.maximum(1.0, math.nan)", "1.0"), ("ct.int32(3) < ct.int64(2**40)", "True"),
    ("ct.floor(ct.float32(2.5))", "2.0"),
    ("-ct.bool_(True)", "-1"), ("ct.float32(16777217)", "16777216.0"), ("ct.isnan(ct.sqrt(ct.float32(-1)))", "True"),
])  # fmt: skip
def test_constants_in_a_program(programs: Programs, expression: str, printed: str) -> None:
    assert programs.value(expression) == printed


def test_a_rounding_mode_of_constants_is_kept(programs: Programs) -> None:
    out = np.zeros(2, np.float32)
    programs.run(
        "ct.scatter(y, 0, ct.add(ct.float32(1), 2.0**-30, rounding_mode=ct.RoundingMode.RP))\n"
        "ct.scatter(y, 1, ct.add(ct.float32(1), 2.0**-30))", y=out
    )  # fmt: skip
    assert out.tolist() == [np.nextafter(np.float32(1), np.float32(2)), 1]


@pytest.mark.parametrize("body", ["ct.int32(math.nan)", "ct.int32(math.inf)", "ct.float32(1) & 1", "1.0 / 0"])
def test_what_no_constant_is(programs: Programs, body: str) -> None:
    assert "error[TX41" in programs.error(f"print({body})")
