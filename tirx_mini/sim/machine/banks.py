"""Bank conflicts: the number of passes of a warp's access to shared memory.

Shared memory has 32 banks, each of which delivers one 4-byte word per pass; lanes that access the same word share it.
An access of 8 bytes per lane is split into half warps, one of 16 bytes into quarters (CUDA C++ Best Practices Guide,
"Shared Memory and Memory Banks").
"""

from __future__ import annotations

import numpy as np

BANKS, WORD = 32, 4


def conflicts(where: np.ndarray, width: int) -> int:
    """Return the number of extra passes beyond the first one of each group of lanes.

    where: the locations of the active lanes, in units of `width` bytes.
    """
    if (where[1:] - where[:-1] == 1).all():  # neighbours, as nearly all accesses are
        return 0
    group = BANKS * WORD // max(width, WORD)
    words = np.arange(max(1, width // WORD))
    extra = 0
    for first in range(0, where.size, group):
        lanes = where[first : first + group] * width // WORD
        asked = np.unique(lanes[:, None] + words)
        extra += int(np.bincount(asked % BANKS).max()) - 1
    return extra
