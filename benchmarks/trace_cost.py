"""What a timeline costs: a run that records one beside the same run that does not, and what each form adds.

    python benchmarks/trace_cost.py                       # steps 4, 7 and 10, at 1024 and 2048

Seconds are the processor's, the least of several runs taken in turns. "recorded" includes making the timeline of what
was noted; "page" and "events" are what ``trace -o x.html`` and ``-o x.json`` add to that.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))


from tirx_mini.course import STEPS, Traced, default_kernels, load_kernels, timeline_form
from tirx_mini.diagnose import Report
from tirx_mini.driver.answering import answer
from tirx_mini.ending import command
from tirx_mini.hardware import DEFAULT_GPU, gpu_spec
from tirx_mini.passes import lower
from tirx_mini.sim import Question

BOUND = 1.5
"""What a recorded run may take, as a multiple of one that is not."""
T = TypeVar("T")


def timed(work: Callable[[], T]) -> tuple[float, T]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def costs(step: int, size: int, repeat: int) -> tuple[float, float, Report]:
    """Seconds of a step's reference without a timeline and with one, and the report of the latter."""
    shape = STEPS[step].shape(size)
    kernel = lower(load_kernels(default_kernels())[step](*shape))
    m, n, k = shape
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(each, dtype=np.float32).astype(np.float16) for each in ((m, k), (n, k)))
    d = np.zeros((m, n), np.float16)
    best = [float("inf")] * 2
    report = None
    for _ in range(repeat):
        for trace in (False, True):
            asked = Question(gpu_spec(DEFAULT_GPU), trace=trace)
            taken, report = timed(lambda asked=asked: answer(kernel, (a, b, d), asked))
            best[trace] = min(best[trace], taken)
    assert report is not None and report.trace is not None
    return best[0], best[1], report


def main() -> int:
    """Print the table. The exit status is 1 if a recorded run takes longer than the bound."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--steps", default="4,7,10", metavar="LIST", help="as in 4,7,10")
    parser.add_argument("--sizes", default="1024,2048", metavar="LIST", help="as in 1024,2048")
    parser.add_argument("--repeat", type=int, default=3, help="how often each is run (default: 3)")
    options = parser.parse_args()
    table = Table("step", "size", "plain s", "recorded s", "ratio", "intervals", "page s", "events s", box=None)
    worst = 0.0
    for step in map(int, options.steps.split(",")):
        for size in map(int, options.sizes.split(",")):
            plain, recorded, report = costs(step, size, options.repeat)
            worst = max(worst, recorded / plain)
            assert report.trace is not None
            traced = Traced(report, gpu_spec(DEFAULT_GPU))
            page, _ = timed(lambda traced=traced: timeline_form(traced, ".html"))
            events, _ = timed(lambda traced=traced: timeline_form(traced, ".json"))
            row = [f"{plain:.2f}", f"{recorded:.2f}", f"{recorded / plain:.2f}", f"{len(report.trace.intervals):,}"]
            table.add_row(str(step), str(size), *row, f"{page:.2f}", f"{events:.2f}")
    Console().print(table)
    print(f"the dearest takes {worst:.2f} times as long; the bound is {BOUND}")
    return int(worst > BOUND)


if __name__ == "__main__":
    sys.exit(command(main))
