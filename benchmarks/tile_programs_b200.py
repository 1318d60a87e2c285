"""Tile programs on Blackwell, as the simulator's clock predicts them: attention and GEMM by tile.

    PYTHONPATH=. python benchmarks/tile_programs_b200.py --csv docs/b200_tile.csv

The attention has so many heads that an SM has one tile of 256 queries, or of 512: 18 heads for 144 SMs, or 37 for 148.
GEMMs of 8192 are worked out of samples.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from kernels_ref.tile import attention, gemm
from tirx_mini.diagnose import Report, SimulationError
from tirx_mini.tile_ir import ct, simulated

GPU = "b200"
LENGTH, HEADS, MORE_HEADS = 2048, 18, {512: 37}
ATTENTION = (
    (64, (128, 128)), (64, (256, 128)), (64, (512, 64)), (128, (128, 64)), (128, (256, 64)), (128, (256, 128)),
)  # fmt: skip
"""Columns of a head, and the tile: queries and keys."""
WIDE, HIGH = (128, 256, 64), (256, 256, 32)
"""Tiles: rows and columns of C, and the part of K of one step."""
GEMM = ((2048, 2, WIDE), (4096, 1, WIDE), (4096, 1, HIGH), (4096, 2, WIDE), (4096, 2, HIGH), (8192, 2, HIGH))
"""Sizes, CTAs of a cluster, and tiles."""
SAMPLED = 8192


def predicted(launch: Callable[[], None], sampled: bool = False) -> float:
    """The predicted time of a launch, in µs."""
    reports: list[Report] = []
    try:
        with simulated(GPU, data=False, sampled=sampled, reports=reports):
            launch()
    except SimulationError:  # without data, no report is a proof
        pass
    (report,) = reports
    if report.time_us is None:
        raise SystemExit(str(report))
    return report.time_us


def rows() -> Iterator[tuple[str, str, float, float]]:
    """(problem, tile, µs, TFLOPS) of each case."""
    for columns, tiles in ATTENTION:
        heads = MORE_HEADS.get(tiles[0], HEADS)
        q, k, v, o = (torch.zeros((1, heads, LENGTH, columns), dtype=torch.float16) for _ in range(4))
        time = predicted(lambda: attention.attention(q, k, v, o, tiles=tiles))  # noqa: B023
        flops = 4 * heads * LENGTH**2 * columns
        problem = f"attention, {columns} columns" + (f", {heads} heads" if heads != HEADS else "")
        yield problem, " × ".join(map(str, tiles)), time, flops / time / 1e6
    for size, ctas, tiles in GEMM:
        kernel = gemm.gemm_tile.replace_hints(num_ctas=ctas)
        a, b, c = (torch.zeros((size, size), dtype=torch.float16) for _ in range(3))
        grid = (size // tiles[0], size // tiles[1])
        time = predicted(lambda: ct.launch(None, grid, kernel, (a, b, c, *tiles)), size >= SAMPLED)  # noqa: B023
        problem = f"GEMM {size}" + (", num_ctas=2" if ctas == 2 else "")
        yield problem, " × ".join(map(str, tiles)), time, 2 * size**3 / time / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--csv", type=Path, help="where the table goes")
    arguments = parser.parse_args()
    found = [("problem", "tile", "us", "tflops")]
    for problem, tile, time, speed in rows():
        print(f"{problem}, {tile}: {time:.1f} us, {speed:.0f} TFLOPS", flush=True)
        found.append((problem, tile, f"{time:.1f}", f"{speed:.0f}"))
    if arguments.csv:
        with arguments.csv.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(found)


if __name__ == "__main__":
    main()
