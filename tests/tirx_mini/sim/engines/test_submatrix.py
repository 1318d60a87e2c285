"""Blocks of matrices that are put together: what NumPy would concatenate, without a copy where they are neighbours."""

from __future__ import annotations

from itertools import accumulate, pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tirx_mini.sim.engines import Submatrix, below, beside

MATRIX = np.arange(40 * 60, dtype=np.float32).reshape(40, 60)
widths = st.lists(st.integers(1, 7), min_size=1, max_size=6)


@given(widths, st.integers(0, 10), st.integers(1, 20), st.integers(0, 15))
def test_neighbours_are_put_together_without_a_copy(parts: list[int], row: int, rows: int, column: int) -> None:
    edges = [column, *(column + end for end in accumulate(parts))]
    blocks = [Submatrix(MATRIX, row, rows, first, stop - first) for first, stop in pairwise(edges)]
    together = beside(blocks)
    assert together.matrix is MATRIX
    assert (together.values == MATRIX[row : row + rows, column : edges[-1]]).all()
    upright = [Submatrix(MATRIX.T, block.column, block.columns, row, rows) for block in blocks]
    piled = below([Submatrix(upright[0].matrix, each.row, each.rows, row, rows) for each in upright])
    assert np.shares_memory(piled.values, MATRIX)
    assert (piled.values == MATRIX.T[column : edges[-1], row : row + rows]).all()


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 50)), min_size=1, max_size=5))
def test_others_are_copied(places: list[tuple[int, int]]) -> None:
    blocks = [Submatrix(MATRIX, row, 5, column, 4) for row, column in places]
    assert (beside(blocks).values == np.concatenate([each.values for each in blocks], axis=1)).all()
    assert (below(blocks).values == np.concatenate([each.values for each in blocks])).all()


def test_a_part_has_some_of_the_rows() -> None:
    block = Submatrix(MATRIX, 3, 10, 5, 6)
    assert (block.part(2, 4).values == block.values[2:6]).all()
    assert np.shares_memory(block.part(2, 4).values, MATRIX)
