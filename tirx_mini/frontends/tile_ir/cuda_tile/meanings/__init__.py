"""Semantics of operations in NumPy, shared by the interpreters of cuda_tile and nv_tileaa and by constant folding."""

from .elements import DTYPES, dtype_of, to_float, wide
from .elementwise import ELEMENTWISE
from .machine import (
    ArrayView,
    AssertionFailed,
    Blocks,
    Exit,
    Machine,
    Meaning,
    argument,
    run_grid,
    slice_at,
)  # fmt: skip
from .memory import Memory, OutOfBounds
from .products import change_of, matrix_product, scaled, signed_or_not, swapped

__all__ = [
    "DTYPES", "ELEMENTWISE", "ArrayView", "AssertionFailed", "Blocks", "Exit", "Machine", "Meaning", "Memory",
    "OutOfBounds", "argument", "change_of", "dtype_of", "matrix_product", "run_grid", "scaled", "signed_or_not",
    "slice_at", "swapped", "to_float", "wide",
]  # fmt: skip
