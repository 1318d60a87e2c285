"""Whether anything inside the package breaks on kernels that are damaged at random: read, lower and simulate them.

    python -m tools.fuzz --count 2000              # minutes
    python -m tools.fuzz --misuse --count 20000    # kernels with one wrong use of any object of the language
    python -m tools.fuzz --count 1 --seed 1234     # one of them again
    python -m tools.fuzz --seed 1234 --show        # its text

A damaged kernel may be refused, fault, hang, race or compute nonsense; each of these is a page. What may not happen is
a Python error from inside tirx_mini, a run beyond the bound, or memory that is never given back.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import gc
import linecache
import os
import random
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console

import tirx_mini as tvm
from tirx_mini.course import Shape, load_kernels
from tirx_mini.ending import command
from tirx_mini.ir import TirxError
from tirx_mini.pool import Lost, run_bounded
from tirx_mini.script import from_source
from tools import misuse
from tools.damage import STRUCTURE, damaged
from tools.mutants.judge import RUNS, on_small_gpu
from tools.source import REFERENCES, ROOT, KernelSource

BOUND_S = 60.0
MISUSE_BUDGET = 100_000
DEFECT = "tirx_mini itself fails"
"""The beginning of the page of a pass that fails (`passes.lower`)."""
GROWTH_MIB = 64.0
"""By how much the memory of a process may grow over its kernels once it is warm."""
WARM, TIDY = 150, 20
"""After how many kernels a process is warm, and how often it tidies up."""
PACKAGE = str(ROOT / "tirx_mini")


@dataclass(frozen=True)
class Outcome:
    """What became of a damaged kernel.

    how: "ok", a verdict, "refused", "python" (an error of the kernel file's own), or "crash". where: for a crash, its
    traceback, or what its page lacks. rss_mib: resident memory of process `pid` afterwards. time_us: what the
    simulator's clock says.
    """

    seed: int
    how: str
    seconds: float
    rss_mib: float
    pid: int
    where: str = ""
    time_us: float | None = None

    def __str__(self) -> str:
        """How long it took, and how much time of the GPU that was: damage may well multiply a kernel's work."""
        simulated = "" if self.time_us is None else f" for {self.time_us:,.0f} us of the GPU's"
        return f"{self.seconds:.1f} s{simulated}, seed {self.seed}"


def kernel_text(seed: int) -> tuple[int, str]:
    """(step, text) of a damaged reference; half of them are damaged so that most can still be read."""
    rng = random.Random(seed)
    step = rng.choice(list(REFERENCES))
    text = on_small_gpu(step, KernelSource.reference(step).text)
    return step, damaged(text, rng, STRUCTURE if rng.random() < 0.5 else None)


def fuzz(seed: int) -> Outcome:
    """Run the damaged kernel of a seed."""
    start = time.perf_counter()
    step, text = kernel_text(seed)
    how, where, time_us = _run(step, text, seed)
    if seed % TIDY == 0:
        tidy()
    return Outcome(seed, how, time.perf_counter() - start, rss_mib(), os.getpid(), where, time_us)


def misused(seed: int) -> Outcome:
    """Run the kernel with a wrong use of the language that has this seed. Its page must have a place and a hint."""
    start = time.perf_counter()
    how, where = "refused", ""
    try:
        with contextlib.redirect_stdout(None), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = from_source(misuse.kernel_text(seed), misuse.names())
            report = tvm.simulate(made, *misuse.arguments(), budget=MISUSE_BUDGET)
            how, text = report.verdict, str(report)
            how, where = ("crash", text) if DEFECT in text else (how, "")
    except TirxError as error:
        lacks = misuse.shortcomings(error)
        how, where = ("crash", f"{', '.join(lacks)}: {error}") if lacks else (how, where)
    except Exception as error:
        how, where = "crash", "".join(traceback.format_exception(error))
    if seed % TIDY == 0:
        tidy()
    return Outcome(seed, how, time.perf_counter() - start, rss_mib(), os.getpid(), where)


def tidy() -> None:
    """Give back what is no leak: cycles, the text of kernel files that are gone, and what the allocator keeps."""
    gc.collect()
    linecache.clearcache()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def _run(step: int, text: str, seed: int) -> tuple[str, str, float | None]:
    """`how`, `where` and `time_us` of the outcome."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"damaged{seed}.py"
        path.write_text(text, encoding="utf-8")
        try:
            shape = RUNS[step][0][0]
            kernel = load_kernels(path)[step](*shape)
            report = tvm.simulate(kernel, *data(shape), seed=seed % 3)
            text = str(report)
            return ("crash", text, None) if DEFECT in text else (report.verdict, "", report.time_us)
        except TirxError as error:
            str(error)
            return "refused", "", None
        except Exception as error:
            # Python itself runs what is around the kernel: its errors end in the kernel's file, or in an explanation.
            frames = traceback.extract_tb(error.__traceback__)
            inside = frames[-1].filename.startswith(PACKAGE) and not is_explained(error)
            return ("crash", "".join(traceback.format_exception(error)), None) if inside else ("python", "", None)


def is_explained(error: Exception) -> bool:
    """Whether an error that is no page of a kernel is meant for the user all the same: one of our own classes."""
    return type(error).__module__.startswith("tirx_mini") and not isinstance(error, AssertionError)


def data(shape: Shape) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    m, n, k = shape
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(size, dtype=np.float32).astype(np.float16) for size in ((m, k), (n, k)))
    return a, b, np.full((m, n), np.nan, np.float16)


def rss_mib() -> float:
    """Resident memory now, where the system tells it without a library; else 0."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20 if statm.exists() else 0.0


def growth(outcomes: Sequence[Outcome]) -> float:
    """MiB by which the memory of any process grew after its first kernels; the outcomes are in order."""
    worst = 0.0
    for pid in {o.pid for o in outcomes}:
        warm = [o.rss_mib for o in outcomes if o.pid == pid][WARM:]
        if len(warm) > 4 * TIDY:
            # Single kernels need much for a moment: the least of the first and of the last ones tells what stays.
            worst = max(worst, min(warm[-2 * TIDY :]) - min(warm[: 2 * TIDY]))
    return worst


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=2000, metavar="N", help="how many kernels")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the first; the others count on from there")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes")
    parser.add_argument("--misuse", action="store_true", help="one wrong use of the language instead of damage")
    parser.add_argument("--show", action="store_true", help="print the kernel of the seed, and run nothing")
    options = parser.parse_args()
    console = Console()
    if options.show:
        print(misuse.kernel_text(options.seed) if options.misuse else kernel_text(options.seed)[1])
        return 0
    seeds = range(options.seed, options.seed + options.count)
    return 0 if campaign(seeds, options.jobs, console, misused if options.misuse else fuzz) else 1


