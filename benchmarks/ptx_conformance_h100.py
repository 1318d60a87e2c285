"""Does the simulator compute what a Hopper chip computes for PTX texts? Every opcode and random programs run on both.

    PYTHONPATH=. python benchmarks/ptx_conformance_h100.py --programs 5000 --jobs 16 --out results
    PYTHONPATH=. python benchmarks/ptx_conformance_h100.py --programs 60 --no-gpu        # simulate and assemble only

Every bit of every result has to be the same; below double precision a NaN equals any other, as the PTX ISA leaves its
bits open. Results of `.approx` and `.full` have to lie within the documented error of the exact value. A kernel that
faults or hangs ends its process, and the others of its batch run again.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from ptx_conformance import FINE, Job, Outcome, known, run, text, write

from tirx_mini.ending import command
from tirx_mini.pool import Lost, run_bounded

BATCH = 8
"""Kernels of one module."""
BOUND_S = 90.0
"""Seconds of a batch, most of which is simulation."""


def jobs(options: argparse.Namespace) -> list[Job]:
    """The batches, those of the table first."""
    count = 0 if options.no_table else len(known()[1])
    seeds = range(options.seed, options.seed + options.programs)
    chip = not options.no_gpu
    tables = [Job(table=tuple(part), seed=options.seed, chip=chip) for part in _parts(range(count))]
    return [*tables, *(Job(seeds=tuple(part), chip=chip) for part in _parts(seeds))]


def _parts(numbers: range) -> Iterator[range]:
    return (numbers[at : at + BATCH] for at in range(0, len(numbers), BATCH))


def outcomes(batches: Sequence[Job], count: int, until: float) -> Iterator[Outcome]:
    """Run batches in processes. A batch that is lost runs again, one kernel at a time. until: when no more begin."""
    again: list[Job] = []
    for index, found in run_bounded(run, batches, jobs=count, bound_s=BOUND_S):
        if not isinstance(found, Lost):
            yield from found
        elif len(parts := batches[index].parts()) > 1:
            again += parts
        else:
            job = batches[index]
            name = f"table{job.table[0]}" if job.table else f"random{job.seeds[0]}"
            yield Outcome(name, "table" if job.table else "random", "lost", found.reason)
        if time.monotonic() > until:
            print("out of time: the rest does not run", flush=True)
            return
    if again:
        yield from outcomes(again, count, until)


def about() -> str:
    """The GPU and its driver."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(query, capture_output=True, text=True, check=True, timeout=20).stdout.splitlines()[0]
    except (OSError, subprocess.SubprocessError, IndexError):
        return "no GPU"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=5000, metavar="N", help="random programs")
    parser.add_argument("--seed", type=int, default=0, help="of the first random program")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--out", type=Path, help="folder for the summary and for programs that differ")
    parser.add_argument("--seconds", type=float, default=540.0, help="after which no more batches begin")
    parser.add_argument("--no-table", action="store_true", help="random programs only")
    parser.add_argument("--no-gpu", action="store_true", help="simulate and assemble only")
    options = parser.parse_args()
    start = time.monotonic()
    found: list[Outcome] = []
    for outcome in outcomes(jobs(options), options.jobs, start + options.seconds):
        found.append(outcome)
        if len(found) % 500 == 0:
            print(f"{len(found)} kernels after {time.monotonic() - start:.0f} s", flush=True)
    summary = text(found, time.monotonic() - start, about())
    if options.out:
        write(options.out, found, summary)
    print(summary)
    return int(any(each.outcome not in FINE for each in found))


if __name__ == "__main__":
    sys.exit(command(main))
