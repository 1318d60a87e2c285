"""The functions of tile code. Importing this package defines them."""

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
