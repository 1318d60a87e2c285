"""What operations mean, in NumPy: for the interpreters of cuda_tile and nv_tileaa, and for constant folding."""

from .elements import DTYPES, dtype_of, to_float, wide
from .elementwise import ELEMENTWISE
from .machine import ArrayView, Blocks, Exit, Machine, Meaning
from .memory import Memory, OutOfBounds

__all__ = [
    "DTYPES", "ELEMENTWISE", "ArrayView", "Blocks", "Exit", "Machine", "Meaning", "Memory", "OutOfBounds", "dtype_of",
    "to_float", "wide",
]  # fmt: skip
