"""The lowering pipeline: translates tiles and scopes to the code of one thread."""

from .bind import TENSOR_INTRIN, Kernels, split_kernels
from .blocks import STORAGE_ALIGN, lower_blocks
from .compact import Padding, padded
from .flatten import flatten_buffers
from .pipeline import PIPELINE, lower
from .regions import Interval, box, interval
from .vectorize import vectorize
from .verify import LoweringError, verify_lowered

__all__ = [
    "Interval", "Kernels", "LoweringError", "PIPELINE", "Padding", "STORAGE_ALIGN", "TENSOR_INTRIN", "box",
    "flatten_buffers", "interval", "lower", "lower_blocks", "padded", "split_kernels", "vectorize", "verify_lowered",
]  # fmt: skip
