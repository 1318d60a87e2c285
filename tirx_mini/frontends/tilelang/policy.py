"""The partition of a tile product among the warps of a CTA."""

from __future__ import annotations

from enum import IntEnum


class GemmWarpPolicy(IntEnum):
    """The partition of a product's rows and columns among warps.

    Square: parts as square as possible. FullRow: all warps side by side along the rows. FullCol: along the columns.
    """

    Square = 0
    FullRow = 1
    FullCol = 2

    def is_square(self) -> bool:
        return self is GemmWarpPolicy.Square

    def is_full_row(self) -> bool:
        return self is GemmWarpPolicy.FullRow

    def is_full_col(self) -> bool:
        return self is GemmWarpPolicy.FullCol
