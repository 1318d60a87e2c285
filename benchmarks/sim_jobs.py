"""How long a launch takes without data, with data in one process, and with data in two: seconds, and their ratios.

Beside what the second process gains stands the most that it could: what two processes gain that execute the whole
launch each, at the same time, and have nothing to divide. Cores that share caches or clocks gain less than 2.

    python benchmarks/sim_jobs.py                          # steps 9 and 10 on a modelled B200, at 4096
    python benchmarks/sim_jobs.py b200:10 h100:7 --rounds 5 --jobs 2 --size 4096

The runs of a round follow one another, so that a ratio compares what the machine did within some seconds. Printed
are the medians of the rounds. On a machine with more cores, `taskset -c 0,1` keeps to two of them.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from tirx_mini import simulate
from tirx_mini.course import STEPS, load_kernels
from tirx_mini.ending import command
from tirx_mini.hardware import gpu_spec
from tirx_mini.ir import PrimFunc

ROOT = Path(__file__).parents[1]


def seconds(kernel: PrimFunc, args: list[np.ndarray], gpu: str, jobs: int) -> tuple[float, float, float, float]:
    """Of the run without data, of that with data in one process, of that in several, and of several runs at once."""

    def run(data: bool = True, count: int = 1) -> None:
        args[-1][...] = np.nan
        report = simulate(kernel, *(args if data else ()), data=data, gpu=gpu, jobs=count)
        if report.verdict != ("ok" if data else "clock"):
            raise RuntimeError(str(report))

    def all_at_once() -> None:
        others = [multiprocessing.get_context("fork").Process(target=run) for _ in range(jobs - 1)]
        for other in others:
            other.start()
        run()
        for other in others:
            other.join()

    times: list[float] = []
    for what in (partial(run, data=False), run, partial(run, count=jobs), all_at_once):
        start = time.perf_counter()
        what()
        times.append(time.perf_counter() - start)
    return times[0], times[1], times[2], times[3]


def measured(gpu: str, step: int, size: int, rounds: int, jobs: int) -> str:
    """A line of the table."""
    folder = ROOT / "kernels_ref" / ("sm90" if gpu_spec(gpu).arch == "sm_90a" else "sm100")
    m, n, k = STEPS[step].shape(size)
    kernel = load_kernels(folder)[step](m, n, k)
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape, dtype=np.float32).astype(np.float16) for shape in ((m, k), (n, k)))
    runs = [seconds(kernel, [a, b, np.empty((m, n), np.float16)], gpu, jobs) for _ in range(rounds)]
    clock, one, several, _ = (median(column) for column in zip(*runs, strict=True))
    data = [each[1] / each[0] for each in runs]
    gain = [each[1] / each[2] for each in runs]
    most = [jobs * each[1] / each[3] for each in runs]
    return (
        f"{gpu:>5} {step:>4} {clock:>8.2f} {one:>7.2f} {several:>7.2f}"
        f" {median(data):>9.2f} {min(data):>5.2f}-{max(data):.2f}"
        f" {median(gain):>5.2f} {min(gain):>5.2f}-{max(gain):.2f} {median(most):>5.2f}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=["b200:9", "b200:10"], metavar="GPU:STEP")
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    heads = "GPU", "step", "no data", "1 proc.", f"{options.jobs} proc.", "1/no data", "", "gain", "", "most"
    widths = 5, 4, 8, 7, 7, 9, 10, 5, 10, 5
    print(" ".join(f"{head:>{width}}" for head, width in zip(heads, widths, strict=True)))
    for case in options.cases:
        gpu, _, step = case.partition(":")
        print(measured(gpu, int(step), options.size, options.rounds, options.jobs), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(command(main))
