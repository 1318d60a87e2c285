"""Symbolic extents: one schedule for tensors of any size."""

from __future__ import annotations

import numpy as np
import pytest

from tirx_mini import te
from tirx_mini.arguments import ArgumentError
from tirx_mini.ir import TirxError

from .examples import random, threads


def added(target: str) -> te.SymbolicFunction:
    """The sum of two vectors, in tiles of 16."""
    n = te.var("n")
    A, B = te.placeholder((n,), name="A"), te.placeholder((n,), name="B")
    C = te.compute(A.shape, lambda i: A[i] + B[i], name="C")
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[0], factor=16)
    if target == "llvm":
        s[C].parallel(outer)
        s[C].vectorize(inner)
    else:
        for loop, index in zip((outer, inner), threads("blockIdx.x", "threadIdx.x"), strict=True):
            s[C].bind(loop, index)
    return te.build(s, [A, B, C], target, name="add")


@pytest.mark.parametrize("target", ["llvm", "sim:h100"])
def test_a_function_is_compiled_for_the_sizes_of_each_call(target):
    add = added(target)
    for size in (16, 37, 16):
        a, b, c = random(size), random(size, seed=1), np.full(size, np.nan, np.float32)
        add(a, b, c)
        np.testing.assert_array_equal(c, a + b)
    assert add.for_arguments(a, b, c) is add.for_arguments(b, a, c) and "add" in add.source("tir")
    with pytest.raises(ArgumentError, match="add: an extent of B is 8, but n is 16 here"):
        add(a, b[:8], c)
    with pytest.raises(ArgumentError, match="add takes 3 arguments, but 2 are given"):
        add(a, b)


def test_extents_of_expressions_reductions_and_other_stages():
    n, m = te.size_var("n"), te.size_var("m")
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), "k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    C = te.compute((n - 1,), lambda i: B[i] - B[i + 1], name="C")
    s = te.create_schedule(C.op)
    partial = s.rfactor(B, s[B].split(B.op.reduce_axis[0], factor=4)[1])
    s[partial].compute_at(s[B], s[B].leaf_iter_vars[0])
    differences = te.build(s, [A, C], "llvm")
    for shape in ((5, 7), (2, 1)):
        a, c = random(*shape), np.zeros(shape[0] - 1, np.float32)
        differences(a, c)
        np.testing.assert_array_equal(c, a.sum(1)[:-1] - a.sum(1)[1:])


def test_numbers_are_arguments_of_their_own():
    n, scale = te.var("n"), te.var("scale", "float32")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] * scale + n, name="B")
    function = te.build(te.create_schedule(B.op), [n, scale, A, B], "llvm")
    b = np.zeros(4, np.float32)
    function(4, 0.5, np.arange(4, dtype=np.float32), b)
    np.testing.assert_array_equal(b, np.arange(4) * 0.5 + 4)
    with pytest.raises(ArgumentError, match="an extent of A is 4, but n is 3 here"):
        function(3, 0.5, np.arange(4, dtype=np.float32), b)


def test_the_text_has_a_number_in_the_place_of_an_extent():
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: te.if_then_else(te.all(i > 0, te.any(i < 4, i > 8)), A[i], 0.0), name="B")
    module = te.lower(te.create_schedule(B.op), [A, B])
    assert "range(1024)" in str(module) and isinstance(module, te.SymbolicModule)
    b = np.zeros(12, np.float32)
    te.build(module, target="llvm")(np.ones(12, np.float32), b)
    np.testing.assert_array_equal(b, [0, 1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1])


def test_what_is_not_an_extent_or_not_provided_is_refused():
    with pytest.raises(TirxError, match=r"the shape of A is \(x\)"):
        te.placeholder((te.var("x", "float32"),), name="A")
    with pytest.raises(TirxError, match=r"te\.scan is not provided"):
        te.scan(None)
    with pytest.raises(TirxError, match=r"te\.all needs a condition"):
        te.all()
