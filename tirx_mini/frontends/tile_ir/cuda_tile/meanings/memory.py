"""Global memory of the interpreters: arrays accessed through tiles of pointers."""

from __future__ import annotations

from dataclasses import field

import numpy as np

from tirx_mini.records import dataclass

from .elements import Array, dtype_of

_SPACING = 1 << 44
"""Arrays start at multiples of this, so that an address out of one lies in no other, and any alignment is assumed."""


class OutOfBounds(Exception):
    """An access through a pointer that lies outside every array."""


@dataclass
class Memory:
    """The arrays accessible to a launch."""

    spans: list[Array] = field(default_factory=list)

    def add(self, array: Array) -> int:
        """Register `array` and return the address of its first element. Raises `ValueError` for negative strides."""
        if any(s < 0 for s in array.strides):
            raise ValueError("an array with a negative stride cannot be an argument; pass a copy")
        size = (
            sum((n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)) + array.itemsize
            if array.size
            else 0
        )
        array = array.view(f"u{array.itemsize}")  # NumPy makes no strided view of an 8-bit float
        first = np.lib.stride_tricks.as_strided(array, (1,) if size else (0,), (array.itemsize,))
        self.spans.append(np.lib.stride_tricks.as_strided(first.view(np.uint8), (size,), (1,)))
        return len(self.spans) * _SPACING

    def load(self, addresses: Array, element: str) -> Array:
        """Return the elements at `addresses`, in the same shape."""
        dtype = dtype_of(element)
        found = np.empty(addresses.shape, dtype)
        for span, here, bytes_ in self._touched(addresses, dtype.itemsize):
            found[here] = span[bytes_].view(dtype)[..., 0] if element != "i1" else span[bytes_][..., 0] != 0
        return found

    def store(self, addresses: Array, values: Array) -> None:
        """Store `values` at `addresses`; for equal addresses the last one wins."""
        values = np.broadcast_to(values, addresses.shape)
        for span, here, bytes_ in self._touched(addresses, values.dtype.itemsize):
            span[bytes_] = np.ascontiguousarray(values[here])[:, None].view(np.uint8)

    def _touched(self, addresses: Array, size: int):
        """Yield each accessed array's bytes, the addresses that lie in it, and their byte indices."""
        owner = addresses // _SPACING
        for number in np.unique(owner):
            here = owner == number
            start = addresses[here] - number * _SPACING
            if not 1 <= number <= len(self.spans) or (start + size > len(self.spans[number - 1])).any():
                raise OutOfBounds(f"a tile of pointers reads or writes out of the bounds of argument {number - 1}")
            yield self.spans[number - 1], here, start[:, None] + np.arange(size)
