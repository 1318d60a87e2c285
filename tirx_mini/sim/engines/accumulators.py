"""How tensor memory holds the results of MMAs (PTX ISA: "Data path layout organization")."""

from __future__ import annotations

from typing import Any

import numpy as np

_LAYOUT_F = np.concatenate([np.arange(16) + 32 * group for group in range(4)])


def place_rows(cta_group: int, product: np.ndarray) -> tuple[Any, int, np.ndarray]:
    """(lanes, columns, product) as tensor memory holds one CTA's part of the result (PTX ISA: "Data path layout").

    M = 128 rows a CTA: row r in lane r. M = 64 in one CTA: lanes 0-15, 32-47, 64-79, 96-111. A pair's M = 128: 64 rows
    a CTA, whose right half of columns lies in lanes 64-127.
    """
    rows, columns = product.shape
    if rows == 128:
        return slice(None), columns, product
    if cta_group == 1:
        return _LAYOUT_F, columns, product
    half = columns // 2
    return slice(None), half, np.concatenate([product[:, :half], product[:, half:]])


def store_narrow(words: np.ndarray, lanes: Any, product: np.ndarray, dtype: str, accumulate: bool) -> None:
    """Results of 16 bits (one in each column's lower half) and of 32-bit integers."""
    if dtype == "int32":
        result = product.astype(np.int64)
        old = words[lanes].view(np.int32).astype(np.int64)
        words[lanes] = ((result + old if accumulate else result) & 0xFFFFFFFF).astype(np.uint32)
        return
    old = np.ascontiguousarray(words[lanes] & 0xFFFF).astype(np.uint16).view(np.float16).astype(np.float32)
    result = (product + old if accumulate else product).astype(np.float16)
    words[lanes] = np.ascontiguousarray(result).view(np.uint16).astype(np.uint32)
