"""A matrix product on this CPU: the plain loops of a tensor expression, scheduled ones, and NumPy.

python benchmarks/te_matmul.py [SIZE]     # float32, all three extents the same; 1024 without an argument
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import perf_counter

import numpy as np

from tirx_mini import te

LANES = 16
"""Elements of a vector: 512 bits of float32. LLVM splits it on CPUs with narrower ones."""
ROWS, COLUMNS = 8, 2 * LANES
"""The tile of C that one run through K keeps in registers."""


def plain(n: int) -> tuple[te.Schedule, list[te.Tensor]]:
    """The default schedule."""
    A, B = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), "k")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return te.create_schedule(C.op), [A, B, C]


def scheduled(n: int) -> tuple[te.Schedule, list[te.Tensor]]:
    """Tiles of C in registers, B packed so that their columns are neighbours, vectors, and all cores."""
    A, B = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), "k")
    packed = te.compute((n // COLUMNS, n, COLUMNS), lambda o, r, c: B[r, o * COLUMNS + c], name="packed")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * packed[j // COLUMNS, k, j % COLUMNS], axis=k), name="C")
    s = te.create_schedule(C.op)
    tile = s.cache_write(C, "local")
    i, j = C.op.axis
    jo, ji = s[C].split(j, factor=COLUMNS)
    io, ii = s[C].split(i, factor=ROWS)
    jv, lane = s[C].split(ji, factor=LANES)
    s[C].reorder(jo, io, ii, jv, lane)
    s[C].parallel(jo)
    s[tile].compute_at(s[C], io)
    rows, columns = tile.op.axis
    column, inner = s[tile].split(columns, factor=LANES)
    s[tile].reorder(k, rows, column, inner)
    for stage, loops, vector in ((s[C], (ii, jv), lane), (s[tile], (rows, column), inner)):
        for loop in loops:
            stage.unroll(loop)
        stage.vectorize(vector)
    outer, _, place = packed.op.axis
    s[packed].parallel(outer)
    s[packed].vectorize(s[packed].split(place, factor=LANES)[1])
    return s, [A, B, C]


def seconds(function: Callable[[], object], repeat: int) -> float:
    """The least time of several calls, after one that warms up."""
    function()
    times = []
    for _ in range(repeat):
        start = perf_counter()
        function()
        times.append(perf_counter() - start)
    return min(times)


def main(n: int = 1024) -> None:
    """Print the times of all three. Raises `SystemExit` for a size that the tiles do not divide."""
    if n <= 0 or n % COLUMNS:
        raise SystemExit(f"the size must be a positive multiple of {COLUMNS}")
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((n, n)).astype(np.float32) for _ in range(2))
    c = np.empty((n, n), np.float32)
    rows = {"NumPy": (lambda: np.matmul(a, b), 20)}
    for name, make, repeat in (("scheduled", scheduled, 20), ("plain loops", plain, 1)):
        function = te.build(*make(n), target="llvm")
        rows[name] = (lambda function=function: function(a, b, c), repeat)
    for name, (function, repeat) in rows.items():
        taken = seconds(function, repeat)
        print(f"{name:12} {taken * 1e3:10.2f} ms {2e-9 * n**3 / taken:8.1f} GFLOPS")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
