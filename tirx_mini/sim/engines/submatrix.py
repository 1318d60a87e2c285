"""Parts of matrices, which are put together without a copy where they lie side by side in one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


class Submatrix:
    """Some rows and columns of a matrix of numbers, as float32[rows, columns]."""

    __slots__ = ("column", "columns", "matrix", "row", "rows")

    def __init__(self, matrix: np.ndarray, row: int, rows: int, column: int, columns: int) -> None:
        self.matrix = matrix
        self.row, self.rows = row, rows
        self.column, self.columns = column, columns

    @staticmethod
    def whole(matrix: np.ndarray) -> Submatrix:
        """All of a matrix."""
        return Submatrix(matrix, 0, matrix.shape[0], 0, matrix.shape[1])

    @property
    def values(self) -> np.ndarray:
        """The numbers: a view."""
        return self.matrix[self.row : self.row + self.rows, self.column : self.column + self.columns]

    def part(self, first: int, rows: int) -> Submatrix:
        """Some of the rows."""
        return Submatrix(self.matrix, self.row + first, rows, self.column, self.columns)


def beside(blocks: Sequence[Submatrix]) -> Submatrix:
    """Blocks of as many rows, one to the right of the other."""
    first = blocks[0]
    end = first.column
    for block in blocks:
        if block.matrix is not first.matrix or block.row != first.row or block.column != end:
            return Submatrix.whole(np.concatenate([each.values for each in blocks], axis=1))
        end += block.columns
    return Submatrix(first.matrix, first.row, first.rows, first.column, end - first.column)


def below(blocks: Sequence[Submatrix]) -> Submatrix:
    """Blocks of as many columns, one below the other."""
    first = blocks[0]
    end = first.row
    for block in blocks:
        if block.matrix is not first.matrix or block.column != first.column or block.row != end:
            return Submatrix.whole(np.concatenate([each.values for each in blocks]))
        end += block.rows
    return Submatrix(first.matrix, first.row, end - first.row, first.column, first.columns)
