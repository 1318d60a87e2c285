"""Reductions across threads, in the simulator."""

from __future__ import annotations

import numpy as np
import pytest

from tirx_mini import te
from tirx_mini.ir import TirxError

from .examples import random, threads

ROWS, COLUMNS = 8, 24


def sums() -> tuple[te.Tensor, te.Tensor]:
    A = te.placeholder((ROWS, COLUMNS), name="A")
    k = te.reduce_axis((0, COLUMNS), "k")
    return A, te.compute((ROWS,), lambda i: te.sum(A[i, k], axis=k), name="B")


def check(s: te.Schedule, args) -> None:
    a, b = random(ROWS, COLUMNS), np.full(ROWS, np.nan, np.float32)
    te.build(s, args, "sim:h100")(a, b)
    np.testing.assert_array_equal(b, a.sum(1))


@pytest.mark.parametrize("rows", [1, 4])
@pytest.mark.parametrize("factored", [False, True])
def test_threads_share_the_reduction_of_a_row(rows, factored):
    A, B = sums()
    s = te.create_schedule(B.op)
    bx, tx, ty = threads("blockIdx.x", "threadIdx.x", "threadIdx.y")
    _, ki = s[B].split(B.op.reduce_axis[0], factor=8)
    partial = s.rfactor(B, ki) if factored else None
    outer, inner = s[B].split(B.op.axis[0], factor=rows)
    s[B].bind(outer, bx)
    if rows > 1:
        s[B].bind(inner, ty)
    loop = s[B].op.reduce_axis[0] if factored else ki
    s[B].bind(loop, tx)
    if partial is not None:
        s[partial].compute_at(s[B], loop)
    s[B].set_store_predicate(tx.var.equal(0))
    text = str(te.lower(s, [A, B]))
    assert 'scope="shared"' in text and 'thread="threadIdx.x"' in text
    check(s, [A, B])
    assert str(te.lower(s, [A, B])) == text  # lowering changes nothing


def test_the_whole_reduction_and_a_loop_whose_extent_no_factor_divides():
    for factor in (COLUMNS, 7):
        A, B = sums()
        s = te.create_schedule(B.op)
        s[B].bind(B.op.axis[0], *threads("blockIdx.x"))
        s[B].bind(s[B].split(B.op.reduce_axis[0], factor=factor)[1], *threads("threadIdx.x"))
        check(s, [A, B])


def test_what_threads_cannot_share_is_refused():
    A, B = sums()
    s = te.create_schedule(B.op)
    with pytest.raises(TirxError, match="B is not reduced across threads"):
        s[B].set_store_predicate(True)
    with pytest.raises(TirxError, match=r"k is a reduction: .* bound to blockIdx\.x"):
        s[B].bind(B.op.reduce_axis[0], *threads("blockIdx.x"))
    ko, ki = s[B].split(B.op.reduce_axis[0], factor=8)
    s[B].bind(ki, *threads("threadIdx.x"))
    with pytest.raises(TirxError, match=r"k\.outer: B has another loop of threads"):
        s[B].bind(ko, *threads("threadIdx.y"))
    s[B].reorder(ki, ko, B.op.axis[0])
    with pytest.raises(TirxError, match="no loop is around its threads"):
        te.lower(s, [A, B])
