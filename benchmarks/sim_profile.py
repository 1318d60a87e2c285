"""Where the simulator's time goes: shares of a run by part, from samples of the running thread.

    python benchmarks/sim_profile.py              # steps 3, 7 and 10 at 2048
    python benchmarks/sim_profile.py --step 10 --size 4096 --arch sm_90a

A timer interrupts the process at every millisecond of CPU time, and the sample is booked on the innermost function of
tirx_mini. Time in NumPy counts for the caller. (A second thread would see the simulation mostly where NumPy lets go of
the interpreter's lock.) Needs a system with `signal.setitimer`: Linux or macOS.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))

from tirx_mini import simulate
from tirx_mini.course import STEPS, load_kernels
from tirx_mini.ending import command
from tirx_mini.hardware import DEFAULT_ARCH, architecture_of, nearest_gpu

ROOT = Path(__file__).parents[1]
PARTS = (
    ("front end, lowering", ("script/", "lang/", "passes/", "tile/", "layout/", "ir/", "isa/facts", "isa/core")),
    ("translation", ("sim/translate/",)),
    ("warps", ("<simulation", "isa/", "sim/services", "sim/machine/")),
    # Python looks at a signal that comes during a product when `LazySums.collect`, for which it was computed, goes on.
    ("engines", ("sim/engines/", "sim/machine/lazy")),
    ("happens-before, shadow memory", ("sim/ordering/", "sim/machine/phases", "sim/machine/counting")),
    ("clock, traffic", ("sim/timing/",)),
    ("rules, report", ("diagnose/", "report/", "sim/hazards", "sim/outputs")),
)
"""The parts, each with the beginnings of the files that belong to it. The longest beginning decides."""


def part_of(frame: FrameType | None) -> str:
    """The part that the innermost frame of tirx_mini belongs to."""
    while frame is not None:
        name = frame.f_code.co_filename
        inside = name.rpartition("tirx_mini/")[2] if "tirx_mini/" in name else name
        fits = [(len(start), part) for part, starts in PARTS for start in starts if inside.startswith(start)]
        if fits:
            return max(fits)[1]
        frame = frame.f_back
    return "other"


def sampled(work: Callable[[], Any]) -> tuple[Counter[str], float]:
    """Samples by part while `work` runs, and its seconds of CPU time."""
    found: Counter[str] = Counter()

    def look(signum: int, frame: FrameType | None) -> None:
        found[part_of(frame)] += 1

    before = signal.signal(signal.SIGPROF, look)
    signal.setitimer(signal.ITIMER_PROF, 0.001, 0.001)
    start = time.process_time()
    try:
        work()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    return found, time.process_time() - start


def profile(step: int, size: int, arch: str, data: bool) -> tuple[Counter[str], float]:
    """One run of a step's reference."""
    m, n, k = STEPS[step].shape(size)
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape, dtype=np.float32).astype(np.float16) for shape in ((m, k), (n, k)))
    d = np.full((m, n), np.nan, np.float16)
    factory = load_kernels(ROOT / "kernels_ref", architecture_of(arch).kernels)[step]
    return sampled(lambda: simulate(factory(m, n, k), a, b, d, gpu=nearest_gpu(arch), data=data, jobs=1))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--step", type=int, action="append", choices=list(STEPS), help="a step; may be repeated")
    parser.add_argument("--size", type=int, default=2048, help="M, N and K")
    parser.add_argument("--arch", default=DEFAULT_ARCH, help="sm_100a or sm_90a")
    options = parser.parse_args()
    profile(3, 256, options.arch, True)  # imports and caches
    runs = [(step, data) for step in options.step or (3, 7, 10) for data in (True, False)]
    table = Table(title=f"Shares of the time at {options.size}", expand=False)
    table.add_column("part")
    for step, data in runs:
        table.add_column(f"step {step}{'' if data else ', clock'}", justify="right")
    columns = [profile(step, options.size, options.arch, data) for step, data in runs]
    for part in [*(name for name, _ in PARTS), "other"]:
        table.add_row(part, *(f"{found[part] / max(1, found.total()):.0%}" for found, _ in columns))
    table.add_section()
    table.add_row("seconds of CPU", *(f"{seconds:.2f}" for _, seconds in columns))
    Console(width=100).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(command(main))
