"""How long the simulator takes, and how much memory: seconds and MiB beside their bounds.

    python benchmarks/sim_speed.py                 # step 3 at 1024 and 2048, all steps at 1024
    python benchmarks/sim_speed.py --full          # also step 10 and step 7 at 4096

Building the kernel counts, making the data does not. Each line is a process of its own.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))

from measure import in_process

from tirx_mini import simulate
from tirx_mini.course import STEPS, default_kernels, load_kernels
from tirx_mini.ending import command


@dataclass(frozen=True)
class Case:
    """Some steps at one size, one after the other, and what they may take together."""

    steps: tuple[int, ...]
    size: int
    bound_s: float
    bound_mib: float
    repeat: int = 3


CASES = (
    Case((3,), 1024, 3, 1024),
    Case((3,), 2048, 15, 1024),
    Case(tuple(STEPS), 1024, 15, 3072),
)
LARGE = (Case((10,), 4096, 30, 3072, repeat=1), Case((7,), 4096, 90, 3072, repeat=1))


def simulated(steps: tuple[int, ...], size: int) -> float:
    """Seconds to build and simulate the reference kernels of the steps."""
    seconds = 0.0
    kernels = load_kernels(default_kernels())
    for step in steps:
        m, n, k = STEPS[step].shape(size)
        rng = np.random.default_rng(0)
        a, b = (rng.standard_normal(shape, dtype=np.float32).astype(np.float16) for shape in ((m, k), (n, k)))
        d = np.full((m, n), np.nan, np.float16)
        start = time.perf_counter()
        report = simulate(kernels[step](m, n, k), a, b, d)
        seconds += time.perf_counter() - start
        if report.verdict != "ok":
            raise RuntimeError(f"step {step} at {size}:\n{report}")
    return seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true")
    options = parser.parse_args()
    table = Table(title="The simulator's own speed (median)", box=None, pad_edge=False)
    for name in ("steps", "size", "runs", "s", "bound s", "share", "peak MiB", "bound MiB"):
        table.add_column(name, justify="right")
    over = False
    for case in CASES + (LARGE if options.full else ()):
        runs = [in_process(simulated, case.steps, case.size) for _ in range(case.repeat)]
        seconds = sorted(run.result for run in runs)[len(runs) // 2]
        peak = max(run.peak_mib for run in runs)
        over = over or seconds > case.bound_s or peak > case.bound_mib
        names = f"{case.steps[0]}" if len(case.steps) == 1 else f"{case.steps[0]}-{case.steps[-1]}"
        table.add_row(
            names, str(case.size), str(case.repeat), f"{seconds:.2f}", f"{case.bound_s:g}",
            f"{seconds / case.bound_s:.0%}", f"{peak:.0f}", f"{case.bound_mib:g}",
        )  # fmt: skip
    Console().print(table)
    return int(over)


if __name__ == "__main__":
    sys.exit(command(main))
