"""Tile programs of kernels_ref/tile with the arguments and grids that are raced: for our compiler and for NVIDIA's.

This module imports neither of them, nor torch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import e as EULER
from math import log2, prod, sqrt
from typing import Any

EXPERTS, CHOICES = 8, 2
MOE_TOKENS, MOE_K, MOE_N = 4096, 4096, 8192
MOE_ROWS = {"moe": (1024,) * EXPERTS, "moe uneven": (4096, 683, 683, 683, 683, 682, 682, 0)}
"""The rows of each expert, by problem: even, or half of them for one expert and none for another."""
ROWS = 8192
ATTENTION = 4, 32, 4096, 128
EPSILON = 1e-5


@dataclass(frozen=True)
class Array:
    """An argument in memory. name: which tensor of the problem it is."""

    name: str
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Constant:
    """An argument that is known at compile time."""

    value: int | bool


Argument = Array | Constant | int | float


@dataclass(frozen=True)
class Case:
    """One launch of a program. plan: what the candidates of a problem differ in. flops, nbytes: of the problem."""

    problem: str
    plan: str
    program: str
    kernel: str
    args: tuple[Argument, ...]
    grid: tuple[int, ...]
    flops: float = 0.0
    nbytes: float = 0.0

    @property
    def file(self) -> str:
        """A file name for its cubin."""
        return f"{self.problem}-{self.plan}".replace(" ", "_").replace("×", "x").replace(",", "")


def passed(case: Case, arrays: Mapping[str, Any]) -> tuple[Any, ...]:
    """The arguments of a launch of `case`, given its arrays by name."""
    return tuple(
        arrays[a.name] if isinstance(a, Array) else a.value if isinstance(a, Constant) else a for a in case.args
    )


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


def gemms(size: int, sms: int = 132) -> Iterator[Case]:
    arrays = tuple(Array(name, "float16", (size, size)) for name in "ABC")
    for tiles in ((128, 128, 64), (128, 256, 64), (256, 128, 64)):
        count = _ceil(size, tiles[0]), _ceil(size, tiles[1])
        constants = tuple(map(Constant, tiles))
        shown = "×".join(map(str, tiles))
        flops = 2.0 * size**3
        yield Case(f"gemm {size}", f"simple {shown}", "gemm", "gemm_tile", (*arrays, *constants), count, flops)
        grid = (min(sms, prod(count)),)
        yield Case(
            f"gemm {size}", f"persistent {shown}", "persistent_gemm", "gemm_tiles", (*arrays, *constants), grid, flops
        )


def padded(problem: str, tile: int) -> tuple[int, ...]:
    """The tiles of each expert."""
    return tuple(_ceil(rows, tile) for rows in MOE_ROWS[problem])


def moes(problem: str) -> Iterator[Case]:
    """The up-projection. The rows of each expert are padded to whole tiles."""
    rows = MOE_TOKENS * CHOICES
    for tiles in ((128, 128, 64), (128, 256, 64), (64, 128, 64)):
        count = sum(padded(problem, tiles[0]))
        arrays = (
            Array("tokens", "float16", (MOE_TOKENS, MOE_K)), Array("experts", "float16", (EXPERTS, MOE_N, MOE_K)),
            Array("out", "float16", (rows, MOE_N)), Array("weights", "float32", (rows,)),
            Array(f"sorted_ids_{tiles[0]}", "int32", (count * tiles[0],)),
            Array(f"tile_experts_{tiles[0]}", "int32", (count,)),
        )  # fmt: skip
        grid = (count * _ceil(MOE_N, tiles[1]),)
        args = (*arrays, CHOICES, Constant(False), *map(Constant, tiles))
        yield Case(problem, "×".join(map(str, tiles)), "moe", "expert_gemm", args, grid, 2.0 * rows * MOE_K * MOE_N)


def attentions(causal: bool) -> Iterator[Case]:
    batch, heads, length, head = ATTENTION
    arrays = tuple(Array(name, "float16", (batch * heads, length, head)) for name in "QKVO")
    flops = 4.0 * batch * heads * length * length * head * (0.5 if causal else 1.0)
    for tiles in ((128, 128), (128, 64), (64, 128), (64, 64)):
        args = (*arrays, log2(EULER) / sqrt(head), Constant(causal), *map(Constant, tiles), Constant(head))
        grid = length // tiles[0], batch * heads
        name = "attention causal" if causal else "attention"
        yield Case(name, "×".join(map(str, tiles)), "attention", "attention_tile", args, grid, flops)


def rows(columns: int) -> Iterator[Case]:
    x, y = (Array(name, "float16", (ROWS, columns)) for name in "xy")
    w, b = (Array(name, "float16", (columns,)) for name in ("weight", "bias"))
    nbytes = 2.0 * 2 * ROWS * columns
    tile = Constant(columns)
    yield Case(f"softmax {columns}", "row", "softmax", "softmax_row", (x, y, tile), (ROWS,), nbytes=nbytes)
    args = (x, w, b, y, EPSILON, tile)
    yield Case(f"layer norm {columns}", "row", "layer_norm", "layer_norm_row", args, (ROWS,), nbytes=nbytes)


def cases() -> Mapping[str, tuple[Case, ...]]:
    """All cases, by problem."""
    found = [*(c for size in (2048, 4096, 8192) for c in gemms(size)), *(c for each in MOE_ROWS for c in moes(each)),
             *attentions(False), *attentions(True), *rows(4096), *rows(16384)]  # fmt: skip
    problems = dict.fromkeys(case.problem for case in found)
    return {problem: tuple(case for case in found if case.problem == problem) for problem in problems}
