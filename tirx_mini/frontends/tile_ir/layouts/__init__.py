"""Linear layouts: the distribution of a tile's elements over registers, lanes and warps."""

from .conversion import (
    Conversion,
    Move,
    SharedPlan,
    conversion,
    run_of,
    shared_plan,
    wavefronts,
    with_vectors,
    words_first,
)
from .f2 import Span
from .families import (
    blocked,
    mma_accumulator,
    mma_operand,
    replicated,
    tmem_rows,
    wgmma_accumulator,
    wgmma_operand,
    within_warps,
)
from .index import linear_index
from .linear import LANE_BITS, LinearLayout, bits_of, number_of
from .storage import SharedLayout, TmemLayout

__all__ = [
    "LANE_BITS",
    "Conversion",
    "LinearLayout",
    "Move",
    "SharedLayout",
    "SharedPlan",
    "Span",
    "TmemLayout",
    "bits_of",
    "blocked",
    "conversion",
    "linear_index",
    "mma_accumulator",
    "mma_operand",
    "number_of",
    "replicated",
    "run_of",
    "shared_plan",
    "tmem_rows",
    "wavefronts",
    "wgmma_accumulator",
    "wgmma_operand",
    "with_vectors",
    "within_warps",
    "words_first",
]
