"""Functions of values: each against NumPy, for the types that it takes."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini.ir import TirxError, as_expr
from tirx_mini.script import tirx as T

LESS_THAN_ONE = ("asin", "acos", "atanh")
NUMPY = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh",
         "atanh": "arctanh", "pow": "power", "round": "rint", "nearbyint": "rint"}  # fmt: skip
OF_NUMPY = {
    "erf": np.vectorize(math.erf), "exp10": lambda x: 10.0**x, "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "rsqrt": lambda x: 1 / np.sqrt(x),
}  # fmt: skip
UNARY = ("sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf exp10 log10 log1p floor ceil trunc round "
         "nearbyint exp exp2 log log2 sqrt rsqrt sigmoid").split()  # fmt: skip


def computed(function: Any, *arrays: Any, dtype: str) -> Any:
    """`function` of the elements of arrays of 32 elements."""
    kind = arrays[0].dtype.name

    @T.prim_func
    def kernel(A: T.Buffer((32,), kind), B: T.Buffer((32,), kind), out: T.Buffer((32,), dtype)):
        T.device_entry()
        cta = T.cta_id([1])
        tx = T.thread_id([32])
        out[tx] = function(A[tx], B[tx]) if len(arrays) > 1 else function(A[tx])

    out = np.zeros(32, getattr(ml_dtypes, dtype, dtype))
    assert tvm.simulate(kernel, arrays[0], arrays[-1].copy(), out).ok
    return out


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 2e-6), ("float64", 1e-14), ("float16", 1e-3)])
def test_a_function_of_one_number(name: str, dtype: str, tolerance: float) -> None:
    numbers = (np.arange(32) / 40 + (0 if name in LESS_THAN_ONE else 1.3)).astype(dtype)
    expected = OF_NUMPY.get(name) or getattr(np, NUMPY.get(name, name))
    found = computed(getattr(T, name), numbers, dtype=dtype)
    np.testing.assert_allclose(found, expected(numbers.astype(np.float64)).astype(dtype), tolerance)


@pytest.mark.parametrize("name", ["pow", "fmod", "hypot", "copysign", "atan2", "nextafter"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_function_of_two_numbers(name: str, dtype: str) -> None:
    x, y = (np.arange(32) / 8 + 1).astype(dtype), (2 - np.arange(32) / 16).astype(dtype)
    expected = getattr(np, NUMPY.get(name, name.replace("atan2", "arctan2")))
    np.testing.assert_allclose(computed(getattr(T, name), x, y, dtype=dtype), expected(x, y), 2e-7)


def test_the_result_has_the_type_of_the_operands() -> None:
    for dtype in ("float16", "bfloat16", "float32", "float64"):
        for name in (*UNARY, "pow", "atan2"):
            values = [T.Cast(dtype, 2)] * (2 if name in ("pow", "atan2") else 1)
            assert getattr(T, name)(*values).dtype == dtype
    assert T.exp2(as_expr(3)).dtype == "float32" and T.floor(as_expr(3)).dtype == "int32"
    assert T.pow(T.Cast("float64", 2), 0.5).dtype == "float64"


def test_what_is_finite() -> None:
    numbers = np.array([1, -2, np.inf, -np.inf, np.nan, 0, 65504, -0.0] * 4, np.float16)
    np.testing.assert_array_equal(computed(T.isinf, numbers, dtype="bool"), np.isinf(numbers))
    np.testing.assert_array_equal(computed(T.isfinite, numbers, dtype="bool"), np.isfinite(numbers))
    integers = np.arange(32, dtype=np.int32)
    assert computed(T.isfinite, integers, dtype="bool").all() and not computed(T.isinf, integers, dtype="bool").any()


@pytest.mark.parametrize("dtype", ["uint8", "uint32", "int32", "uint64", "int64"])
def test_bits_are_counted_in_the_type_of_the_value(dtype: str) -> None:
    width = np.dtype(dtype).itemsize * 8
    numbers = (np.arange(32, dtype=np.int64) * 7919 - 100).astype(dtype)
    words = [int(number) % 2**width for number in numbers]
    assert computed(T.popcount, numbers, dtype=dtype).tolist() == [word.bit_count() for word in words]
    assert computed(T.clz, numbers, dtype="int32").tolist() == [width - word.bit_length() for word in words]


def test_products_of_bytes() -> None:
    def function(a: Any, b: Any) -> Any:
        return T.dp4a(T.reinterpret("int8x4", a), T.reinterpret("uint8x4", b), 5)

    rng = np.random.default_rng(0)
    a, b = (rng.integers(0, 2**32, 32, np.uint32) for _ in range(2))
    products = a.view(np.int8).reshape(32, 4).astype(int) * b.view(np.uint8).reshape(32, 4).astype(int)
    np.testing.assert_array_equal(computed(function, a, b, dtype="int32"), products.sum(1) + 5)


def test_a_power_of_two_is_a_whole_number() -> None:
    x, powers = np.arange(32, dtype=np.float32), np.arange(32, dtype=np.float32) - 16
    np.testing.assert_array_equal(computed(T.ldexp, x, powers, dtype="float32"), np.ldexp(x, powers.astype(int)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: T.popcount(T.Cast("float32", as_expr(1))), "needs an integer"),
        (lambda: T.dp4a(as_expr(1), T.Cast("float32", as_expr(1))), "needs 32 bits, such as int8x4"),
        (lambda: T.nextafter(T.Cast("float16", as_expr(1)), 2), "is for float32 and float64"),
        (lambda: T.sin(1.0, 2.0), r"T.sin\(x\) takes 1 operand, but 2 are given"),
    ],
)
def test_what_a_function_does_not_take(call: Any, message: str) -> None:
    with pytest.raises(TirxError, match=message):
        call()
