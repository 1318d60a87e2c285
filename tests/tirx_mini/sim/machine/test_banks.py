"""Bank conflicts of one access."""

from __future__ import annotations

import numpy as np
import pytest

from tirx_mini.sim.machine import conflicts

LANES = np.arange(32)


@pytest.mark.parametrize(
    "places, width, extra",
    [
        (LANES, 4, 0),
        (LANES * 2, 4, 1),
        (LANES * 32, 4, 31),
        (LANES * 33, 4, 0),
        (LANES * 0, 4, 0),  # one word for all
        (LANES // 2, 2, 0),
        (LANES[::-1], 4, 0),
        (LANES, 16, 0),
        (LANES * 2, 16, 4),  # each quarter of the warp twice
        (LANES * 8, 16, 28),
        (LANES * 2, 8, 2),
        (LANES[:8] * 32, 4, 7),
    ],
)
def test_passes_beyond_the_first(places, width, extra):
    assert conflicts(places, width) == extra
