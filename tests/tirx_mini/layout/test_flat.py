"""TVM's algebra of layouts. Expected layouts are those that Apache TVM 0.26 returns."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tirx_mini.layout.strategies import tiles
from tirx_mini.layout import (
    Axis,
    ComposeLayout,
    ExecScope,
    Iter,
    LayoutError,
    P,
    R,
    S,
    TCol,
    TileLayout,
    laneid,
    m,
    tid_in_wg,
    tx,
    warpid,
    wid_in_wg,
)

MIXED = TileLayout(S[(8, 1, 4, 16) : (8 @ laneid, 16 @ warpid, 4 @ warpid, 2)] + R[2 : 8 @ warpid])
ATOM = ComposeLayout(3, 3, 3, TileLayout(S[8, 64]))


def flat(layout: TileLayout) -> list[tuple[int, int, str]]:
    return [(it.extent, it.stride, it.axis.name) for it in layout.shard]


def moving(layout: TileLayout) -> list[Iter]:
    return [it for it in layout.canonicalize().shard if it.extent > 1]


def test_the_canonical_form_joins_neighbours_and_sorts_copies() -> None:
    assert flat(MIXED.canonicalize()) == [(8, 8, "laneid"), (4, 4, "warpid"), (16, 2, "m")]
    assert flat(TileLayout(S[(2, 4) : (4, 1)]).canonicalize()) == [(8, 1, "m")]
    assert flat(TileLayout(S[1 : 16 @ laneid]).canonicalize()) == [(1, 1, "laneid")]
    copies = TileLayout(S[64] + R[(4, 2) : (1 @ laneid, 4 @ laneid)]).canonicalize()
    assert copies.replica == (Iter(2, 4, laneid), Iter(4, 1, laneid))


def test_group_cuts_at_the_extents_of_a_shape() -> None:
    cut, seps = MIXED.group((2, 2, 4, 32))
    assert seps == [0, 1, 2, 4, 6]
    assert flat(cut) == [
        (2, 32, "laneid"), (2, 16, "laneid"), (2, 8, "laneid"), (2, 8, "warpid"), (2, 4, "warpid"), (16, 2, "m"),
    ]  # fmt: skip
    assert flat(cut.permute_by_groups(seps, [3, 1, 0, 2]))[:3] == [(2, 4, "warpid"), (16, 2, "m"), (2, 16, "laneid")]
    with pytest.raises(LayoutError, match="is not an order of the 4 groups"):
        cut.permute_by_groups(seps, [0, 0, 1, 2])


def test_group_many_cuts_at_the_extents_of_several_shapes() -> None:
    cut, seps = TileLayout(S[2, 4]).group_many([(4, 2, 1), (1, 8)])
    assert [it.extent for it in cut.shard] == [1, 2, 2, 2, 1] and seps == [[0, 3, 4, 5], [0, 1, 5]]
    with pytest.raises(LayoutError, match="not the 12 of shape"):
        cut.group_many([(3, 4)])
    with pytest.raises(LayoutError, match="cut through one another"):
        TileLayout(S[6]).group_many([(2, 3), (3, 2)])


def test_the_digits_of_an_element_of_another_shape() -> None:
    assert MIXED.apply_to_shape([1, 0, 3, 9], (2, 2, 4, 32)) == [1, 0, 1, 1, 0, 9]
    assert TileLayout(S[2, 3]).apply_to_shape([2, 1], (3, 2)) == [1, 2]  # the shapes cut through one another


def test_tiles_have_the_span_of_the_inner_layout_as_stride() -> None:
    outer = TileLayout(S[(16, 4, 3, 4) : (1, 4, 4, 4)])
    tiled = MIXED.tile(outer, (16, 4, 3, 4), (8, 1, 4, 16))
    assert flat(tiled.canonicalize()) == [
        (16, 31, "m"), (8, 8, "laneid"), (4, 124, "m"), (3, 124, "m"), (4, 4, "warpid"), (4, 124, "m"), (16, 2, "m"),
    ]  # fmt: skip
    shape = (128, 4, 12, 64)
    found = MIXED.is_tile_inner(tiled, shape, (8, 1, 4, 16))
    assert found is not None and found.canonicalize() == outer.canonicalize()
    inner = outer.is_tile_outer(tiled, shape, (16, 4, 3, 4))
    assert inner is not None and inner.canonicalize() == MIXED.canonicalize()
    assert TileLayout(S[8, 1, 4, 16]).is_tile_inner(tiled, shape, (8, 1, 4, 16)) is None


def test_a_layout_that_begins_elsewhere_is_repeated_at_its_span() -> None:
    moved = TileLayout(S[(4, 8) : (8, 1)] + 16)
    tiled = moved.tile_to((8, 64), (4, 8))
    assert flat(tiled.canonicalize()) == [(2, 384, "m"), (4, 8, "m"), (8, 48, "m"), (8, 1, "m")]
    assert tiled.offset == {m: 16}


@given(tiles(), st.data())
def test_parts_of_a_sum_are_found_again(right: TileLayout, data: st.DataObject) -> None:
    shape = [data.draw(st.integers(1, 4)) for _ in right.shape]
    left = TileLayout(S[tuple(shape)])
    total = right.direct_sum(left, shape, right.shape)
    interleaved = [extent for pair in zip(shape, right.shape, strict=True) for extent in pair]
    found = right.is_direct_sum_right(total, interleaved, right.shape)
    assert found is not None and moving(found) == moving(left)
    found = left.is_direct_sum_left(total, interleaved, shape)
    assert isinstance(found, TileLayout) and moving(found) == moving(right)


def test_slices_begin_at_the_place_of_their_first_element() -> None:
    part = MIXED.slice((8, 1, 4, 16), [(2, 7), (0, 1), (0, 3), (15, 16)])
    assert part is not None and part.offset == {laneid: 16, m: 30} and flat(part.canonicalize())[0] == (5, 8, "laneid")
    rows = TileLayout(S[8, 64]).slice((8, 64), [SimpleNamespace(min=2, extent=2), (0, 64)])
    assert rows is not None and rows.canonicalize() == TileLayout(S[128] + 128)
    assert TileLayout(S[((2, 4), 8) : ((64, 1), 4)]).slice((8, 8), [(3, 6), (0, 8)]) is None
    assert ATOM.slice((8, 64), [(1, 2), (0, 64)]) == ComposeLayout(3, 3, 3, TileLayout(S[(1, 64) : (64, 1)] + 64))
    with pytest.raises(LayoutError, match="as many ranges"):
        MIXED.slice((8, 1, 4, 16), [(0, 1)])


def test_swizzled_layouts_tile_and_are_found_again() -> None:
    tiled = ATOM.tile_to((16, 128), (8, 64))
    outer = ATOM.is_tile_inner(tiled, (16, 128), (8, 64))
    assert outer is not None and outer.canonicalize() == TileLayout(S[2, 2]).canonicalize()
    assert TileLayout(S[2, 2]).is_tile_outer(tiled, (16, 128), (2, 2)) == ATOM.with_tile(TileLayout(S[8, 64]))
    assert ATOM.is_tile_inner(tiled.tile_layout, (16, 128), (8, 64)) is None
    assert TileLayout(S[8, 64]).is_tile_inner(tiled, (16, 128), (8, 64)) is None
    summed = ATOM.direct_sum(TileLayout(S[(2, 1) : (512, 1)]), (2, 1), (8, 64))
    assert ATOM.is_direct_sum_right(summed, (2, 8, 1, 64), (8, 64)) is not None
    assert (ATOM.per_element, ATOM.swizzle_len, ATOM.atom_len, ATOM.swizzle_inner) == (3, 3, 3, True)
    assert ATOM.is_swizzle() and not ATOM.is_trivial() and not MIXED.is_swizzle()
    spread = ATOM.tile(TileLayout(S[(4, 1) : (1 @ warpid, 1)]), (4, 1), (8, 64))
    assert spread.apply(9, 8) == {warpid: 1, m: 64} and ATOM.with_tile(TileLayout(S[8])).span() == 8


def test_scopes_of_axes_and_of_layouts() -> None:
    assert MIXED.get_scope() == (ExecScope("thread"), ExecScope("cta")) and MIXED.verify_well_formed()
    fragment = TileLayout(S[(4, 32, 2) : (1 @ wid_in_wg, 1 @ laneid, 1)])
    assert fragment.get_scope() == (ExecScope("thread"), ExecScope("warpgroup"))
    assert ATOM.tile_layout.get_scope() is None and laneid.get_subscope() == ExecScope("thread")
    assert m.get_scope() is None and Axis.get("laneid") is laneid and Axis.get("new").is_thread()
    for wrong in (S[(2, 4) : (64 @ tx, 1 @ warpid)], S[(2, 4) : (1 @ tid_in_wg, 1 @ warpid)]):
        with pytest.raises(LayoutError, match="do not nest"):
            TileLayout(wrong).verify_well_formed()
    with pytest.raises(LayoutError, match="a scope is thread"):
        ExecScope("kernel")
    assert P.is_memory() and TileLayout(S[(128, 4) : (1 @ P, 1)]).is_trainium() and not ATOM.is_trainium()


def test_ways_to_write_a_layout() -> None:
    assert TileLayout(S[(8, 4) : ("laneid", 1)]) == TileLayout(S[(8, 4) : (1 @ laneid, 1)])
    assert TileLayout(S[(8, 4) : ((4, "laneid"), 1)]) == TileLayout(S[(8, 4) : (4 @ laneid, 1)])
    assert TileLayout(S[[8, 4] : [4, 1]]) == TileLayout(S[8, 4]) and R[4].iters == (Iter(4, 1),)
    assert TileLayout(R[4 : 1 @ laneid] + S[8]) == TileLayout(S[8] + R[4 : 1 @ laneid])
    assert TileLayout(S[8] + (1 @ laneid + 2 @ warpid + 3)) == TileLayout(2 @ warpid + (1 @ laneid + (3 + S[8])))
    made = TileLayout.from_iters([Iter(8, 1, "m"), Iter(4, 1, laneid)], [Iter(2, 4, "laneid")], {"TCol": 3, m: 0})
    assert made == TileLayout(S[(8, 4) : (1, 1 @ laneid)] + R[2 : 4 @ laneid] + 3 @ TCol)
