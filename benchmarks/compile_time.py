"""How long a kernel takes from Python source to lowered IR, and which part of that each stage takes.

    python benchmarks/compile_time.py [--steps 1-10] [--repeat 20]

The bound of steps 1 to 3 is 50 ms. Apache TVM 0.26 takes about 0.6 s for the front end and lowering of step 10.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))

from measure import in_process

from tirx_mini.ladder import STEPS, default_kernels, load_kernels, parse_steps
from tirx_mini.passes import lower

BOUND_MS = 50.0
SIZE = 1024


def stages(step: int, repeat: int) -> tuple[float, float, float]:
    """Median milliseconds of parsing and of lowering, and those of the very first time, of the step's kernel."""
    factory = load_kernels(default_kernels())[step]
    shape = STEPS[step].shape(SIZE)
    parse: list[float] = []
    lowering: list[float] = []
    for _ in range(repeat + 1):
        start = time.perf_counter()
        kernel = factory(*shape)
        middle = time.perf_counter()
        lower(kernel)
        parse.append((middle - start) * 1e3)
        lowering.append((time.perf_counter() - middle) * 1e3)
    return statistics.median(parse[1:]), statistics.median(lowering[1:]), parse[0] + lowering[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=parse_steps, default=tuple(STEPS), metavar="LIST")
    parser.add_argument("--repeat", type=int, default=20)
    options = parser.parse_args()
    table = Table(title=f"Parse and lower, median of {options.repeat}, size {SIZE}", box=None, pad_edge=False)
    for name in ("step", "parse ms", "lower ms", "together ms", f"of {BOUND_MS:.0f} ms", "first time ms"):
        table.add_column(name, justify="right")
    slow = False
    for step in options.steps:
        parse, lowering, first = in_process(stages, step, options.repeat).result
        total = parse + lowering
        slow = slow or (step <= 3 and total > BOUND_MS)
        table.add_row(
            str(step), f"{parse:.1f}", f"{lowering:.1f}", f"{total:.1f}", f"{total / BOUND_MS:.0%}", f"{first:.1f}"
        )
    Console().print(table)
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
