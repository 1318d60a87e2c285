"""Index maps, and what `transform_layout`, `transform_block_layout` and `reindex` make of buffers and blocks."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tirx_mini import te
from tirx_mini.ir import TirxError
from tirx_mini.script import tir as T

from .examples import matmul, random

MAPS = [
    (lambda i, j: (i // 4, j // 2, i % 4, j % 2), (8, 6)),
    (lambda i, j: (j, i), (8, 6)),
    (lambda i, j: (i * 6 + j,), (8, 6)),
    (lambda i, j: (j // 3, te.IndexMap.AXIS_SEPARATOR, i * 3 + j % 3), (8, 6)),
    (lambda *i: (i[0] // 2 % 2, i[1], i[0] // 4, i[0] % 2), (8, 6)),
]


@pytest.mark.parametrize(("function", "shape"), MAPS)
def test_a_map_and_its_inverse(function, shape):
    made = te.IndexMap.from_func(function, ndim=len(shape))
    inverse, extents = made.inverse(shape), made.map_shape(shape)
    seen = set()
    for place in product(*map(range, shape)):
        new = tuple(index.value for index in made.map_indices(place))
        assert tuple(index.value for index in inverse.map_indices(new)) == place
        seen.add(new)
    assert seen == set(product(*map(range, extents)))
    assert made.is_equivalent_to(te.IndexMap.from_func(function, ndim=len(shape)))


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (lambda i, j: (i // 4, j), "it does not keep all digits of i|it is of 2 values of i"),
        (lambda i, j: (i // 3, i % 3, j), "the extent 8 of i is not divisible by 3"),
        (lambda i, j: (i * 8 + j,), "leaves out values"),
        (lambda i, j: (i * j, j), "is not a sum of"),
        (lambda i: (i,), "has 1 indices, not 2"),
    ],
)
def test_maps_that_are_not_known_to_be_bijections_are_refused(function, why):
    with pytest.raises(TirxError, match=why):
        te.IndexMap.from_func(function).inverse((8, 6))


@T.prim_func
def chain(A: T.Buffer((16, 32), "float32"), C: T.Buffer((16, 32), "float32")):
    B = T.alloc_buffer((16, 32), "float32")
    for i, j in T.grid(16, 32):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi, vj])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(16, 32):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1.0


def test_a_buffer_between_blocks_is_stored_in_tiles():
    sch = te.TirSchedule(chain)
    sch.transform_layout("B", ("write", 0), lambda m, n: (m // 8, n // 16, m % 8, n % 16))
    text = sch.func.script()
    assert "B = T.alloc_buffer((2, 2, 8, 16)" in text and "B[vi // 8, vj // 16, vi % 8, vj % 16] = A[vi, vj]" in text
    sch.transform_block_layout("B", lambda i, j: (i * 32 + j,))
    assert "v0 = T.axis.spatial(512, ax0)" in sch.func.script()
    a, c = random(16, 32), np.zeros((16, 32), np.float32)
    te.build(sch.mod, target="llvm")(a, c)
    np.testing.assert_array_equal(c, 2 * a + 1)


def test_an_argument_is_passed_with_its_new_shape():
    sch = te.TirSchedule(chain)
    sch.transform_layout("C", "C", lambda m, n: (n, m))
    a, c = random(16, 32), np.zeros((32, 16), np.float32)
    te.build(sch.mod, target="llvm")(a, c)
    np.testing.assert_array_equal(c, (2 * a + 1).T)


def test_copies_with_the_indices_of_the_block():
    image, kernel = te.placeholder((10, 10), name="image"), te.placeholder((3, 3), name="kernel")
    y, x = (te.reduce_axis((0, 3), name=name) for name in ("y", "x"))
    out = te.compute((8, 8), lambda i, j: te.sum(image[i + y, j + x] * kernel[y, x], axis=[y, x]), name="out")
    sch = te.TirSchedule(te.create_prim_func([image, kernel, out]))
    windows = sch.reindex("out", ("read", 0))
    result = sch.reindex("out", ("write", 0))
    assert (windows.name, result.name) == ("image_reindex", "out_reindex")
    sch.transform_block_layout("out", lambda i, j, y, x: (i * 8 + j, y * 3 + x))
    assert "v1 = T.axis.reduce(9, ax1)" in sch.func.script()
    a, b, c = random(10, 10), random(3, 3, seed=1), np.zeros((8, 8), np.float32)
    te.build(sch.mod, target="llvm")(a, b, c)
    seen = np.lib.stride_tricks.sliding_window_view(a, (3, 3))
    np.testing.assert_array_equal(c, (seen * b).sum((2, 3)))


def test_what_is_not_a_layout_is_refused():
    sch = te.TirSchedule(te.create_prim_func(matmul(8, 8, 8).args))
    before = sch.func.script()
    for call, message in (
        (lambda: sch.transform_layout("C", ("read", 2), lambda i, j: (j, i)), "C does not access 2"),
        (lambda: sch.transform_layout("C", ("write", 0), lambda i, j: (i // 3, i % 3, j)), "not divisible by 3"),
        (lambda: sch.transform_block_layout("C", lambda i, j, k: (i * 8 + k, j)), "counts both elements of C and what"),
        (lambda: sch.set_axis_separator("C", "C", [1]), "set_axis_separator is not provided"),
        (lambda: sch.unsafe_set_dtype("C", 0, "float16"), "unsafe_set_dtype is not provided"),
        (lambda: sch.reorder_block_iter_var("C", [0, 1]), "is not a permutation of the 3 variables of C"),
    ):
        with pytest.raises(TirxError, match=message):
            call()
    assert sch.func.script() == before
    sch.reorder_block_iter_var("C", [2, 0, 1])
    assert [var.name for var in sch.get(sch.get_block("C")).vars] == ["v_k", "v_i", "v_j"]
    with pytest.raises(AttributeError, match="no attribute 'transform_everything'"):
        sch.transform_everything()
