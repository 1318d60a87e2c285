"""The parameter objects of instruction bodies' requests to a machine."""

from __future__ import annotations

from tirx_mini.records import dataclass

from .descriptors import InstructionDescriptor, SmemDescriptor

GENERIC_BITS = 56
GENERIC_SHARED, GENERIC_LOCAL = 1 << GENERIC_BITS, 2 << GENERIC_BITS
"""The starts of the shared and local windows among generic addresses (PTX ISA: "Generic Addressing")."""


@dataclass(frozen=True)
class MemoryAccess:
    """An access with a memory order. dtype: of each of its `words`, which lie side by side. sem: "weak", "volatile",
    "relaxed", "acquire", "release" or "acq_rel". scope: "cta", "cluster", "gpu" or "sys". space: as PTX names it.
    nc: of a load, whether it takes the path for memory that nobody writes; allocates: whether its line is kept there.
    returns: of an atomic operation, whether the thread waits for the old value.
    """

    dtype: str
    sem: str
    scope: str
    space: str
    words: int
    nc: bool = False
    allocates: bool = True
    returns: bool = False


@dataclass(frozen=True)
class WgmmaProduct:
    """The product of a wgmma. a, b: the layouts of its operands; a_start, b_start: where these lie, in bytes of shared
    memory. a is None if it is in registers. accumulate: whether the product is added to the registers.
    """

    shape: InstructionDescriptor
    a: SmemDescriptor | None
    a_start: int
    b: SmemDescriptor
    b_start: int
    accumulate: bool

    @property
    def registers(self) -> int:
        """The number of registers of each thread that hold D; two 16-bit sums share one."""
        return self.shape.n // (4 if self.shape.d == "float16" else 2)


@dataclass(frozen=True)
class WarpProduct:
    """The product of an mma: D [m, n] = A [m, k] B [k, n] (+ C). a, b, d: the dtypes of the elements of A, of B, and of
    C and D; A and B of "float32" are tf32. satfinite: whether integers stay in their range instead of wrapping.
    selector: of a sparse A, the group of lanes in each quad that hold its metadata; None for a dense one.
    """

    m: int
    n: int
    k: int
    a: str
    b: str
    d: str
    satfinite: bool = False
    selector: int | None = None


@dataclass(frozen=True)
class QuadProduct:
    """The product of an mma.m8n8k4 of float16: four products D [8, 8] = A [8, 4] B [4, 8] + C, one a quad pair.

    a_columns, b_columns: whether the lanes hold columns of A and of B, in place of rows. d: the dtype of C and D.
    """

    a_columns: bool
    b_columns: bool
    d: str
