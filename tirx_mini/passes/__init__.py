"""The lowering pipeline, which translates tiles and scopes to per-thread code."""

from .barriers import insert_barriers
from .bind import TENSOR_INTRIN, Kernels, split_kernels
from .blocks import STORAGE_ALIGN, lower_blocks
from .compact import Padding, padded
from .flatten import flatten_buffers
from .pipeline import PIPELINE, lower
from .regions import Interval, box, interval
from .returns import lower_returns
from .teams import TEAM_HINT, Team, ordered_by_mbarriers, team_of
from .uniform import Dependences, Parts
from .vectorize import vectorize
from .verify import LoweringError, verify_lowered

__all__ = [
    "Dependences", "Interval", "Kernels", "LoweringError", "PIPELINE", "Padding", "Parts", "STORAGE_ALIGN",
    "TEAM_HINT", "TENSOR_INTRIN", "Team", "box", "flatten_buffers", "insert_barriers", "interval", "lower",
    "lower_blocks", "lower_returns", "ordered_by_mbarriers", "padded", "split_kernels", "team_of", "vectorize",
    "verify_lowered",
]  # fmt: skip
