"""TileLayout and S: notation, evaluation, regrouping."""

from __future__ import annotations

import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import tirx_mini.layout as layout_room
from tests.tirx_mini.layout.strategies import coordinates, enumerate_tile, shared_layouts, tiles
from tests.tirx_mini.layout.symbolic import Name, evaluate
from tirx_mini.layout import (
    AXES,
    Axis,
    Iter,
    LayoutError,
    S,
    Spec,
    Stride,
    TCol,
    TileLayout,
    TLane,
    laneid,
    m,
    tid_in_wg,
    warpid,
    wid_in_wg,
)


def test_a_stride_moves_along_its_axis() -> None:
    assert 4 @ laneid == Stride(4, laneid)
    assert np.int64(3).item() @ TLane == Stride(3, TLane)
    assert str(4 @ laneid) == "4@laneid" and str(4 @ m) == "4"
    assert AXES["TCol"] is TCol and all(axis.name == name for name, axis in AXES.items())
    assert laneid.is_thread() and tid_in_wg.is_thread() and TLane.is_memory() and m.is_memory()


def test_s_reads_shape_and_strides() -> None:
    tmem = TileLayout(S[(128, 512) : (1 @ TLane, 1 @ TCol)])
    assert tmem.shape == (128, 512) and tmem.axes == (TLane, TCol) and tmem.size() == 65536
    assert tmem.iters == (Iter(128, 1, TLane), Iter(512, 1, TCol))
    assert (tmem.cosize(TLane), tmem.cosize(TCol), tmem.cosize()) == (128, 512, 1)
    assert tmem.apply(3, 4) == {TLane: 3, TCol: 4}
    assert TileLayout(S[128 : 1 @ TLane]).apply(5) == {TLane: 5}
    assert TileLayout(S[(128, 64)]) == TileLayout(S[128, 64]) == TileLayout(S[(128, 64) : (64, 1)])
    assert TileLayout(S[12]) == TileLayout(S[12:1])


def test_a_dimension_may_have_several_digits() -> None:
    blocks = TileLayout(S[((16, 8), (8, 8)) : ((64, 8), (1024, 1))])
    assert blocks.shape == (128, 64) and blocks.ndim == 2
    assert blocks.apply_m(9, 10) == 64 + 8 + 1024 + 2
    assert TileLayout(S[((2, 3), 4)]) == TileLayout(S[((2, 3), 4) : ((12, 4), 1)])
    registers = TileLayout(S[((2, 4), 8) : ((4 @ warpid, 1 @ warpid), 1)])
    assert registers.apply(6, 3) == {warpid: 6, m: 3}


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: S[(128, 64) : (64,)], "one stride for each of its 2 extents"),
        (lambda: S[(128, 64) : 1], "one stride for each"),
        (lambda: S[128 : (1, 2)], "one stride for each"),
        (lambda: S[((2, 4), 8) : (4, 1)], r"extents \(2, 4\) and the strides 4 do not pair up"),
        (lambda: S[128:TLane], "write 1@TLane"),
        (lambda: S[128:1.5], r"a stride in S\[shape : strides\] must be an int or int@axis, not 1.5"),
        (lambda: S[128 : 1.5 @ TLane], "the stride in stride@TLane must be an int, not 1.5"),  # type: ignore[operator]
        (lambda: S[128:-1], "must not be negative"),
        (lambda: S["128"], r"an extent in S\[shape : strides\] must be an int or a tuple of ints, not '128'"),
        (lambda: S[(0, 4)], "must be at least 1"),
        (lambda: S[((), 4)], "must be at least 1"),
        (lambda: TileLayout((128, 64)), r"TileLayout takes S\[shape : strides\]"),  # type: ignore[arg-type]
        (lambda: TileLayout(S[(4, 4)]).apply(1, 2, 3), "takes 2 coordinates, not 3"),
        (lambda: TileLayout(S[4 : 1 @ TLane]).apply_m(1), "over memory only"),
    ],
)
def test_invalid_arguments_are_rejected_in_one_sentence(build, sentence) -> None:
    with pytest.raises(LayoutError, match=sentence):
        build()


@given(tiles())
def test_apply_agrees_with_an_enumeration(tile: TileLayout) -> None:
    expected = enumerate_tile(tile)
    tables = tile.to_table()
    assert set(tables) == set(tile.axes)
    for coords in coordinates(tile.shape):
        assert tile.apply(*coords) == expected[coords]
        assert {axis: table[coords] for axis, table in tables.items()} == expected[coords]
    for axis in tile.axes:
        assert tile.cosize(axis) == 1 + max(places[axis] for places in expected.values())


