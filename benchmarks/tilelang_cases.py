"""The kernels that `tilelang_h100.py` and `h100_sweep.py` race, and `tilelang_builds.py` builds with TileLang."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

BATCH, HEADS, LENGTH, DIM = 4, 16, 4096, 128
"""Of attention."""


@dataclass(frozen=True)
class Case:
    """A program of tilelang_programs.py with its arguments.

    problem: what it computes; cases of one problem are compared. arrays: the shapes of its arrays; the last is written.
    flops: of one launch. fast: whether the compilers may approximate (TL_ENABLE_FAST_MATH).
    """

    problem: str
    program: str
    args: Mapping[str, Any]
    arrays: tuple[tuple[int, ...], ...]
    flops: float
    plan: str = field(default="")
    fast: bool = False

    @property
    def file(self) -> str:
        return f"{self.problem}-{self.plan}"


def cases() -> list[Case]:
    found: list[Case] = []
    for size in (4096, 8192):
        for tiles, stages in (((128, 256, 64), 4), ((128, 128, 64), 4), ((256, 128, 64), 4)):
            names = dict(zip(("block_m", "block_n", "block_k"), tiles, strict=True))
            args = {"m": size, "n": size, "k": size, **names, "stages": stages, "threads": 256}
            plan = "x".join(map(str, tiles))
            found.append(Case(f"gemm{size}", "matmul", args, ((size, size),) * 3, 2.0 * size**3, plan))
    shape = (BATCH, LENGTH, HEADS, DIM)
    for causal, fast in ((False, False), (True, False), (False, True), (True, True)):
        for block_n, stages in ((128, 2), (64, 2)):
            args = {
                "batch": BATCH, "heads": HEADS, "length": LENGTH, "dim": DIM, "causal": causal, "block_m": 128,
                "block_n": block_n, "stages": stages, "threads": 256,
            }  # fmt: skip
            flops = 4.0 * BATCH * HEADS * LENGTH * LENGTH * DIM / (2 if causal else 1)
            name = "attention-causal" if causal else "attention"
            name += "-fast" if fast else ""
            found.append(Case(name, "attention", args, (shape,) * 4, flops, f"128x{block_n}", fast))
    return found


SWEPT = (
    (1024, 1024, 1024), (2048, 2048, 2048), (4096, 4096, 4096), (8192, 8192, 8192),
    (128, 8192, 8192), (512, 4096, 4096), (2048, 14336, 4096), (1024, 1024, 16384),
)  # fmt: skip
"""Shapes of the sweep at which TileLang takes part, with the B of N × K that all contestants have there."""


def swept(m: int, n: int, k: int) -> list[Case]:
    """Plans of a product of the sweep."""
    found = []
    for tiles, stages in (((128, 256, 64), 4), ((128, 128, 64), 4), ((128, 64, 64), 6), ((64, 64, 64), 8)):
        names = dict(zip(("block_m", "block_n", "block_k"), tiles, strict=True))
        args = {"m": m, "n": n, "k": k, **names, "stages": stages, "threads": 2 * tiles[0], "transposed": True}
        plan = "x".join(map(str, tiles))
        found.append(Case(f"swept-{m}x{n}x{k}", "matmul", args, ((m, k), (n, k), (m, n)), 2.0 * m * n * k, plan))
    return found
