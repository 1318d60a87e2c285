"""Functions on this CPU: what LLVM is given, and what it computes."""

from __future__ import annotations

import math
import operator
import re

import numpy as np
import pytest

import tirx_mini as tvm
from tirx_mini import te
from tirx_mini.arguments import ArgumentError


def computed(function, *arrays: np.ndarray, dtype: str = "", schedule=None) -> np.ndarray:
    """``function(*loads)`` of elements of one-dimensional arrays, element by element."""
    inputs = [te.placeholder(a.shape, str(a.dtype), f"A{n}") for n, a in enumerate(arrays)]
    out = te.compute(arrays[0].shape, lambda i: function(*(tensor[i] for tensor in inputs)), name="out")
    s = te.create_schedule(out.op)
    if schedule is not None:
        schedule(s[out], out.op.axis[0])
    result = np.zeros(arrays[0].shape, str(out.dtype))
    te.build(s, [*inputs, out], "llvm")(*arrays, result)
    return result


INTEGERS = np.array([-7, -6, -1, 0, 1, 5, 6, 7] * 4, np.int32)
DIVISORS = np.array([3, -3, 2, -2, 1, -1, 7, -7] * 4, np.int32)


@pytest.mark.parametrize("op", [operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.lt,
                                operator.and_, operator.or_, operator.xor])  # fmt: skip
@pytest.mark.parametrize("vectors", [False, True])
def test_operators_of_integers_are_those_of_numpy(op, vectors):
    def schedule(stage, axis):
        if vectors:
            stage.vectorize(stage.split(axis, factor=8)[1])

    np.testing.assert_array_equal(
        computed(op, INTEGERS, DIVISORS, schedule=schedule), op(INTEGERS, DIVISORS), strict=False
    )


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint8", "int64"])
def test_types_are_kept_and_converted(dtype):
    values = np.arange(32).astype(dtype)
    np.testing.assert_array_equal(computed(lambda x: x + x, values), values + values)
    np.testing.assert_array_equal(computed(lambda x: x.astype("float32") * 0.5, values), values.astype("f4") / 2)


@pytest.mark.parametrize(
    "name, of_numpy",
    [("exp", np.exp), ("log", np.log), ("sqrt", np.sqrt), ("tanh", np.tanh), ("rsqrt", lambda x: 1 / np.sqrt(x)),
     ("sigmoid", lambda x: 1 / (1 + np.exp(-x))), ("abs", np.abs), ("exp2", np.exp2), ("log2", np.log2),
     *((name, getattr(np, name)) for name in "sin cos tan sinh cosh floor ceil trunc log10 log1p isinf isnan".split()),
     ("asin", np.arcsin), ("acos", np.arccos), ("atan", np.arctan), ("atanh", np.arctanh), ("round", np.rint),
     ("erf", np.vectorize(math.erf)), ("exp10", lambda x: 10**x), ("acosh", None), ("asinh", np.arcsinh)],
)  # fmt: skip
def test_functions(name, of_numpy):
    values = np.linspace(0.1, 0.9, 64, dtype=np.float32)
    if name == "acosh":
        values, of_numpy = values + 1, np.arccosh
    np.testing.assert_allclose(computed(getattr(te, name), values), of_numpy(values), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "name, of_numpy", [("power", np.power), ("fmod", np.fmod), ("atan2", np.arctan2), ("hypot", np.hypot)]
)
def test_functions_of_two_numbers_in_vectors(name, of_numpy):
    x, y = (np.random.default_rng(seed).random(16, np.float32) + 0.5 for seed in (0, 1))
    made = computed(getattr(te, name), x, y, schedule=lambda stage, axis: stage.vectorize(axis))
    np.testing.assert_allclose(made, of_numpy(x, y), rtol=1e-5)