@given(st.one_of(tiles(), shared_layouts().map(lambda made: made[0])))
def test_symbolic_evaluation_agrees_with_numpy(layout) -> None:
    names = [f"i{dim}" for dim in range(layout.ndim)]
    expressions = layout.apply(*map(Name, names))
    grids = dict(zip(names, np.indices(layout.shape, sparse=True), strict=True))
    for axis, table in layout.to_table().items():
        np.testing.assert_array_equal(np.broadcast_to(evaluate(expressions[axis], **grids), layout.shape), table)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (S[(128, 64)], "((r * 64) + c)"),
        (S[(128, 64) : (1, 128)], "(r + (c * 128))"),
        (S[(1, 64)], "c"),
        (S[(1, 1)], "0"),
        (S[((16, 8), 64) : ((512, 64), 1)], "((r * 64) + c)"),  # the digits of r continue one another
        (S[((16, 8), 64) : ((8, 1), 128)], "(r + (c * 128))"),
        (S[((16, 8), (8, 8)) : ((64, 8), (1024, 1))], "(((r * 8) + ((c // 8) * 1024)) + (c % 8))"),
        (S[(8, (2, 4, 2)) : (16, (4, 8, 2))], "((((r * 16) + ((c // 8) * 4)) + (((c // 2) % 4) * 8)) + ((c % 2) * 2))"),
    ],
)
def test_the_emitted_arithmetic_is_minimal(spec: Spec, expected: str) -> None:
    assert str(TileLayout(spec).apply_m(Name("r"), Name("c"))) == expected


@given(tiles())
def test_repr_evaluates_to_the_layout(tile: TileLayout) -> None:
    assert eval(repr(tile), vars(layout_room) | AXES) == tile


def test_repr_uses_the_notation_of_s() -> None:
    for text in (
        "TileLayout(S[(128, 512) : (1@TLane, 1@TCol)])",
        "TileLayout(S[128 : 1@tid_in_wg])",
        "TileLayout(S[((4, 2, 8), 64) : ((1@wid_in_wg, 2, 4@laneid), 1)])",
        "TileLayout(S[((4, 8),) : ((16, 1),)])",
    ):
        assert repr(eval(text, vars(layout_room) | AXES)) == text


def test_equality_and_hash_are_structural() -> None:
    a, b = (TileLayout(S[(128, 64) : (1 @ tid_in_wg, 1)]) for _ in range(2))
    assert a == b and hash(a) == hash(b) and len({a, b}) == 1
    assert a != TileLayout(S[(128, 64) : (1 @ wid_in_wg, 1)])
    assert Axis("TLane") == TLane


@given(tiles())
def test_simplify_keeps_the_map(tile: TileLayout) -> None:
    simple = tile.simplify()
    assert simple.shape == tile.shape and len(simple.iters) <= len(tile.iters)
    assert simple.simplify() == simple
    for coords in coordinates(tile.shape):
        places, before = simple.apply(*coords), tile.apply(*coords)
        assert all(places.get(axis, 0) == before.get(axis, 0) for axis in {*places, *before})


@given(tiles(), st.data())
def test_group_is_reshape(tile: TileLayout, data: st.DataObject) -> None:
    flat = tuple(it.extent for it in tile.iters)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(flat)), max_size=3)))
    shape = tuple(math.prod(flat[a:b]) for a, b in zip([0, *cuts], [*cuts, len(flat)], strict=True))
    grouped = tile.reshape(shape)
    assert grouped.shape == shape and set(grouped.axes) <= set(tile.axes)
    for axis, table in grouped.to_table().items():
        np.testing.assert_array_equal(table, tile.to_table()[axis].reshape(shape))
    for axis in set(tile.axes) - set(grouped.axes):  # grouping may drop an axis with extent 1
        assert tile.cosize(axis) == 1


def test_group_splits_digits_or_rejects_the_shape() -> None:
    assert TileLayout(S[128:1]).reshape((2, 8, 8)) == TileLayout(S[(2, 8, 8)])
    flat = TileLayout(S[(4, 2, 8, 8, 4, 2) : (1 @ wid_in_wg, 2, 4 @ laneid, 4, 1 @ laneid, 1)])
    assert flat.reshape((64, 64)).apply(17, 9) == {wid_in_wg: 1, m: 4 + 1, laneid: 4}
    with pytest.raises(LayoutError, match="does not divide 6"):
        TileLayout(S[6]).reshape((2, 4))
    with pytest.raises(LayoutError, match="too few"):
        TileLayout(S[8]).reshape((2, 8))
    with pytest.raises(LayoutError, match="has 8 elements, not the 4"):
        TileLayout(S[8]).reshape((4,))
