"""Step 10 and the kernel for every shape beside cuBLAS over forty shapes, one cold launch at a time, on this GPU.

    PYTHONPATH=. python3 benchmarks/h100_sweep.py                          # both types; minutes
    PYTHONPATH=. python3 benchmarks/h100_sweep.py --shapes 4096,128x8192x8192 --dtypes float16 --triton
    PYTHONPATH=. python3 benchmarks/h100_sweep.py --draw 1 --dtypes float16     # forty shapes at random

Each launch starts with a cold L2 and an idle GPU, as `single_launch.py` measures it; the contestants take turns within
a round, in an order drawn anew. The ratio is cuBLAS's time over ours, the median of the ratios of the rounds.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import math
import random
import statistics
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

from contest import Contest
from ladder import build_all, compiled, parse_shapes, this_gpu
from tilelang_cases import swept
from tilelang_h100 import library

from kernels_ref.sm90.extra_every_shape import hgemm
from tirx_mini.commands import step_list
from tirx_mini.course import STEPS, Shape, shape_text
from tirx_mini.ending import command
from tirx_mini.hardware import H100
from tirx_mini.pool import in_order, spread
from tirx_mini.runtime import FLUSH_BYTES, cold_us, in_turn

ROOT = Path(__file__).parents[1]
SQUARES = tuple((n, n, n) for n in (512, 1024, 1536, 2048, 2560, 3072, 4096, 5120, 6144, 7168, 8192))
FLAT = tuple(
    (m, n, k)
    for m in (128, 256, 512, 1024, 2048)
    for n, k in ((4096, 4096), (8192, 8192), (14336, 4096), (4096, 14336))
)
"""A layer of a language model, by the tokens of a batch."""
OTHERS = (
    (4096, 14336, 4096), (4096, 4096, 14336), (8192, 4096, 1024), (8192, 1024, 8192), (16384, 16384, 4096),
    (16384, 4096, 4096), (1024, 1024, 16384), (256, 16384, 1024), (4096, 6144, 4096),
)  # fmt: skip
SIZES = (128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384)
MOST_FLOP = 2 * 8192**3
EXTRA = "every shape"
SWEEP: tuple[Shape, ...] = (*SQUARES, *FLAT, *OTHERS)


@dataclass(frozen=True)
class Measured:
    """One shape and type. us: medians by contestant; ratio: of cuBLAS's time to each one's; row: of many launches in a
    row, where they were asked for."""

    shape: Shape
    dtype: str
    us: dict[str, float]
    ratio: dict[str, float]
    row: dict[str, float]


def drawn(seed: int, count: int = 40) -> tuple[Shape, ...]:
    """Shapes whose M, N and K are drawn from `SIZES`, each of which takes no longer than 8192 × 8192 × 8192."""
    rng = random.Random(seed)
    draws = (tuple(rng.choice(SIZES) for _ in range(3)) for _ in itertools.count())
    found = ((m, n, k) for m, n, k in draws if 2 * m * n * k <= MOST_FLOP)
    return tuple(sorted(itertools.islice(found, count)))


def build_extra(shape: Shape, dtype: str) -> str:
    """Compile the kernel for every shape into the cache; returns what is wrong, or nothing."""
    return compiled(hgemm(*shape, dtype=dtype), f"{EXTRA} at {shape_text(shape)} {dtype}", H100)


def enter_tilelang(contest: Contest, folder: Path, flush: torch.Tensor) -> None:
    """The fastest of the plans that TileLang built for the shape, by single cold launches."""
    arrays = contest.a, contest.b, contest.d
    found = [folder.resolve() / f"{case.file}.so" for case in swept(*contest.shape)]
    launches = {path.stem: library(path, arrays) for path in found if path.exists()}
    if launches:
        times = in_turn({name: partial(cold_us, launch, flush) for name, launch in launches.items()}, 8)
        best = min(times, key=lambda name: statistics.median(times[name]))
        contest.enter("TileLang", launches[best])


def measure(shape: Shape, dtype: str, options: argparse.Namespace, flush: torch.Tensor) -> Measured:
    """The contestants in turn, one cold launch each a round."""
    contest = Contest(shape, dtype)
    for step in options.steps:
        contest.enter_step(step, ROOT / "kernels_ref")
    contest.enter_factory(EXTRA, hgemm)
    if options.triton:
        contest.enter_triton()
    if options.tilelang:
        enter_tilelang(contest, options.tilelang, flush)
    cold = {name: partial(cold_us, launch, flush) for name, launch in contest.entries.items()}
    times = in_turn(cold, options.rounds)
    medians = {name: statistics.median(found) for name, found in times.items()}
    row = _ratios(contest.run(max(4, options.rounds // 4))) if options.row else {}
    return Measured(shape, dtype, medians, _ratios(times), row)


def _ratios(times: dict[str, list[float]]) -> dict[str, float]:
    """The median of the ratios within a round of cuBLAS's time to each contestant's."""
    pairs = {name: zip(times["cuBLAS"], found, strict=True) for name, found in times.items()}
    return {name: statistics.median(peer / own for peer, own in found) for name, found in pairs.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", type=parse_shapes, default=SWEEP, help="as in 4096,128x8192x8192")
    parser.add_argument("--draw", type=int, metavar="SEED", help="forty shapes drawn at random instead")
    parser.add_argument("--dtypes", default="float16,bfloat16")
    parser.add_argument("--steps", type=step_list, default=(max(STEPS),), metavar="LIST")
    parser.add_argument("--row", action="store_true", help="also many launches in a row: the ratio in square brackets")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--triton", action="store_true", help="also Triton's best of a few configurations")
    parser.add_argument("--tilelang", type=Path, metavar="FOLDER", help="also what tilelang_builds.py --swept built")
    parser.add_argument("--jobs", type=int, default=12, help="kernels compiled at a time")
    parser.add_argument("--csv", type=Path, metavar="FILE")
    options = parser.parse_args()
    if options.draw is not None:
        options.shapes = drawn(options.draw)
    steps, dtypes = options.steps, options.dtypes.split(",")
    complaints = build_all(steps, options.shapes, dtypes, ROOT / "kernels_ref", options.jobs, this_gpu())
    extra = [(shape, dtype) for shape in options.shapes for dtype in dtypes]
    complaints += in_order(spread(build_extra), extra, jobs=options.jobs)
    for complaint in filter(None, complaints):
        print(complaint)
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    rows: list[Measured] = []
    for dtype in dtypes:
        for shape in options.shapes:
            rows.append(measure(shape, dtype, options, flush))
            row = rows[-1]
            said = ", ".join(
                f"{name} {us:.1f} us ({row.ratio[name]:.3f})" + (f" [{row.row[name]:.3f}]" if row.row else "")
                for name, us in row.us.items()
            )
            print(f"{shape_text(shape):>20} {dtype:9} {said}", flush=True)
    names = dict.fromkeys(name for row in rows for name in row.us)
    for name in list(names)[1:]:
        ratios = [row.ratio[name] for row in rows if name in row.ratio]
        mean = statistics.geometric_mean(ratios)
        print(f"{name}: geometric mean {mean:.3f}, least {min(ratios):.3f}, of {len(ratios)}")
    if options.csv:
        with options.csv.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            columns = [f"{name} {what}" for what in ("us", "cold", "row") for name in names]
            writer.writerow(["m", "n", "k", "dtype", *columns])
            for row in rows:
                figures = [values.get(name, math.nan) for values in (row.us, row.ratio, row.row) for name in names]
                writer.writerow([*row.shape, row.dtype, *(f"{figure:.3f}" for figure in figures)])
    return 0


if __name__ == "__main__":
    sys.exit(command(main))
