"""Submatrices, which can be concatenated without a copy if they are adjacent in one matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np


class Matrix:
    """A matrix of numbers, float32[rows, columns]."""

    __slots__ = ("numbers",)

    def __init__(self, numbers: np.ndarray) -> None:
        self.numbers = numbers

    def block(self, rows: slice, columns: slice) -> np.ndarray:
        """Return a view of some rows and columns."""
        return self.numbers[rows, columns]


class LateMatrix(Matrix):
    """A matrix whose blocks are converted at first use.

    numbers: the destination. source: the elements, which do not change. convert: the conversion of elements to numbers.
    """

    __slots__ = ("_convert", "_converted", "_source")

    def __init__(
        self, numbers: np.ndarray, source: np.ndarray, convert: Callable[[np.ndarray], np.ndarray]
    ) -> None:
        super().__init__(numbers)
        self._source, self._convert = source, convert
        self._converted: set[tuple[int, int, int, int]] = set()

    def block(self, rows: slice, columns: slice) -> np.ndarray:
        """See `Matrix.block`."""
        found = self.numbers[rows, columns]
        key = (rows.start, rows.stop, columns.start, columns.stop)
        if key not in self._converted:
            found[...] = self._convert(self._source[rows, columns])
            self._converted.add(key)
        return found


class Submatrix:
    """A block of rows and columns of a matrix, as float32[rows, columns]."""

    __slots__ = ("column", "columns", "matrix", "row", "rows")

    def __init__(self, matrix: Matrix, row: int, rows: int, column: int, columns: int) -> None:
        self.matrix = matrix
        self.row, self.rows = row, rows
        self.column, self.columns = column, columns

    @staticmethod
    def whole(numbers: np.ndarray) -> Submatrix:
        """Return a submatrix that covers a whole matrix."""
        return Submatrix(Matrix(numbers), 0, numbers.shape[0], 0, numbers.shape[1])

    @property
    def lasts(self) -> bool:
        """Return whether the underlying numbers stay allocated independently of this submatrix."""
        return isinstance(self.matrix, LateMatrix)

    @property
    def values(self) -> np.ndarray:
        """A view of the numbers."""
        rows, columns = slice(self.row, self.row + self.rows), slice(self.column, self.column + self.columns)
        return self.matrix.block(rows, columns)

    def part(self, first: int, rows: int) -> Submatrix:
        """Return some of the rows."""
        return Submatrix(self.matrix, self.row + first, rows, self.column, self.columns)


def beside(blocks: Sequence[Submatrix]) -> Submatrix:
    """Concatenate blocks of equal height from left to right."""
    first = blocks[0]
    end = first.column
    for block in blocks:
        if block.matrix is not first.matrix or block.row != first.row or block.column != end:
            return Submatrix.whole(np.concatenate([each.values for each in blocks], axis=1))
        end += block.columns
    return Submatrix(first.matrix, first.row, first.rows, first.column, end - first.column)


def below(blocks: Sequence[Submatrix]) -> Submatrix:
    """Concatenate blocks of equal width from top to bottom."""
    first = blocks[0]
    end = first.row
    for block in blocks:
        if block.matrix is not first.matrix or block.column != first.column or block.row != end:
            return Submatrix.whole(np.concatenate([each.values for each in blocks]))
        end += block.rows
    return Submatrix(first.matrix, first.row, end - first.row, first.column, first.columns)
