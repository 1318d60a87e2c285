"""What the simulator's checks cost, and how long it takes to explain a deadlock: beside their bounds.

    python benchmarks/check_cost.py                # every step from 3 on, at 1024

A run without checks is the bare simulation: values, engines and clock, but no shadows of memory and no vector clocks;
its seconds are the processor's. "orders" is what it adds to a checked run to prove all orders of its events right. The
deadlock is a step 7 whose MMA warp takes one K tile less than there are.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from unittest.mock import patch

import numpy as np
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))

from measure import in_process

from tirx_mini import simulate
from tirx_mini.course import STEPS, arch_folder, default_kernels, load_kernels, steps_from
from tirx_mini.ending import command
from tirx_mini.hardware import DEFAULT_ARCH
from tirx_mini.ir import PrimFunc
from tirx_mini.sim import Mbarrier

CHECKS_BOUND = 2.0
ORDERS_BOUND = 0.2
DEADLOCK_BOUND_S = 5.0
REPEAT = 5
MMA_LOOP = "for k in range(K_TILES):\n                                tma2mma.wait("


def arguments(m: int, n: int, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape, dtype=np.float32).astype(np.float16) for shape in ((m, k), (n, k)))
    return a, b, np.full((m, n), np.nan, np.float16)


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


@contextmanager
def one_order() -> Generator[None, None, None]:
    """Runs that prove nothing of other orders: mbarriers do not keep what their phases were made of."""
    with patch.object(Mbarrier, "_no_phases", lambda self: None):
        yield


def costs(step: int, size: int) -> tuple[float, float, float]:
    """Seconds of a step's reference with checks, with those for one order, and without any.

    Each is the least of several runs, taken in turns.
    """
    shape = STEPS[step].shape(size)
    kernel = load_kernels(default_kernels())[step](*shape)
    data = arguments(*shape)
    kinds = ((True, nullcontext), (True, one_order), (False, nullcontext))
    best = [float("inf")] * len(kinds)
    for _ in range(REPEAT):
        for number, (checks, manner) in enumerate(kinds):
            with manner():
                taken = seconds(lambda checks=checks: simulate(kernel, *data, checks=checks))
            best[number] = min(best[number], taken)
    return best[0], best[1], best[2]


def deadlocked(size: int) -> PrimFunc:
    """Step 7 whose MMA warp goes through ``range(K_TILES - 1)``, and the TMA warp through all."""
    (source,) = (default_kernels() / arch_folder(DEFAULT_ARCH)).glob("step07*.py")
    text = source.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / source.name
        path.write_text(text.replace(MMA_LOOP, MMA_LOOP.replace("K_TILES", "K_TILES - 1")), encoding="utf-8")
        return load_kernels(path)[7](size, size, size)


def explaining(size: int) -> float:
    """Seconds from the start of a deadlocked kernel's simulation to its page."""
    start = time.perf_counter()
    report = simulate(deadlocked(size), *arguments(size, size, size))
    page = str(report)
    taken = time.perf_counter() - start
    if report.verdict != "deadlock":
        raise RuntimeError(f"the kernel does not hang:\n{page}")
    return taken


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=1024)
    options = parser.parse_args()
    table = Table(title="The cost of checks", box=None, pad_edge=False)
    for name in ("step", "size", "with s", "without s", "ratio", "bound", "orders", "bound"):
        table.add_column(name, justify="right")
    over = False
    for step in steps_from(3):
        checked, single, bare = in_process(costs, step, options.size).result
        ratio, orders = checked / bare, checked / single - 1
        over = over or ratio > CHECKS_BOUND or orders > ORDERS_BOUND
        table.add_row(
            str(step), str(options.size), f"{checked:.2f}", f"{bare:.2f}", f"{ratio:.2f}", f"{CHECKS_BOUND:g}",
            f"{orders:+.0%}", f"{ORDERS_BOUND:.0%}",
        )  # fmt: skip
    taken = in_process(explaining, options.size).result
    console = Console()
    console.print(table)
    console.print(f"a deadlocked step 7 at {options.size} explained in {taken:.2f} s (bound {DEADLOCK_BOUND_S:g} s)")
    return int(over or taken > DEADLOCK_BOUND_S)


if __name__ == "__main__":
    sys.exit(command(main))
