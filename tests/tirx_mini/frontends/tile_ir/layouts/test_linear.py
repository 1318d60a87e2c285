"""Layouts against tables of all elements."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tirx_mini.frontends.tile_ir.layouts import LinearLayout, blocked

from .strategies import layouts, shapes


def test_a_layout_prints_the_coordinates_of_its_bases() -> None:
    layout = blocked((4, 16), warps=2, vector=2)
    assert str(layout) == "linear<register=[], lane=[[0,1],[0,2],[0,4],[0,8],[1,0]], warp=[[2,0]]>"


def test_blocked_gives_neighbouring_vectors_to_neighbouring_lanes() -> None:
    table = blocked((64, 64), warps=4, vector=8).table()
    assert table.shape == (4, 32, 32)
    assert table[0, :, 0].tolist() == [8 * lane for lane in range(32)]
    assert table[0, 0, :8].tolist() == list(range(8))
    assert table[1, 0, 0] == 8 * 32


def test_a_layout_that_misses_elements_is_refused() -> None:
    with pytest.raises(ValueError, match="without a register"):
        LinearLayout((4, 64), (), (1, 2, 4, 8, 16), ())
    with pytest.raises(ValueError, match="not a power of two"):
        blocked((48,), warps=1)


@given(layouts())
def test_every_element_is_where_place_says(layout: LinearLayout) -> None:
    table = layout.table()
    for element in range(layout.size):
        register, lane, warp = layout.place(element)
        assert table[warp, lane, register] == layout.element(register, lane, warp) == element


@given(layouts())
def test_owners_hold_each_element_once(layout: LinearLayout) -> None:
    lane_mask, warp_mask = layout.owners()
    lanes = [lane for lane in range(32) if not lane & lane_mask]
    warps = [warp for warp in range(layout.warps) if not warp & warp_mask]
    held = layout.without_replicas().table()[np.ix_(warps, lanes)].reshape(-1)
    assert sorted(held.tolist()) == list(range(layout.size))


@given(layouts(), st.data())
def test_renaming_bits_moves_no_data(layout: LinearLayout, data: st.DataObject) -> None:
    tile = np.arange(layout.size).reshape(layout.shape)
    held = layout.distribute(tile)
    dims = data.draw(st.permutations(range(len(layout.shape))))
    assert (layout.permute(dims).distribute(tile.transpose(dims)) == held).all()
    assert (layout.reshape((layout.size,)).distribute(tile.reshape(-1)) == held).all()
    axis = data.draw(st.integers(0, len(layout.shape)))
    assert (layout.expand_dims(axis).distribute(np.expand_dims(tile, axis)) == held).all()


@given(layouts(), st.data())
def test_a_thread_holds_the_sums_of_what_it_adds(layout: LinearLayout, data: st.DataObject) -> None:
    """After a reduction, a thread holds the results that its elements went into, and no others."""
    axis = data.draw(st.integers(0, len(layout.shape) - 1))
    coords = np.stack(np.unravel_index(layout.table(), layout.shape))
    kept = [np.delete(coords[:, w, lane], axis, 0) for w in range(layout.warps) for lane in range(32)]
    reduced = layout.reduce(axis)
    shape = reduced.shape
    for place, own in enumerate(kept):
        wanted = set(np.ravel_multi_index(tuple(own), shape).tolist()) if shape else {0}
        assert set(reduced.table()[place // 32, place % 32].tolist()) == wanted
    assert layout.reduce(axis, keepdims=True).reshape(shape) == reduced


@given(shapes, st.data())
def test_a_broadcast_repeats_elements_in_new_registers(shape: tuple[int, ...], data: st.DataObject) -> None:
    narrow = tuple(data.draw(st.sampled_from([1, extent])) for extent in shape)
    layout = data.draw(layouts(narrow))
    wide = layout.broadcast(shape)
    tile = np.arange(math.prod(shape)).reshape(shape)
    numbers = np.broadcast_to(np.arange(layout.size).reshape(narrow), shape)
    held = wide.distribute(numbers)
    assert (held[:, :, : layout.registers] == layout.table()).all()
    assert set(wide.distribute(tile).reshape(-1).tolist()) == set(range(math.prod(shape)))
    source = wide.broadcast_source(narrow)
    assert source.shape == narrow
    assert set(source.bases) <= set(layout.bases) | {0}


def test_vectors_are_registers_that_are_neighbours() -> None:
    assert blocked((64, 64), warps=4, vector=8).vector(16) == 8
    assert blocked((64, 64), warps=4, vector=8, order=(0, 1)).vector(16) == 1
    assert blocked((64, 64), warps=4, vector=8, order=(0, 1)).vector(4, axis=0) == 4
