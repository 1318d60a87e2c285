"""Blocks of matrices that are put together: what NumPy would concatenate, without a copy where they are neighbours."""

from __future__ import annotations

from itertools import accumulate, pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tirx_mini.sim.engines import LateMatrix, Matrix, Submatrix, below, beside

NUMBERS = np.arange(40 * 60, dtype=np.float32).reshape(40, 60)
MATRIX, TRANSPOSED = Matrix(NUMBERS), Matrix(NUMBERS.T)
widths = st.lists(st.integers(1, 7), min_size=1, max_size=6)


@given(widths, st.integers(0, 10), st.integers(1, 20), st.integers(0, 15))
def test_neighbours_are_put_together_without_a_copy(parts: list[int], row: int, rows: int, column: int) -> None:
    edges = [column, *(column + end for end in accumulate(parts))]
    blocks = [Submatrix(MATRIX, row, rows, first, stop - first) for first, stop in pairwise(edges)]
    together = beside(blocks)
    assert together.matrix is MATRIX
    assert (together.values == NUMBERS[row : row + rows, column : edges[-1]]).all()
    upright = [Submatrix(TRANSPOSED, block.column, block.columns, row, rows) for block in blocks]
    piled = below([Submatrix(upright[0].matrix, each.row, each.rows, row, rows) for each in upright])
    assert np.shares_memory(piled.values, NUMBERS)
    assert (piled.values == NUMBERS.T[column : edges[-1], row : row + rows]).all()


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 50)), min_size=1, max_size=5))
def test_others_are_copied(places: list[tuple[int, int]]) -> None:
    blocks = [Submatrix(MATRIX, row, 5, column, 4) for row, column in places]
    assert (beside(blocks).values == np.concatenate([each.values for each in blocks], axis=1)).all()
    assert (below(blocks).values == np.concatenate([each.values for each in blocks])).all()


def test_a_part_has_some_of_the_rows() -> None:
    block = Submatrix(MATRIX, 3, 10, 5, 6)
    assert (block.part(2, 4).values == block.values[2:6]).all()
    assert np.shares_memory(block.part(2, 4).values, NUMBERS)


parts = st.tuples(st.integers(0, 39), st.integers(1, 40), st.integers(0, 59), st.integers(1, 60))


@given(st.lists(parts, min_size=1, max_size=8))
def test_numbers_are_converted_when_they_are_first_used(blocks: list[tuple[int, int, int, int]]) -> None:
    converted = 0

    def convert(values: np.ndarray) -> np.ndarray:
        nonlocal converted
        converted += 1
        return 2 * values

    late = LateMatrix(np.empty_like(NUMBERS), NUMBERS, convert)
    assert converted == 0
    places = {(row, min(rows, 40 - row), column, min(columns, 60 - column)) for row, rows, column, columns in blocks}
    for row, rows, column, columns in [*places, *places]:
        values = Submatrix(late, row, rows, column, columns).values
        assert (values == 2 * NUMBERS[row : row + rows, column : column + columns]).all()
    assert converted == len(places)  # and not again
