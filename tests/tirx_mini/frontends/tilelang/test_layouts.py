"""Layouts of fragments: which thread holds which element."""

from __future__ import annotations

import numpy as np
import pytest

from tirx_mini.layout import S, TileLayout, m, tx
from tirx_mini.tilelang import layouts


@pytest.mark.parametrize(
    ("shape", "threads", "lanes"),
    [
        ((128, 64), 128, 8),
        ((1, 1024), 128, 4),
        ((96, 40), 128, 8),
        ((7, 100), 64, 1),
        ((100,), 128, 1),
        ((3, 5), 256, 1),
    ],
)
def test_each_element_has_one_owner_but_for_replicas(shape: tuple[int, ...], threads: int, lanes: int) -> None:
    fragment = layouts.spread(shape, threads, lanes)
    _, registers, places = fragment.table()
    inside = np.logical_and.reduce([place < extent for place, extent in zip(places, shape, strict=True)])
    numbers = np.ravel_multi_index([place[inside] for place in places], shape)
    counts = np.bincount(numbers, minlength=np.prod(shape))
    replicas = np.prod([digit.extent for digit in fragment.replicas]) if fragment.replicas else 1
    assert counts.min() >= 1 and counts.max() <= replicas
    held = np.broadcast_to(fragment.register(places), registers.shape)
    assert np.array_equal(held[inside], registers[inside])


def test_neighbouring_threads_hold_neighbouring_vectors() -> None:
    fragment = layouts.spread((128, 64), 128, 8)
    rows, columns = fragment.coordinates(np.arange(10), 0)
    assert columns.tolist() == [0, 8, 16, 24, 32, 40, 48, 56, 0, 8]
    assert rows.tolist() == [0] * 8 + [1, 1]


def test_a_reduced_dimension_leaves_replicas() -> None:
    rows = layouts.spread((128, 64), 128, 8).without(1)
    assert rows.shape == (128,)
    assert [digit.extent for digit in rows.replicas] == [8]
    assert rows.registers == 8


def test_a_layout_over_threads_and_registers_is_a_fragment() -> None:
    accumulator = TileLayout(S[((4, 2, 8), (8, 4, 2)) : ((32 @ tx, 2 @ m, 4 @ tx), (4 @ m, 1 @ tx, 1 @ m))])
    fragment = layouts.from_axe(accumulator, 128)
    assert fragment.registers == 32
    assert fragment.coordinates(5, 3) == (9, 3)
    assert not fragment.replicas


def test_a_whole_copy_for_each_thread() -> None:
    fragment = layouts.replicated((3, 4), 32)
    assert fragment.registers == 12
    assert fragment.register((2, 1)) == 9
    assert bool(fragment.holds((2, 1), 17))
