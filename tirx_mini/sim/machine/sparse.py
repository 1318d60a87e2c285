"""Sparse matrices: half of the elements of a row, and metadata that has their places.

Four bits of metadata belong to each group of neighbours. Of four neighbours they are the places of two elements; of two
neighbours of 32 bits, 0b0100 is the first place and 0b1110 the second (PTX ISA: "Sparse matrix storage").
"""

from __future__ import annotations

from functools import cache

import numpy as np


def unpacked(packed: np.ndarray, metadata: np.ndarray, selector: int, width: int) -> np.ndarray:
    """Return A [rows, k] of the elements [rows, k / 2], and of the metadata that lanes hold. width: bytes."""
    groups = packed.shape[1] // (1 if width == 4 else 2)
    lanes, shifts = _places(groups, selector, width)
    return spread(packed, (metadata[lanes].astype(np.int64) >> shifts) & 15, width)


def spread(packed: np.ndarray, codes: np.ndarray, width: int) -> np.ndarray:
    """Return the matrix of packed rows. codes: the metadata of each group, int[rows, groups]."""
    rows, groups = codes.shape
    found = np.zeros((rows, groups, 2 if width == 4 else 4), packed.dtype)
    row, group = np.ogrid[:rows, :groups]
    if width == 4:
        found[row, group, codes >> 3] = packed
    else:
        pairs = packed.reshape(rows, groups, 2)
        for place in (0, 1):
            found[row, group, codes >> 2 * place & 3] = pairs[:, :, place]
    return found.reshape(rows, -1)


def metadata_columns(width: int) -> int:
    """Return the columns of tensor memory that hold the metadata of one tcgen05.mma.sp. width: bytes of an element."""
    return 2 if width == 1 else 1


def in_tensor_memory(packed: np.ndarray, words: np.ndarray, width: int) -> np.ndarray:
    """Return A [128, k] of the elements [128, k / 2], and of the metadata in tensor memory: uint32[128, columns].

    Elements of 8 bits have the metadata of a row in its lane. Of others, 16 lanes hold 16 rows: the lower eight those
    of the first four groups of a row, the upper eight those of the next; row r + 8 is in the upper half of the bits
    (PTX ISA: "Layout of the Sparsity Metadata Matrix" for M = 128 and M = 256).
    """
    row, group = np.indices((len(packed), packed.shape[1] // (1 if width == 4 else 2)))
    if width == 1:
        lane, column, shift = row, group // 8, 4 * (group % 8)
    else:
        lane, column = row // 16 * 16 + row % 8 + 8 * (group // 4), 0
        shift = 16 * (row // 8 % 2) + 4 * (group % 4)
    return spread(packed, words[lane, column].astype(np.int64) >> shift & 15, width)


@cache
def _places(groups: int, selector: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the lane and the lowest bit of the metadata of each group, both int[16, groups]: seen on an H200.

    A lane holds four groups of rows g and g + 8, or of elements of 8 bits, eight of one row.
    """
    row, group = np.indices((16, groups))
    first = 4 * (row % 8)
    if width == 1:
        return first + 2 * selector + row // 8 + 2 * (group // 8), 4 * (group % 8)
    return first + max(1, groups // 4) * selector + group // 4, 16 * (row // 8) + 4 * (group % 4)
