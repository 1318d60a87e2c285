"""How far the time from runs of parts is from that of the whole launch, and what each costs.

    python benchmarks/sampling_accuracy.py                                 # B200, every step at 2048 and 4096
    python benchmarks/sampling_accuracy.py --gpu h100 --steps 4,10 --sizes 2048
    python benchmarks/sampling_accuracy.py --sizes 8192 --no-whole         # seconds only

Whole: ``simulate(…, data=False)``. Parts: the same with ``sampled=True``. Seconds build and simulate the kernel;
`--jobs` kernels run at a time, each on one core.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))

from tirx_mini import simulate
from tirx_mini.commands import step_list
from tirx_mini.course import STEPS, arch_folder, default_kernels, load_kernels, steps_from
from tirx_mini.ending import command
from tirx_mini.hardware import DEFAULT_GPU, GPUS, gpu_spec
from tirx_mini.pool import in_order, spread

BOUND = 0.02
"""How far the two may be apart."""


def timed(gpu: str, step: int, size: int, sampled: bool) -> tuple[float, float]:
    """(predicted microseconds, seconds) of a step's reference kernel."""
    build = load_kernels(default_kernels(), arch_folder(gpu_spec(gpu).arch))[step]
    start = time.perf_counter()
    report = simulate(build(*STEPS[step].shape(size)), gpu=gpu, data=False, sampled=sampled)
    if report.time_us is None:
        raise RuntimeError(f"step {step} at {size} on {gpu}:\n{report}")
    return report.time_us, time.perf_counter() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpu", choices=sorted(GPUS), default=DEFAULT_GPU)
    parser.add_argument("--steps", type=step_list, default=tuple(steps_from(3)), metavar="LIST", help="as in 3-5,10")
    parser.add_argument("--sizes", default="2048,4096")
    parser.add_argument("--no-whole", action="store_true", help="do not simulate whole launches")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    options = parser.parse_args()
    table = Table(title=f"Runs of parts and whole runs, {options.gpu.upper()}", box=None, pad_edge=False)
    for name in ("step", "size", "parts µs", "whole µs", "apart", "parts s", "whole s"):
        table.add_column(name, justify="right")
    cases = list(itertools.product(options.steps, map(int, options.sizes.split(","))))
    worst = 0.0
    wholes = [] if options.no_whole else [(options.gpu, step, n, False) for step, n in cases[::-1]]
    parts = [(options.gpu, step, n, True) for step, n in cases]
    found = dict(zip([*wholes, *parts], in_order(spread(timed), [*wholes, *parts], jobs=options.jobs), strict=True))
    for step, size in cases:
        us, seconds = found[options.gpu, step, size, True]
        row = [str(step), str(size), f"{us:.1f}"]
        if options.no_whole:
            table.add_row(*row, "", "", f"{seconds:.1f}", "")
            continue
        whole_us, whole_s = found[options.gpu, step, size, False]
        worst = max(worst, abs(us / whole_us - 1))
        table.add_row(*row, f"{whole_us:.1f}", f"{us / whole_us - 1:+.1%}", f"{seconds:.1f}", f"{whole_s:.1f}")
    console = Console()
    console.print(table)
    if not options.no_whole:
        console.print(f"apart, at most: {worst:.1%} (bound {BOUND:.0%})")
    return int(worst > BOUND)


if __name__ == "__main__":
    sys.exit(command(main))