def campaign(seeds: Sequence[int], jobs: int, console: Console, run: Callable[[int], Outcome] = fuzz) -> bool:
    """Run the kernels of the seeds and print what came of them; whether nothing broke."""
    outcomes: list[Outcome] = []
    counts: Counter[str] = Counter()
    for index, outcome in run_bounded(run, seeds, jobs=jobs, bound_s=BOUND_S):
        counts[outcome.reason if isinstance(outcome, Lost) else outcome.how] += 1
        if isinstance(outcome, Lost):
            console.print(f"seed {seeds[index]}: {outcome.reason}")
            continue
        outcomes.append(outcome)
        if outcome.how == "crash":
            console.print(f"seed {seeds[index]}:\n{outcome.where}", markup=False, highlight=False)
    console.print(", ".join(f"{count} {how}" for how, count in counts.most_common()))
    grown, lost = growth(outcomes), counts["timeout"] + counts["died"]
    slowest = max(outcomes, key=lambda outcome: outcome.seconds, default=None)
    at_most = f" (slowest {slowest})" if slowest is not None else ""
    console.print(
        f"{len(seeds)} kernels: {counts['crash']} Python errors from inside the package, {lost} beyond the "
        f"bound of {BOUND_S:.0f} s{at_most}, memory grew by {grown:.0f} MiB",
        soft_wrap=True,
    )
    return not counts["crash"] and not lost and grown <= GROWTH_MIB


if __name__ == "__main__":
    sys.exit(command(main))
