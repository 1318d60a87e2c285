"""Injectivity, bijectivity, inverse and composition of layouts."""

from __future__ import annotations

import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from tests.tirx_mini.layout.strategies import SWIZZLED, bijective_tiles, coordinates, shared_layouts, tiles
from tests.tirx_mini.layout.symbolic import Name, evaluate
from tirx_mini.layout import (
    ComposeLayout,
    Iter,
    LayoutError,
    S,
    Spec,
    SwizzleLayout,
    SwizzleMode,
    TileLayout,
    TLane,
    compose,
    inverse,
    inverse_tile,
    is_bijective,
    is_injective,
    m,
)


def places(layout) -> list[tuple[int, ...]]:
    """The place of each element, one number per axis."""
    return list(zip(*(table.reshape(-1).tolist() for table in layout.to_table().values()), strict=True))


@given(st.one_of(tiles(), tiles(axes=(m,))))
def test_injective_and_bijective_agree_with_counting(tile: TileLayout) -> None:
    used = places(tile)
    assert is_injective(tile) == (len(set(used)) == len(used))
    box = math.prod(tile.cosize(axis) for axis in tile.axes)
    assert is_bijective(tile) == (len(set(used)) == len(used) == box)


def test_interleaved_strides_without_collisions_are_injective() -> None:
    assert is_injective(TileLayout(S[(3, 2) : (2, 3)]))  # 0 2 4 and 3 5 7: neither stride exceeds the other's reach
    assert not is_injective(TileLayout(S[(4, 2) : (1, 3)]))
    assert not is_injective(TileLayout(S[2:0]))


@given(shared_layouts())
def test_shared_layouts_are_bijective(made) -> None:
    layout, _, _ = made
    assert is_injective(layout) and is_bijective(layout)
    assert sorted(places(layout)) == [(place,) for place in range(layout.cosize())]


def test_a_swizzled_tile_that_ends_inside_an_atom_may_have_holes() -> None:
    swizzle = SwizzleLayout(SwizzleMode.SWIZZLE_128B_ATOM, 16)
    assert is_bijective(ComposeLayout(swizzle, TileLayout(S[(3, 64)])))  # whole rows
    cut = ComposeLayout(swizzle, TileLayout(S[(1, 72)]))  # the first chunk of row 1 moves to the second
    assert is_injective(cut) and not is_bijective(cut) and max(places(cut)) == (79,)


@given(bijective_tiles())
def test_composing_with_the_inverse_is_the_identity(tile: TileLayout) -> None:
    assert is_bijective(tile)
    back = inverse_tile(tile)
    element_at = inverse(tile)
    there = tile.to_table().values()
    np.testing.assert_array_equal(back.apply_m(*there), np.arange(tile.size()).reshape(tile.shape))
    for coord, expected in zip(element_at(*there), np.indices(tile.shape), strict=True):
        np.testing.assert_array_equal(np.broadcast_to(coord, tile.shape), expected)


@given(bijective_tiles(axes=(m,)))
def test_the_inverse_composes_to_row_major(tile: TileLayout) -> None:
    back = inverse_tile(tile)
    assert compose(back, tile).simplify() == TileLayout(S[tile.shape]).simplify()
    assert compose(tile, back).simplify() == TileLayout(S[tile.size()]).simplify()


@given(shared_layouts(SWIZZLED))
def test_the_inverse_of_a_swizzled_layout(made) -> None:
    layout, _, _ = made
    all_places = np.arange(layout.cosize())
    coords = inverse(layout)(all_places)
    np.testing.assert_array_equal(layout.apply_m(*coords), all_places)
    for symbolic, expected in zip(inverse(layout)(Name("place")), coords, strict=True):
        np.testing.assert_array_equal(np.broadcast_to(evaluate(symbolic, place=all_places), all_places.shape), expected)


@st.composite
def composable(draw: st.DrawFn) -> tuple[TileLayout, TileLayout]:
    """An outer layout of 2^n elements, and an inner one that keeps some digits of its element number, in any order."""
    powers = draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
    outer_iters = [Iter(2**power, draw(st.integers(0, 40)), draw(st.sampled_from([m, TLane]))) for power in powers]
    cut = draw(st.integers(0, len(outer_iters) - 1))
    outer = TileLayout(Spec(tuple(dim for dim in (tuple(outer_iters[:cut]), tuple(outer_iters[cut:])) if dim)))
    left, stride, digits = sum(powers), 1, []
    while left:
        power = draw(st.integers(1, left))
        if draw(st.booleans()):
            digits.append(Iter(2**power, stride))
        stride, left = stride << power, left - power
    inner = draw(st.permutations([*digits, Iter(1, 7)]))
    return outer, TileLayout(Spec(tuple((it,) for it in inner)))


@given(composable())
def test_compose_applies_the_outer_map_to_the_inner(pair: tuple[TileLayout, TileLayout]) -> None:
    outer, inner = pair
    composed = compose(outer, inner)
    assert composed.shape == inner.shape
    for coords in coordinates(inner.shape):
        element = np.unravel_index(inner.apply_m(*coords), outer.shape)
        direct, expected = composed.apply(*coords), outer.apply(*map(int, element))
        assert all(direct.get(axis, 0) == expected.get(axis, 0) for axis in {*direct, *expected})


def test_composing_with_a_swizzle_gives_a_compose_layout() -> None:
    swizzle, tile = SwizzleLayout(SwizzleMode.SWIZZLE_64B_ATOM, 16), TileLayout(S[(8, 32)])
    assert compose(swizzle, tile) == ComposeLayout(swizzle, tile)


def test_invalid_inverses_and_compositions_are_rejected() -> None:
    # The last one has four elements and a cosize of four, but uses only two places: 0 3 0 3.
    for layout in (TileLayout(S[4:2]), TileLayout(S[2:0]), TileLayout(S[(2, 2) : (0, 3)])):
        with pytest.raises(LayoutError, match="not bijective"):
            inverse(layout)
        with pytest.raises(LayoutError, match="not bijective"):
            inverse_tile(layout)
    with pytest.raises(LayoutError, match="stride 3 is not a positive multiple of 4"):
        compose(TileLayout(S[64]), TileLayout(S[(2, 4) : (3, 1)]))
    with pytest.raises(LayoutError, match="stride 0 is not a positive multiple of 1"):
        compose(TileLayout(S[64]), TileLayout(S[(2, 4) : (0, 1)]))
    with pytest.raises(LayoutError, match="does not divide the 6"):
        compose(TileLayout(S[6]), TileLayout(S[4]))
    with pytest.raises(LayoutError, match="memory only"):
        compose(TileLayout(S[4]), TileLayout(S[4 : 1 @ TLane]))
