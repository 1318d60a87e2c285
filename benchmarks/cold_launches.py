"""Compare predicted and measured cold launches on an H100: the plans of the kernel for every shape in h100_plans.csv.

    PYTHONPATH=. python benchmarks/cold_launches.py                # 30 launches of the half that nothing was fitted to
    PYTHONPATH=. python benchmarks/cold_launches.py --half fitted  # of the half with which the launch was fitted
    PYTHONPATH=. python benchmarks/cold_launches.py --count 200 --most 1e12

Shapes are in one half or the other, by a hash. One plan of each shape is drawn. Ratio: predicted by measured. Only time
is simulated, with nothing in the L2. GHz: of the clock that the launch's own power leaves it.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.h100_plans import measured
from kernels_ref.sm90.extra_every_shape import planned
from kernels_ref.sm90.extra_plans import Plan
from tirx_mini import pool
from tirx_mini.diagnose import LaunchTime, single_launch_time
from tirx_mini.ending import command
from tirx_mini.hardware import H100
from tirx_mini.passes import lower
from tirx_mini.sim import Circumstances, Question, Simulation

PLANS = Path(__file__).parents[1] / "docs" / "h100_plans.csv"
HALVES = ("held-out", "fitted")
SEED = 7
Shape = tuple[int, int, int]
Case = tuple[Shape, Plan, float]


def half_of(shape: Shape) -> str:
    """The half that a shape is in."""
    return HALVES[hashlib.md5(repr(shape).encode(), usedforsecurity=False).digest()[0] % 2]


def cases(half: str, count: int, most: float) -> list[Case]:
    """(shape, plan, measured microseconds) of launches of at most so many operations, each of another shape."""
    return list(_drawn(half, most))[:count]


def _drawn(half: str, most: float) -> Iterator[Case]:
    rng = random.Random(SEED)
    known = [(shape, times) for shape, _, times in measured(PLANS) if half_of(shape) == half]
    rng.shuffle(known)
    for (m, n, k), times in known:
        if 2 * m * n * k <= most:
            chosen = rng.choice(list(times))
            yield (m, n, k), chosen, times[chosen]


def predict(shape: Shape, chosen: Plan, us: float) -> tuple[Shape, Plan, float, LaunchTime]:
    """Simulate one cold launch."""
    kernel = lower(planned(*shape, "float16", chosen))
    simulation = Simulation(kernel, tuple(None for _ in kernel.params), Question(H100, data=False, checks=False))
    outcome = simulation.run(Circumstances(cold=True))
    return shape, chosen, us, single_launch_time(kernel, H100, outcome.cycles, outcome.stats)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=HALVES, default=HALVES[0])
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--most", type=float, default=3e10, metavar="FLOP", help="of the largest product")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    options = parser.parse_args()
    errors: list[float] = []
    todo = cases(options.half, options.count, options.most)
    print(f"{'M × N × K':>20}  tile        CTAs  measured  predicted  ratio   GHz")
    for shape, chosen, us, time in pool.in_order(pool.spread(predict), todo, jobs=options.jobs):
        errors.append(abs(time.us / us - 1))
        size, tile = " × ".join(map(str, shape)), f"{chosen.blk_m} × {chosen.blk_n}"
        row = f"{size:>20}  {tile:10} {chosen.ctas:5} {us:9.1f} {time.us:10.1f} {time.us / us:6.2f}"
        print(f"{row}  {time.clock_ghz:.2f}")
    print(f"off by, median: {statistics.median(errors):.1%}; worst: {max(errors):.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(command(main))
