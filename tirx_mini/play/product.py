"""The product of a run as a grid of tiles: which are right, wrong, or not written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from tirx_mini.foreign import language_of
from tirx_mini.ir import PrimFunc
from tirx_mini.report import Multiply, exact_product, product_error, product_shape

from .findings import Data

RIGHT, WRONG, UNWRITTEN = range(3)
TILE = (128, 128)
_MOST_WORST = 4


def product_event(
    kernel: PrimFunc, arguments: Sequence[npt.NDArray], product: Multiply = exact_product
) -> Data | None:
    """Return the event on D, a state for each tile row by row; None for a kernel that computes no D = A @ B.T.

    product: what computes the exact one.
    """
    if product_shape(kernel) is None or language_of(kernel.attrs):
        return None
    a, b, d = arguments
    exact = product(a, b)
    allowed = product_error(a, b, d, exact).allowed
    got = d.astype(np.float64)
    wrong = ~(np.abs(got - exact) <= allowed)
    states = [[_state(wrong[part], got[part]) for part in row] for row in _parts(d.shape)]
    return {
        "event": "product", "rows": d.shape[0], "columns": d.shape[1], "tile": list(TILE), "tiles": states,
        "share": float(wrong.mean()), "worst": list(_worst(states, wrong)),
    }  # fmt: skip


def _parts(shape: tuple[int, ...]) -> Iterator[list[tuple[slice, slice]]]:
    rows, columns = TILE
    for top in range(0, shape[0], rows):
        yield [(slice(top, top + rows), slice(left, left + columns)) for left in range(0, shape[1], columns)]


def _state(wrong: npt.NDArray[np.bool_], values: npt.NDArray[np.float64]) -> int:
    if not wrong.any():
        return RIGHT
    return UNWRITTEN if np.isnan(values).all() else WRONG


def _worst(states: list[list[int]], wrong: npt.NDArray[np.bool_]) -> Iterator[Data]:
    parts = {(i, j): wrong[part] for i, row in enumerate(_parts(wrong.shape)) for j, part in enumerate(row)}
    bad = [tile for tile in parts if states[tile[0]][tile[1]] != RIGHT]
    for i, j in sorted(bad, key=lambda tile: (-int(parts[tile].sum()), tile))[:_MOST_WORST]:
        part = parts[i, j]
        said = f"tile ({i}, {j}): {int(part.sum()):,} of {part.size:,} elements are wrong"
        if states[i][j] == UNWRITTEN:
            said = f"tile ({i}, {j}) is not written"
        yield {"tile": [i, j], "sentence": said}
