"""The analyzer: rewriting preserves values, and the reported bounds and divisors hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tirx_mini.ir import (
    BOOL,
    INT32,
    UINT32,
    Analyzer,
    Binary,
    Cast,
    Const,
    DataType,
    Expr,
    Select,
    Special,
    Unary,
    Var,
    binary,
    const,
    special,
    walk,
)

X, Y, TID = Var(INT32, "x"), Var(INT32, "y"), special("threadIdx.x")
RANGES = {X: (0, 9), Y: (-5, 40), "threadIdx.x": (0, 127)}
ANALYZER = Analyzer(RANGES)

_BINARY = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "//": np.floor_divide, "%": np.mod, "<<": np.left_shift,
    ">>": np.right_shift, "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor, "min": np.minimum,
    "max": np.maximum, "==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater,
    ">=": np.greater_equal,
}  # fmt: skip

# Every combination of a few values of each variable, including the ends of its range.
GRID = np.meshgrid([0, 1, 4, 9], [-5, -1, 0, 7, 40], [0, 5, 31, 32, 100, 127], indexing="ij")
ENV = {X: GRID[0], Y: GRID[1], "threadIdx.x": GRID[2]}


def evaluate(expr: Expr) -> np.ndarray:
    if isinstance(expr, Const):
        return np.full(GRID[0].shape, expr.value)
    if isinstance(expr, Var):
        return ENV[expr]
    if isinstance(expr, Special):
        return ENV[expr.name]
    if isinstance(expr, Binary):
        return _BINARY[expr.op](evaluate(expr.a), evaluate(expr.b))
    if isinstance(expr, Unary):
        return -evaluate(expr.value)
    if isinstance(expr, Select):
        return np.where(evaluate(expr.cond), evaluate(expr.a), evaluate(expr.b))
    assert isinstance(expr, Cast)
    return evaluate(expr.value)


LEAVES = st.sampled_from([X, Y, TID]) | st.integers(-8, 64).map(const)
POWERS = st.sampled_from([2, 4, 8, 16, 32, 64])


def grow(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    by_constant = st.tuples(st.sampled_from(["//", "%"]), inner, st.integers(1, 70).map(const))
    by_mask = st.tuples(st.just("&"), inner, POWERS.map(lambda p: const(p - 1)))
    by_shift = st.tuples(st.sampled_from(["<<", ">>"]), inner, st.integers(0, 4).map(const))
    scaled = st.tuples(st.just("*"), inner, st.integers(-6, 16).map(const))
    any_two = st.tuples(st.sampled_from(["+", "-", "^", "min", "max"]), inner, inner)
    return (by_constant | by_mask | by_shift | scaled | any_two).map(lambda t: binary(*t))


EXPRESSIONS = st.recursive(LEAVES, grow, max_leaves=8)


@given(EXPRESSIONS)
def test_a_simplified_expression_has_the_same_value(expr):
    assert np.array_equal(evaluate(ANALYZER.simplify(expr)), evaluate(expr))


@pytest.mark.parametrize("divisor", [2, 3, 4, 8])
@pytest.mark.parametrize("inner", [1, 2, 4, 8, 12, 16])
@pytest.mark.parametrize("ops", [("%", "%"), ("//", "//"), ("//", "%"), ("%", "//"), ("&", "%")])
def test_nested_divisions_and_remainders_keep_their_value(ops, inner, divisor):
    for x in (TID, Y, X * 6 + 4, Y * 4 - 2):
        by = inner - 1 if ops[0] == "&" else inner
        expr = binary(ops[1], binary(ops[0], x, by), divisor)
        assert np.array_equal(evaluate(ANALYZER.simplify(expr)), evaluate(expr))


def test_a_product_of_divisors_does_not_wrap():
    expr = (X // 65536) // 65536
    assert np.array_equal(evaluate(ANALYZER.simplify(Y // 65536 // 65536)), evaluate(Y // 65536 // 65536))
    assert repr(ANALYZER.simplify(expr)) == "0"


@pytest.mark.parametrize("a", [1, 2, 6, 12, 16])
@pytest.mark.parametrize("b", [2, 3, 6, 8, 24])
def test_an_xor_is_scaled_by_powers_of_two_only(a, b):
    for x, y in ((X, TID), (Y, X), (TID, const(5))):
        expr = (x * a) ^ (y * b)
        assert np.array_equal(evaluate(ANALYZER.simplify(expr)), evaluate(expr))


@given(EXPRESSIONS)
def test_every_value_is_within_the_bounds(expr):
    bounds = ANALYZER.bounds(expr)
    if bounds is not None:
        values = evaluate(expr)
        assert bounds[0] <= values.min() and values.max() <= bounds[1]


@given(EXPRESSIONS)
def test_the_divisor_divides_every_value(expr):
    divisor = ANALYZER.divisor(expr)
    values = evaluate(expr)
    assert (values == 0).all() if divisor == 0 else not (values % divisor).any()
    assert all(ANALYZER.divisible(expr, d) for d in (1, max(divisor, 1)))


@given(EXPRESSIONS)
def test_the_parts_of_a_partition_add_up(expr):
    def of_lane(term: Expr) -> bool:
        return any(part is TID for part in walk(term))

    lane, rest = ANALYZER.partition(expr, of_lane)
    assert np.array_equal(evaluate(lane) + evaluate(rest), evaluate(expr))
    assert not of_lane(rest)


@given(EXPRESSIONS, EXPRESSIONS)
def test_expressions_reported_equal_are_equal(a, b):
    if ANALYZER.equal(a, b):
        assert np.array_equal(evaluate(a), evaluate(b))


@given(EXPRESSIONS, EXPRESSIONS, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]))
def test_a_decided_comparison_has_its_actual_value(a, b, op):
    comparison = binary(op, a, b)
    assert np.array_equal(evaluate(ANALYZER.simplify(comparison)), evaluate(comparison))


@pytest.mark.parametrize(
    "expr, text",
    [
        ((X + 1) * 64 - X * 64, "64"),
        ((X * 128 + TID) % 128, "Tx.threadIdx.x"),
        ((X * 128 + TID) // 128, "x"),
        (TID % 32 % 8, "Tx.threadIdx.x % 8"),
        (Y // 4 // 8, "y // 32"),
        ((TID % 16 * 8) // 64, "Tx.threadIdx.x % 16 // 8"),
        ((Y * 8) % 64, "y % 8 * 8"),
        ((Y * 8) ^ (X * 16), "(y ^ x * 2) * 8"),
        ((TID * 4 + 3) // 4, "Tx.threadIdx.x"),
        (TID >> 7, "0"),
        (binary("<", TID, 128), "True"),
    ],
)
def test_address_arithmetic_simplifies_to_its_shortest_form(expr, text):
    assert repr(ANALYZER.simplify(expr)) == text


def test_an_unsigned_shift_stays_a_bit_field():
    """`lane << 16 | column` packs fields; an index is a sum."""
    lane = Cast(UINT32, X)
    assert repr(ANALYZER.simplify(lane << 16)) == "Tx.uint32(x) << 16"
    assert repr(ANALYZER.simplify(X << 4)) == "x * 16"


def test_the_divisor_of_a_constant_and_of_a_sum():
    assert ANALYZER.divisor(const(24)) == 24 and ANALYZER.divisor(const(0)) == 0
    assert ANALYZER.divisor(X * 12 + 18) == math.gcd(12, 18)


@pytest.mark.parametrize("op", ["^", "&", "|", "<<", ">>", "min", "max", "//", "%", "<"])
def test_an_operation_of_two_constants_is_their_value(op):
    written = Binary(BOOL if op == "<" else INT32, op, const(6), const(3))
    assert ANALYZER.simplify(written).value == _BINARY[op](6, 3)


@pytest.mark.parametrize("op", ["<<", ">>"])
@pytest.mark.parametrize("count", [64, 2**40, -1])
def test_a_shift_by_more_bits_than_there_are_has_no_bounds(op: str, count: int) -> None:
    x = Var(DataType("int64"), "x")
    assert Analyzer({x: (0, 7)}).bounds(binary(op, x, const(count, "int64"))) is None
