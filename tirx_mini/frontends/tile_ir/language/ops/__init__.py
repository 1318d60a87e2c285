"""The functions of tile code, defined when this package is imported."""

from . import (
    arithmetic,
    atomics,
    blocks,
    gathering,
    matmul,
    memory,
    metaprogramming,
    printing,
    reductions,
    shapes,
    unary,
)

__all__ = [
    "arithmetic", "atomics", "blocks", "gathering", "matmul", "memory", "metaprogramming", "printing", "reductions",
    "shapes", "unary",
]  # fmt: skip
