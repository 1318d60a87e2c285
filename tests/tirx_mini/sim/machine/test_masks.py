"""Masks of lanes."""

from __future__ import annotations

import numpy as np

from tirx_mini.sim.machine import EMPTY, FULL, Mask


def test_masks_are_sets_of_lanes() -> None:
    even = FULL.where(np.arange(32) % 2 == 0)
    assert even is Mask.of(0x55555555) and even.count == 16 and even.first == 0 and not even.full
    odd = FULL.minus(even)
    assert odd.first == 1 and odd.where(even.bits) is EMPTY and not EMPTY
    assert even.where(True) is even and even.where(False) is EMPTY
