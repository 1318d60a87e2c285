"""The lowering pipeline: translates tiles and scopes to the code of one thread."""

from .bind import Kernels, split_kernels
from .flatten import flatten_buffers
from .pipeline import PIPELINE, Pass, lower
from .vectorize import vectorize
from .verify import LoweringError, verify_lowered

__all__ = [
    "Kernels", "LoweringError", "PIPELINE", "Pass", "flatten_buffers", "lower", "split_kernels", "vectorize",
    "verify_lowered",
]  # fmt: skip