def test_integer_division_as_in_c():
    made = computed(te.truncdiv, INTEGERS, DIVISORS), computed(te.truncmod, INTEGERS, DIVISORS)
    np.testing.assert_array_equal(made[0], np.trunc(INTEGERS / DIVISORS))
    np.testing.assert_array_equal(made[1], np.fmod(INTEGERS, DIVISORS))
    np.testing.assert_array_equal(computed(te.floordiv, INTEGERS, DIVISORS), INTEGERS // DIVISORS)


def test_a_load_that_is_not_taken_is_not_executed():
    A = te.placeholder((8,), name="A")
    P = te.compute((12,), lambda i: te.if_then_else((i >= 2) & (i < 10), A[i - 2], 0.0), name="P")
    a, out = np.arange(8, dtype=np.float32), np.full(12, np.nan, np.float32)
    te.build(te.create_schedule(P.op), [A, P], "llvm")(a, out)
    np.testing.assert_array_equal(out, np.pad(a, 2))


def scheduled(kind: str):
    A = te.placeholder((64, 64), name="A")
    B = te.compute((64, 64), lambda i, j: A[i, j] * 3 + 1, name="B")
    s = te.create_schedule(B.op)
    i, j = B.op.axis
    if kind == "vectorize":
        s[B].vectorize(s[B].split(j, factor=16)[1])
    elif kind == "parallel":
        s[B].parallel(i)
    elif kind == "unroll":
        s[B].unroll(s[B].split(j, factor=4)[1])
    return te.build(s, [A, B], "llvm")


@pytest.mark.parametrize("kind", ["plain", "vectorize", "parallel", "unroll"])
def test_kinds_of_loops(kind):
    function = scheduled(kind)
    a, b = np.random.default_rng(0).random((64, 64), np.float32), np.zeros((64, 64), np.float32)
    function(a, b)
    np.testing.assert_allclose(b, a * 3 + 1, rtol=1e-6)
    text = function.source()
    assert ("load <16 x float>" in text) == (kind == "vectorize")
    assert ("call void %share" in text) == (kind == "parallel")
    assert len(re.findall("load float", text)) == (4 if kind == "unroll" else 0 if kind == "vectorize" else 1)
    assert "ret" in function.source("asm") and "define void @main" in function.source("optimised")


@pytest.mark.parametrize("columns", [4, 8, 16, 32])
@pytest.mark.parametrize("kind", ["serial", "parallel"])
def test_an_index_that_starts_again(columns, kind):
    """The fused loop over rows and columns has remainders by the number of columns in its indices."""
    A, B = te.placeholder((32, 24), name="A"), te.placeholder((24, columns), name="B")
    k = te.reduce_axis((0, 24), "k")
    C = te.compute((32, columns), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    fused = s[C].fuse(*C.op.axis)
    s[C].reorder(k, fused)
    if kind == "parallel":
        s[C].parallel(fused)
    a, b = (np.random.default_rng(n).integers(-4, 5, t.shape).astype(np.float32) for n, t in enumerate((A, B)))
    c = np.zeros((32, columns), np.float32)
    te.build(s, [A, B, C], "llvm")(a, b, c)
    np.testing.assert_array_equal(c, a @ b)


def test_the_widest_vectors_of_this_cpu_are_used():
    from tirx_mini.cpu import vector_bits

    assert vector_bits() in (128, 256, 512)
    assert ("zmm" in scheduled("vectorize").source("asm")) == (vector_bits() == 512)


def test_parallel_iterations_are_shared_among_the_threads():
    A = te.placeholder((1000,), name="A")
    B = te.compute((1000,), lambda i: A[i] + 1, name="B")
    s = te.create_schedule(B.op)
    s[B].parallel(B.op.axis[0])
    from tirx_mini.cpu import build

    for threads in (1, 3, 16):
        out = np.zeros(1000, np.float32)
        build(te.lower(s, [A, B]).main, threads)(np.arange(1000, dtype=np.float32), out)
        np.testing.assert_array_equal(out, np.arange(1, 1001))


@pytest.mark.parametrize(
    "wrong, message",
    [(np.zeros((64, 32), np.float32), "shape"), (np.zeros((64, 64)), "dtype"), ("A", "must be a tensor"),
     (np.zeros((64, 64), np.float32).T[::-1], "contiguous")],
)  # fmt: skip
def test_arguments_are_checked(wrong, message):
    with pytest.raises(ArgumentError, match=message):
        scheduled("plain")(wrong, np.zeros((64, 64), np.float32))


def test_compile_takes_the_target():
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1, name="B")
    module = te.lower(te.create_schedule(B.op), [A, B])
    out = np.zeros(8, np.float32)
    tvm.compile(module, target="llvm")(np.zeros(8, np.float32), out)
    assert out.sum() == 8
