"""How long a kernel takes from Python source to CUDA text and on to a cubin, and which part of that each stage takes.

    python benchmarks/compile_time.py [--steps 1-3,7] [--repeat 20]

Parsing and lowering steps 1 to 3 is bound to 50 ms, the CUDA text of any step to 100 ms, its cubin to 3 s. Apache TVM
0.26 takes about 0.6 s to the CUDA text of step 10. Cubins are compiled for sm_100a, once, without the cache.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))

from measure import in_process

from tirx_mini.codegen import cuda_source
from tirx_mini.commands import step_list
from tirx_mini.course import STEPS, default_kernels, load_kernels
from tirx_mini.ending import command
from tirx_mini.hardware import DEFAULT_ARCH
from tirx_mini.passes import lower
from tirx_mini.runtime import compile_cuda

LOWERED_MS, TEXT_MS, CUBIN_MS = 50.0, 100.0, 3000.0
"""Bounds: of parsing and lowering (steps 1 to 3), of everything to the CUDA text, of compiling that."""
SIZE = 1024


@dataclass(frozen=True)
class Times:
    """Milliseconds: medians of the stages, those to the CUDA text of the very first time, and of compiling once."""

    parse: float
    lower: float
    text: float
    first: float
    cubin: float


def stages(step: int, repeat: int) -> Times:
    """The stages of the step's kernel."""
    factory = load_kernels(default_kernels())[step]
    shape = STEPS[step].shape(SIZE)
    rounds: list[tuple[float, ...]] = []
    for _ in range(repeat + 1):
        ticks = [time.perf_counter()]
        kernel = factory(*shape)
        ticks.append(time.perf_counter())
        lowered = lower(kernel)
        ticks.append(time.perf_counter())
        cuda_source(lowered)
        ticks.append(time.perf_counter())
        rounds.append(tuple((b - a) * 1e3 for a, b in itertools.pairwise(ticks)))
    source = cuda_source(lower(factory(*shape)))
    start = time.perf_counter()
    compile_cuda(source, DEFAULT_ARCH)
    cubin = (time.perf_counter() - start) * 1e3
    parse, lowering, text = (statistics.median(stage) for stage in zip(*rounds[1:], strict=True))
    return Times(parse, lowering, text, sum(rounds[0]), cubin)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=step_list, default=tuple(STEPS), metavar="LIST")
    parser.add_argument("--repeat", type=int, default=20)
    options = parser.parse_args()
    table = Table(title=f"To CUDA text, median of {options.repeat}, size {SIZE}, ms", box=None, pad_edge=False)
    for name in ("step", "parse", "lower", "print", "together", f"of {TEXT_MS:.0f}", "first time", "cubin"):
        table.add_column(name, justify="right")
    slow = False
    for step in options.steps:
        times = in_process(stages, step, options.repeat).result
        lowered = times.parse + times.lower
        total = lowered + times.text
        slow |= (step <= 3 and lowered > LOWERED_MS) or total > TEXT_MS or times.cubin > CUBIN_MS
        figures = [f"{t:.1f}" for t in (times.parse, times.lower, times.text, total)]
        table.add_row(str(step), *figures, f"{total / TEXT_MS:.0%}", f"{times.first:.1f}", f"{times.cubin:.0f}")
    Console().print(table)
    return int(slow)


if __name__ == "__main__":
    sys.exit(command(main))
