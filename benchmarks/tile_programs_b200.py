"""Tile programs on Blackwell, as the simulator's clock predicts them: attention and GEMM by tile.

    PYTHONPATH=. python benchmarks/tile_programs_b200.py --csv docs/b200_tile.csv

The attention has so many heads that each SM has a tile of 256 queries.
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
LENGTH, HEADS, SIZE = 2048, 18, 4096
ATTENTION = ((64, (128, 128)), (64, (256, 128)), (128, (128, 64)), (128, (256, 64)), (128, (256, 128)))
"""Columns of a head, and the tile: queries and keys."""
GEMM = ((128, 256, 64), (256, 256, 32))
"""Tiles: rows and columns of C, and the part of K of one step. Each by single CTAs, and by pairs."""


def predicted(launch: Callable[[], None]) -> float:
    """The predicted time of a launch, in µs."""
    reports: list[Report] = []
    try:
        with simulated(GPU, data=False, reports=reports):
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
        q, k, v, o = (torch.zeros((1, HEADS, LENGTH, columns), dtype=torch.float16) for _ in range(4))
        time = predicted(lambda: attention.attention(q, k, v, o, tiles=tiles))  # noqa: B023
        flops = 4 * HEADS * LENGTH**2 * columns
        yield f"attention, {columns} columns", " × ".join(map(str, tiles)), time, flops / time / 1e6
    for ctas in (1, 2):
        kernel = gemm.gemm_tile.replace_hints(num_ctas=ctas)
        for tiles in GEMM:
            a, b, c = (torch.zeros((SIZE, SIZE), dtype=torch.float16) for _ in range(3))
            grid = (SIZE // tiles[0], SIZE // tiles[1])
            time = predicted(lambda: ct.launch(None, grid, kernel, (a, b, c, *tiles)))  # noqa: B023
            problem = f"GEMM {SIZE}" + (", num_ctas=2" if ctas == 2 else "")
            yield problem, " × ".join(map(str, tiles)), time, 2 * SIZE**3 / time / 1e6


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
