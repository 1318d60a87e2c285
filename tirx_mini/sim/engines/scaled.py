"""Products with block scaling and scale factors in tensor memory (PTX ISA: "Scale Factor layout")."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from ..machine import TensorMemory
from ..ordering import Actor
from .issued import Mma
from .sums import multiply

GROUPS, GROUP_LANES = 4, 32
"""The number of lane groups of tensor memory, each with its own copy of the factors, and the lanes of a group."""


def multiply_scaled(tmem: TensorMemory, mma: Mma, left: np.ndarray, right: np.ndarray, actor: Actor) -> np.ndarray:
    """Return (left · SFA) (right · SFB)ᵀ of one CTA: float32[128, N]. Each group of 32 lanes uses its own copy of the
    factors."""
    scales, shape = mma.scales, mma.shape
    assert scales is not None
    of_a = _factors(tmem, scales.a, shape.sfa_id, len(left), mma, actor)
    of_b = _factors(tmem, scales.b, shape.sfb_id, len(right), mma, actor)
    block = shape.depth // scales.vec
    rows = np.arange(len(left))
    left = left * np.repeat(of_a[rows // GROUP_LANES, rows], block, axis=1)
    if (of_b == of_b[:1]).all():
        return multiply(left, right * np.repeat(of_b[0], block, axis=1))
    parts = [
        multiply(left[g * GROUP_LANES : (g + 1) * GROUP_LANES], right * np.repeat(of_b[g], block, axis=1))
        for g in range(GROUPS)
    ]
    return np.concatenate(parts)


def _factors(tmem: TensorMemory, address: int, first: int, rows: int, mma: Mma, actor: Actor) -> np.ndarray:
    """Return the factors of all rows in each lane group: float32[4, rows, vec]."""
    assert mma.scales is not None
    columns = -(-rows // GROUP_LANES)
    where = slice(address & 0xFFFF, (address & 0xFFFF) + columns)
    tmem.shadow.read((slice(None), where), actor)
    words = tmem.words(where.start, columns).reshape(GROUPS, GROUP_LANES, columns).transpose(0, 2, 1)
    values = np.ascontiguousarray(words).view(np.uint8).reshape(GROUPS, columns * GROUP_LANES, 4)
    chosen = np.ascontiguousarray(values[:, :rows, first : first + mma.scales.vec])
    return chosen.view(np.dtype(getattr(ml_dtypes, mma.shape.scale))).astype(np.float32)
