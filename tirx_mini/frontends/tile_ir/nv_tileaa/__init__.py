"""The dialect nv_tileaa: tile programs on memory references without layouts, with arith, math and scf."""

from . import ops, standard
from .canonical import canonical
from .convert import convert_cudatile_to_tileaa
from .dialect import NV_TILEAA
from .memory_types import (
    MEM_TOKEN,
    BlockTile,
    Memref,
    MemToken,
    element_of,
    is_float,
    is_integer,
    is_pointer,
    parse_block_tile,
    parse_memref,
    shape_of,
    shaped,
)  # fmt: skip
from .standard import ARITH, MATH, SCF, STANDARD
from .types import LAYOUTS, Layout, Tensor, parse_tensor

__all__ = [
    "ARITH",
    "LAYOUTS",
    "MATH",
    "MEM_TOKEN",
    "NV_TILEAA",
    "SCF",
    "STANDARD",
    "BlockTile",
    "Layout",
    "MemToken",
    "Memref",
    "Tensor",
    "canonical",
    "convert_cudatile_to_tileaa",
    "element_of",
    "is_float",
    "is_integer",
    "is_pointer",
    "ops",
    "parse_block_tile",
    "parse_memref",
    "parse_tensor",
    "shape_of",
    "shaped",
    "standard",
]
