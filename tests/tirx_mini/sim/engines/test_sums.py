"""Sums of products that are computed when somebody looks at them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tirx_mini.sim.engines import DEPTH, LateMatrix, Matrix, Submatrix, accumulate_registers, accumulate_tmem, fragments
from tirx_mini.sim.machine import FULL, VALUES, RegisterArray, Registers, TensorMemory
from tirx_mini.sim.ordering import AccessLog

RNG = np.random.default_rng(0)
LEFT, RIGHT = (RNG.integers(-3, 4, (128, 4096)).astype(np.float32) for _ in range(2))
"""Small integers: sums of their products are exact in any order."""
COLUMNS = 16
HELD = Matrix(LEFT), Matrix(RIGHT)


def operands(
    position: int, depth: int, rows: int = 128, matrices: tuple[Matrix, Matrix] = HELD
) -> tuple[Submatrix, Submatrix]:
    """A block of each matrix from column `position` on."""
    left, right = matrices
    return Submatrix(left, 0, rows, position, depth), Submatrix(right, 0, COLUMNS, position, depth)


steps = st.lists(
    st.tuples(
        st.sampled_from(["add", "store", "look", "look elsewhere", "clear"]),
        st.sampled_from([0, 8, 16, 48]),
        st.integers(0, 3500),
        st.sampled_from([16, 64, 256, 512]),
    ),
    max_size=25,
)


@given(steps)
def test_columns_hold_what_they_would_hold_if_each_product_were_added_at_once(
    program: list[tuple[str, int, int, int]],
) -> None:
    tmem = TensorMemory(AccessLog(), None)
    tmem.words(0, 512)[...] = 0
    expected = np.zeros((128, 512), np.float32)
    for action, column, position, depth in program:
        where = slice(column, column + COLUMNS)
        if action in ("add", "store"):
            left, right = operands(position, depth)
            accumulate_tmem([tmem], column, [left], [[right]], action == "add")
            expected[:, where] = left.values @ right.values.T + (expected[:, where] if action == "add" else 0)
        elif action == "clear":
            tmem.clear(column, COLUMNS)
            tmem.words(column, COLUMNS)[...] = 0
            expected[:, where] = 0
        else:
            first = column if action == "look" else 300
            seen = tmem.words(first, COLUMNS).view(np.float32)
            assert (seen == expected[:, first : first + COLUMNS]).all()
    assert (tmem.words(0, 512).view(np.float32) == expected).all()


def add(tmem: TensorMemory, factors: tuple[Submatrix, Submatrix], adds: bool) -> None:
    left, right = factors
    accumulate_tmem([tmem], 0, [left], [[right]], adds)


@pytest.fixture
def depths(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Along K, of the products that are computed."""
    found: list[int] = []

    def multiply(left: np.ndarray, right: np.ndarray) -> np.ndarray:
        found.append(left.shape[1])
        return left @ right.T

    monkeypatch.setattr("tirx_mini.sim.engines.sums.multiply", multiply)
    return found


def test_a_sum_that_is_replaced_is_not_computed(depths: list[int]) -> None:
    tmem = TensorMemory(AccessLog(), None)
    for _ in range(2):
        for step in range(4):
            add(tmem, operands(64 * step, 64), step > 0)
    assert depths == []
    tmem.words(0, COLUMNS)
    assert depths == [256]  # of the second sum, as one product


def test_a_sum_of_numbers_that_last_waits_and_is_computed_in_the_same_parts(depths: list[int]) -> None:
    lasting = tuple(LateMatrix(np.empty_like(each), each, lambda values: values) for each in (LEFT, RIGHT))
    found = []
    for matrices in (HELD, lasting):
        tmem = TensorMemory(AccessLog(), None)
        for step in range(2 * DEPTH // 64 + 1):
            add(tmem, operands(64 * step, 64, matrices=matrices), step > 0)
        assert len(depths) == (2 if matrices is HELD else 0)
        found.append(tmem.words(0, COLUMNS).tobytes())
        assert depths == [DEPTH, DEPTH, 64]
        depths.clear()
    assert found[0] == found[1]


def test_a_long_sum_is_computed_in_parts(depths: list[int]) -> None:
    tmem = TensorMemory(AccessLog(), None)
    for step in range(2 * DEPTH // 64):
        add(tmem, operands(64 * step, 64), step > 0)
        tmem.words(256, COLUMNS)  # a look elsewhere changes nothing
    assert depths == [DEPTH, DEPTH]


def warpgroup(size: int) -> tuple[Any, list[RegisterArray]]:
    """A warp as registers know it, and an array of each of four warps."""
    warp = SimpleNamespace(mask=FULL, span=None, register_fences=0, values=VALUES, origin=None, gpu=None)
    return warp, [RegisterArray("acc", size, np.float32) for _ in range(4)]


@given(st.lists(st.tuples(st.booleans(), st.sampled_from([0, 8]), st.integers(-1, 3)), min_size=1, max_size=12))
def test_registers_hold_what_they_would_hold_if_each_product_were_added_at_once(
    program: list[tuple[bool, int, int]],
) -> None:
    warp, arrays = warpgroup(16)
    for array in arrays:
        array.define(0, 16)
    expected = np.zeros((4, 16, 32), np.float32)
    for position, (adds, start, looks) in enumerate(program):
        left, right = operands(64 * position, 64, rows=64)
        accumulate_registers([Registers(warp, array, start) for array in arrays], [left], [right], adds)
        part = fragments(left.values @ right.values.T)
        expected[:, start : start + 8] = part + (expected[:, start : start + 8] if adds else 0)
        if looks >= 0:  # one of the warps, before the others
            assert (arrays[looks].block(warp, start, 8, 1) == expected[looks, start : start + 8]).all()
    for array, values in zip(arrays, expected, strict=True):
        assert (array.block(warp, 0, 16, 1) == values).all()
