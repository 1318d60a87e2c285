"""nv_tileaa: tile programs on memory references, without layouts."""

from .standard import (
    ARITH,
    CASTS,
    CMPF,
    CMPI,
    CONDITION,
    CONSTANT,
    FOR,
    I1,
    IF,
    MATH,
    ROUNDING,
    SCF,
    SELECT,
    STANDARD,
    WHILE,
    YIELD,
    element_of,
    with_element,
)
from .types import LAYOUTS, Layout, Tensor, parse_tensor

__all__ = [
    "ARITH", "CASTS", "CMPF", "CMPI", "CONDITION", "CONSTANT", "FOR", "I1", "IF", "LAYOUTS", "MATH", "ROUNDING", "SCF",
    "SELECT", "STANDARD", "WHILE", "YIELD", "Layout", "Tensor", "element_of", "parse_tensor", "with_element",
]  # fmt: skip
