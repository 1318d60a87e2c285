"""A wrong product as a picture of text: a character for each small block of D, with the edges of the tiles."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

RIGHT, SOME, ALL, UNWRITTEN = ".", "x", "#", "o"
PICTURE_LEGEND = f"{RIGHT} right   {SOME} partly wrong   {ALL} wrong   {UNWRITTEN} not a number, as if never written"
_ROWS, _COLUMNS = 48, 64
"""The most characters of a picture from top to bottom, and from left to right, without its edges."""
_SMALLEST = (16, 8)
"""The smallest block of a character: a character of a terminal is twice as high as wide."""
_NEARLY = 0.1
"""The share of right elements in a block that chance explains."""


def product_picture(
    got: npt.NDArray, exact: npt.NDArray[np.float64], allowed: float, tile: tuple[int, int] = (128, 128)
) -> tuple[float, str]:
    """The share of wrong elements of `got` (M, N), and the picture of them.

    An element is wrong if it is not a number, or differs from `exact` by more than `allowed`. tile: whose edges are
    drawn.
    """
    values = got.astype(np.float64)
    right = np.abs(values - exact) <= allowed
    rows, columns = (
        _block(extent, least, most) for extent, least, most in zip(got.shape, _SMALLEST, (_ROWS, _COLUMNS), strict=True)
    )
    lines: list[str] = []
    for top in range(0, got.shape[0], rows):
        if top and top % tile[0] == 0:
            lines.append("+".join("-" * len(part) for part in lines[0].split("|")))
        cells = ""
        for left in range(0, got.shape[1], columns):
            edge = "|" if left and left % tile[1] == 0 else ""
            part = slice(top, top + rows), slice(left, left + columns)
            cells += edge + _cell(right[part], values[part])
        lines.append(cells)
    return 1 - float(right.mean()), "\n".join(lines)


def _block(extent: int, least: int, most: int) -> int:
    """The elements of a character along one dimension: a power of two times `least`."""
    block = least
    while -(-extent // block) > most:
        block *= 2
    return block


def _cell(right: npt.NDArray[np.bool_], values: npt.NDArray[np.float64]) -> str:
    if right.all():
        return RIGHT
    if np.isnan(values).all():
        return UNWRITTEN
    return ALL if right.mean() < _NEARLY else SOME
