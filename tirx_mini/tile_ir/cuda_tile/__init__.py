"""cuda_tile, the dialect of the published Tile IR: types, attributes and operations, with their text."""

from . import attributes, ops
from .attributes import Bounded, Dense, DivBy, SameElements
from .dialect import CUDA_TILE
from .interpret import AssertionFailed, interpret
from .meanings import Memory, OutOfBounds
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
    "BASE_FLOATS",
    "CUDA_TILE",
    "FLOATS",
    "INTEGERS",
    "PADDINGS",
    "TOKEN",
    "AssertionFailed",
    "Bounded",
    "Dense",
    "DivBy",
    "GatherScatterView",
    "Memory",
    "OutOfBounds",
    "PartitionView",
    "Ptr",
    "SameElements",
    "StridedView",
    "TensorView",
    "Tile",
    "Token",
    "attributes",
    "interpret",
    "ops",
    "parse_ptr",
    "tile",
]
