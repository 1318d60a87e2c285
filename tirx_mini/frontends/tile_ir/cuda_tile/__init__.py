"""The dialect cuda_tile of the published Tile IR: types, attributes and operations, with their syntax."""

from . import attributes, meanings, ops
from .attributes import Bounded, Dense, DivBy, SameElements
from .dialect import CUDA_TILE
from .interpret import interpret
from .meanings import ArrayView, AssertionFailed, Blocks, Machine, Meaning, Memory, OutOfBounds
from .types import (
    BASE_FLOATS,
    FLOATS,
    INTEGERS,
    PADDINGS,
    TOKEN,
    GatherScatterView,
    PartitionView,
    Ptr,
    StridedView,
    TensorView,
    Tile,
    Token,
    parse_ptr,
    tile,
)  # fmt: skip

__all__ = [
    "BASE_FLOATS", "CUDA_TILE", "FLOATS", "INTEGERS", "PADDINGS", "TOKEN", "ArrayView", "AssertionFailed", "Blocks",
    "Bounded", "Dense", "DivBy", "GatherScatterView", "Machine", "Meaning", "Memory", "OutOfBounds",
    "PartitionView", "Ptr", "SameElements", "StridedView", "TensorView", "Tile", "Token", "attributes", "interpret",
    "meanings", "ops", "parse_ptr", "tile",
]  # fmt: skip
