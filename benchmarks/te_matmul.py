"""A matrix product on this CPU: the plain loops of a tensor expression, scheduled ones, and NumPy.

python benchmarks/te_matmul.py [SIZE]     # float32, all three extents the same; 1024 without an argument
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import NamedTuple

import numpy as np

from tirx_mini import te
from tirx_mini.cpu import vector_bits


class Tile(NamedTuple):
    """The tile of C that one run through K keeps in registers: `rows` rows of `vectors` vectors of `lanes` elements."""

    rows: int
    vectors: int
    lanes: int

    @property
    def columns(self) -> int:
        return self.vectors * self.lanes


def tile_of_this_cpu() -> Tile:
    """Half of the vector registers accumulate: there are 32 of 512 bits with AVX-512, and 16 of 256 bits with AVX2."""
    lanes = vector_bits() // 32
    return Tile(4, 4 if lanes == 16 else 2, lanes)


def plain(n: int) -> tuple[te.Schedule, list[te.Tensor]]:
    """The default schedule."""
    A, B = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), "k")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return te.create_schedule(C.op), [A, B, C]


def scheduled(n: int) -> tuple[te.Schedule, list[te.Tensor]]:
    """Tiles of C in registers, B packed so that their columns are neighbours, vectors, and all cores."""
    tile = tile_of_this_cpu()
    A, B = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), "k")
    width = tile.columns
    packed = te.compute((n // width, n, width), lambda o, r, c: B[r, o * width + c], name="packed")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * packed[j // width, k, j % width], axis=k), name="C")
    s = te.create_schedule(C.op)
    accumulators = s.cache_write(C, "local")
    i, j = C.op.axis
    jo, ji = s[C].split(j, factor=width)
    io, ii = s[C].split(i, factor=tile.rows)
    jv, lane = s[C].split(ji, factor=tile.lanes)
    s[C].reorder(jo, io, ii, jv, lane)
    s[C].parallel(jo)
    s[accumulators].compute_at(s[C], io)
    rows, columns = accumulators.op.axis
    column, inner = s[accumulators].split(columns, factor=tile.lanes)
    s[accumulators].reorder(k, rows, column, inner)
    for stage, loops, vector in ((s[C], (ii, jv), lane), (s[accumulators], (rows, column), inner)):
        for loop in loops:
            stage.unroll(loop)
        stage.vectorize(vector)
    outer, _, place = packed.op.axis
    s[packed].parallel(outer)
    s[packed].vectorize(s[packed].split(place, factor=tile.lanes)[1])
    return s, [A, B, C]


def seconds(functions: Mapping[str, Callable[[], object]], repeat: int) -> dict[str, float]:
    """The least time of several calls of each function, called in turn, after one call that warms up."""
    best = dict.fromkeys(functions, float("inf"))
    for number in range(repeat + 1):
        for name, function in functions.items():
            start = perf_counter()
            function()
            best[name] = min(best[name], perf_counter() - start) if number else best[name]
    return best


def main(n: int = 1024) -> None:
    """Print the times of all three. Raises `SystemExit` for a size that the tiles do not divide."""
    width = tile_of_this_cpu().columns
    if n <= 0 or n % width:
        raise SystemExit(f"the size must be a positive multiple of {width}")
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((n, n)).astype(np.float32) for _ in range(2))
    c = np.empty((n, n), np.float32)
    built = {name: te.build(*make(n), target="llvm") for name, make in (("scheduled", scheduled), ("plain", plain))}
    fast = {"NumPy": lambda: np.matmul(a, b), "scheduled": lambda: built["scheduled"](a, b, c)}
    times = {**seconds(fast, 20), **seconds({"plain loops": lambda: built["plain"](a, b, c)}, 1)}
    for name, taken in times.items():
        rate, ratio = 2e-9 * n**3 / taken, taken / times["NumPy"]
        print(f"{name:12} {taken * 1e3:10.2f} ms {rate:8.1f} GFLOPS {ratio:8.2f} times NumPy's time")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
