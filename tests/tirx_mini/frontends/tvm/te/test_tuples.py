"""Several tensors that one `compute` defines, and reductions of several values together."""

from __future__ import annotations

import numpy as np
import pytest

from tirx_mini import te
from tirx_mini.ir import TirxError, const, select

from .examples import random, threads

ROWS, COLUMNS = 8, 12


def largest() -> tuple[te.Tensor, te.Tensor, te.Tensor, te.Tensor]:
    """The place and the value of the largest element of each row; the first one of several."""

    def combine(x, y):
        first = x[1] >= y[1]
        return select(first, x[0], y[0]), select(first, x[1], y[1])

    argmax = te.comm_reducer(combine, lambda t0, t1: (const(-1, t0), te.min_value(t1)), name="argmax")
    places = te.placeholder((ROWS, COLUMNS), "int32", "places")
    values = te.placeholder((ROWS, COLUMNS), name="values")
    k = te.reduce_axis((0, COLUMNS), "k")
    place, value = te.compute((ROWS,), lambda i: argmax((places[i, k], values[i, k]), axis=k), name="T")
    return places, values, place, value


def check_largest(function) -> None:
    values = random(ROWS, COLUMNS)
    place, value = np.zeros(ROWS, np.int32), np.zeros(ROWS, np.float32)
    function(np.tile(np.arange(COLUMNS, dtype=np.int32), (ROWS, 1)), values, place, value)
    np.testing.assert_array_equal(place, values.argmax(1))
    np.testing.assert_array_equal(value, values.max(1))


@pytest.mark.parametrize("kind", ["plain", "vectorize", "parallel", "unroll", "outer", "bind"])
def test_a_reduction_of_pairs(kind):
    args = largest()
    s = te.create_schedule(args[2].op)
    stage, (i,), (k,) = s[args[3]], args[2].op.axis, args[2].op.reduce_axis
    if kind == "outer":
        stage.reorder(k, i)
        stage.vectorize(i)
    elif kind == "bind":
        stage.bind(i, *threads("threadIdx.x"))
    elif kind != "plain":
        getattr(stage, kind)(i)
    text = str(te.lower(s, args))
    assert "T_v0" in text and "T_v1" in text
    check_largest(te.build(s, args, "sim:h100" if kind == "bind" else "llvm"))


@pytest.mark.parametrize("place", ["root", "at", "inline"])
def test_several_tensors_and_their_readers(place):
    A = te.placeholder((ROWS, COLUMNS), name="A")
    double, more = te.compute((ROWS, COLUMNS), lambda i, j: (A[i, j] * 2, A[i, j] + 1), name="B")
    assert (double.op.num_outputs, more.value_index, more.op.output(1)) == (2, 1, more)
    C = te.compute((ROWS, COLUMNS), lambda i, j: double[i, COLUMNS - 1 - j] - more[i, j], name="C")
    s = te.create_schedule(C.op)
    if place == "at":
        s[more].compute_at(s[C], C.op.axis[0])
    elif place == "inline":
        s[double].compute_inline()
    assert str(te.lower(s, [A, C])).count("alloc_buffer") == (0 if place == "inline" else 2)
    a, c = random(ROWS, COLUMNS), np.zeros((ROWS, COLUMNS), np.float32)
    te.build(s, [A, C], "llvm")(a, c)
    np.testing.assert_array_equal(c, a[:, ::-1] * 2 - (a + 1))


def test_values_that_read_what_others_write_are_computed_first():
    args = largest()
    body = str(te.lower(te.create_schedule(args[2].op), args))
    assert body.index("v0") < body.index("T_v0[i] = v0") and body.index("v1 ") < body.index("T_v0[i] = v0")


def test_the_values_of_a_tuple_are_stores_of_one_block():
    args = largest()
    sch = te.TirSchedule(te.create_prim_func(args))
    sch.parallel(sch.get_loops("T")[0])
    check_largest(te.build(sch.mod, target="llvm"))


def test_what_single_tensors_alone_have_is_refused():
    args = largest()
    s = te.create_schedule(args[2].op)
    for call in (
        lambda: s.cache_write(args[2], "local"),
        lambda: s.rfactor(args[2], args[2].op.reduce_axis[0]),
    ):
        with pytest.raises(TirxError, match="T computes 2 tensors together"):
            call()
    pair = te.comm_reducer(lambda x, y: x + y, lambda t: const(0, t), name="pair")
    k = te.reduce_axis((0, 4), "k")
    with pytest.raises(TirxError, match=r"te\.pair does not reduce 2 values"):
        pair((args[0][0, k], args[1][0, k]), axis=k)
    with pytest.raises(TirxError, match="one compute has several reductions"):
        te.compute((ROWS,), lambda i: (te.sum(args[1][i, k], axis=k), te.max(args[1][i, k], axis=k)), name="X")
