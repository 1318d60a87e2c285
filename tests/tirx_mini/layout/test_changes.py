"""Layouts with copies and offsets, and layouts made of layouts."""

from __future__ import annotations

import numpy as np
import pytest

from tirx_mini.layout import (
    Axis,
    ComposeLayout,
    LayoutError,
    R,
    S,
    SwizzleLayout,
    SwizzleMode,
    TileLayout,
    compose,
    inverse,
    is_bijective,
    laneid,
    m,
    slice_region,
    tma_shared_layout,
    vector_length,
)

FRAGMENT = TileLayout(S[(8, (4, 4)) : (4 @ laneid, (4, 1))] + R[4 : 1 @ laneid])
TILE = TileLayout(S[(8, 64) : (64, 1)])
ATOM = ComposeLayout(SwizzleLayout(SwizzleMode.SWIZZLE_128B_ATOM, 16), TILE)


def test_copies_and_offsets_print_as_they_are_written() -> None:
    assert repr(FRAGMENT) == "TileLayout(S[(8, (4, 4)) : (4@laneid, (4, 1))] + R[4 : 1@laneid])"
    moved = TileLayout(S[(8, 4) : (4, 1)] + 64 + 3 @ laneid)
    assert repr(moved) == "TileLayout(S[(8, 4) : (4, 1)] + 64 + 3@laneid)"
    assert TileLayout(S[8:1] + 0) == TileLayout(S[8:1]) and S[8:1] + 2 + 3 == S[8:1] + 5


def test_copies_count_in_the_span_and_not_in_the_size() -> None:
    assert (FRAGMENT.size(), FRAGMENT.span(), FRAGMENT.span("laneid"), FRAGMENT.size("laneid")) == (128, 16, 32, 8)
    assert FRAGMENT.apply(1, 11) == {laneid: 4, m: 11} and FRAGMENT.storage() == TileLayout(S[(4, 4) : (4, 1)])
    assert not is_bijective(FRAGMENT)


def test_an_offset_moves_every_element() -> None:
    moved = TileLayout(S[(8, 64) : (64, 1)] + 128)
    assert moved.apply(1, 2)["m"] == 194 and moved.cosize() == 640
    assert moved.reshape((4, 2, 64)).apply_m(0, 1, 3) == 195 and moved.simplify().apply_m(0, 0) == 128
    part = slice_region(moved, (2, 0), (2, 64))
    assert part.base == {m: 256} and part.layout == TileLayout(S[(2, 64) : (64, 1)])
    assert vector_length(TileLayout(S[(8, 64) : (64, 1)] + 4)) == 4


def test_a_swizzle_acts_on_the_moved_place() -> None:
    for first in (0, 8, 64, 512, 1024):
        layout = ComposeLayout(ATOM.swizzle, TileLayout(S[(8, 64) : (64, 1)] + first))
        place = np.arange(512).reshape(8, 64) + first
        assert (layout.to_table()[m] == ATOM.swizzle(place)).all()


@pytest.mark.parametrize(
    "build",
    [lambda: inverse(FRAGMENT), lambda: compose(FRAGMENT, TILE), lambda: compose(TILE, TileLayout(S[8:1] + 1))],
)
def test_layouts_with_copies_or_offsets_have_no_inverse(build) -> None:
    with pytest.raises(LayoutError):
        build()


def test_places_by_the_number_of_an_element_and_in_another_shape() -> None:
    assert TILE.apply(65) == {m: 65} and ATOM.apply(72) == ATOM.apply(1, 8)
    assert ATOM.apply(3, 9, shape=(16, 32)) == ATOM.apply(1, 41)
    assert TileLayout(S[(2, 3) : (3, 1)]).apply(2, 1, shape=(3, 2)) == {m: 5}
    with pytest.raises(LayoutError, match="is no element of"):
        TILE.apply(1, 2, shape=(8, 8))


@pytest.mark.parametrize("layout", [TILE, ATOM, TileLayout(S[(8, 64) : (1, 8)] + 16)])
@pytest.mark.parametrize("count", [2, 4])
def test_unpacked_elements_pack_again(layout, count: int) -> None:
    wide = layout.unpack(count)
    assert wide.shape == (8, 64 * count)
    assert (wide.to_table()[m][:, ::count] == count * layout.to_table()[m]).all()
    assert (wide.to_table()[m][:, 1::count] == count * layout.to_table()[m] + 1).all()
    assert wide.pack(count).canonicalize() == layout.canonicalize()


def test_what_is_not_contiguous_is_not_packed() -> None:
    for layout in (TileLayout(S[(8, 64) : (1, 8)]), TileLayout(S[(8, 2) : (3, 1)]), TileLayout(S[(4, 4) : (4, 1)] + 1)):
        with pytest.raises(LayoutError, match="packed"):
            layout.pack(2)


def test_a_tile_repeated_to_a_shape() -> None:
    big = ATOM.tile_to((16, 128), (8, 64))
    table = big.to_table()[m]
    assert is_bijective(big) and (table[8:, 64:] == ATOM.to_table()[m] + 3 * 512).all()
    assert (table[:8, 64:] == ATOM.to_table()[m] + 512).all()
    with pytest.raises(LayoutError, match="whole number of tiles"):
        TILE.tile_to((12, 64), (8, 64))
    with pytest.raises(LayoutError, match="whole number of tiles"):
        TILE.tile_to((2, 8, 64), (8, 64))


def test_permuted_and_broadcast_dimensions() -> None:
    assert (ATOM.permute_dims((1, 0)).to_table()[m] == ATOM.to_table()[m].T).all()
    assert TILE.broadcast(3, 0).apply_m(2, 1, 1) == 65 and TILE.broadcast(3).shape == (8, 64, 3)
    assert TILE.is_trivial() and not ATOM.is_trivial() and not TILE.permute_dims((1, 0)).is_trivial()
    with pytest.raises(LayoutError, match="is not an order"):
        TILE.permute_dims((0, 0))


def test_the_bits_of_tvms_swizzles() -> None:
    assert ComposeLayout(3, 3, 3, TILE) == ATOM
    assert ComposeLayout(4, 2, 3, TILE).swizzle == SwizzleLayout(SwizzleMode.SWIZZLE_64B_ATOM, 8)
    assert ComposeLayout(3, 0, 3, TILE).is_trivial()
    layout = tma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (64, 64))
    assert ComposeLayout(3, 3, 3, TileLayout(S[(64, 64) : (64, 1)])) == layout
    for bits in ((3, 3, 4), (3, 4, 3), (9, 3, 3)):
        with pytest.raises(LayoutError, match="the hardware has no swizzle"):
            ComposeLayout(*bits, TILE)
    with pytest.raises(LayoutError, match="swizzle_inner=False"):
        ComposeLayout(3, 3, 3, TILE, swizzle_inner=False)


def test_axes_by_name() -> None:
    assert Axis.laneid is laneid and laneid == "laneid" and TILE.apply(1, 1)["m"] == 65
    with pytest.raises(AttributeError, match="the axes are"):
        _ = Axis.lane
