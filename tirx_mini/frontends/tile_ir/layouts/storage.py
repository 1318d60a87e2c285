"""Layouts of tiles in shared memory or tensor memory."""

from __future__ import annotations

from collections.abc import Sequence

from tirx_mini.records import dataclass

SPANS = (0, 32, 64, 128)
"""Swizzle spans of shared memory, in bytes; 0 for none (PTX ISA, "Shared Memory Layout and Swizzling")."""


@dataclass(frozen=True)
class SharedLayout:
    """A shared-memory layout of a tile that TMA writes and the tensor core reads.

    swizzle: the swizzle span in bytes.
    order: the dimensions of the tile from the fastest in memory to the slowest; () stands for row-major.
    """

    swizzle: int = 128
    order: tuple[int, ...] = ()

    def __str__(self) -> str:
        order = f", order=[{', '.join(map(str, self.order))}]" if self.order else ""
        return f"shared<swizzle={self.swizzle}{order}>"

    def dims(self, rank: int) -> tuple[int, ...]:
        """Return the dimensions of the tile from slowest to fastest in memory."""
        return self.order[::-1] or tuple(range(rank))

    def permuted(self, dims: Sequence[int]) -> SharedLayout:
        """Return the same memory layout for the permuted tile, whose dimension i is dimension dims[i] of this one."""
        order = tuple(dims.index(axis) for axis in self.dims(len(dims))[::-1])
        return SharedLayout(self.swizzle, () if order == tuple(reversed(range(len(dims)))) else order)


@dataclass(frozen=True)
class TmemLayout:
    """A tensor-memory layout of float32 sums: row r in lane r % 128, further blocks of 128 rows in further columns."""

    def __str__(self) -> str:
        return "tmem<>"
