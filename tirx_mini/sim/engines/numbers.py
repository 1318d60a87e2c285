"""Conversion of operand elements to NumPy numbers."""

from __future__ import annotations

from functools import cache

import numpy as np

from ..machine import numpy_dtype


def to_float(values: np.ndarray, dtype: str) -> np.ndarray:
    """Convert operand values to float32; tf32 keeps the upper 19 bits."""
    if dtype == "bfloat16":
        return (values.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    if dtype == "float32":
        return (values.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    if dtype == "float16":
        return half_values().take(values.view(np.uint16), mode="wrap")
    return values.astype(np.float32)


FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)
"""The values of float4_e2m1fn by their bits."""


def fp4_values(chunks: np.ndarray) -> np.ndarray:
    """Unpack elements of 4 bits, two in a byte, the lower half first. chunks: 16-byte items [rows, chunks]."""
    packed = np.ascontiguousarray(chunks).view(np.uint8).reshape(len(chunks), -1)
    return FP4[np.stack([packed & 15, packed >> 4], axis=-1).reshape(len(chunks), -1)]


def padded_values(chunks: np.ndarray, dtype: str, bits: int) -> np.ndarray:
    """Unpack the 16 elements of `bits` bits at the beginning of each 16 bytes, the lowest bits first.

    chunks: 16-byte items [rows, chunks].
    """
    rows = len(chunks)
    held = np.ascontiguousarray(chunks).view(np.uint8).reshape(rows, -1, 16)[..., : 2 * bits]
    each = np.unpackbits(np.ascontiguousarray(held), axis=-1, bitorder="little").reshape(rows, -1, bits)
    codes = np.packbits(each, axis=-1, bitorder="little").reshape(rows, -1)
    return codes.view(numpy_dtype(dtype)).astype(np.float32)


@cache
def half_values() -> np.ndarray:
    """Return a table of the float32 value of each float16; the lookup is twice as fast as NumPy's conversion."""
    return np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32)
