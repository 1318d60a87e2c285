"""``python -m tirx_mini ladder``: every step at every size, in the simulator."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ..course import (
    DTYPES,
    STEPS,
    KernelFileError,
    Row,
    Task,
    arch_folder,
    default_kernels,
    load_kernels,
    run_task,
    shape_text,
)
from ..hardware import DEFAULT_GPU, gpu_spec
from ..ir import TirxError
from .ladder_table import ladder_table

_STEPS = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")


def parse_steps(text: str) -> tuple[int, ...]:
    """`1-3,7` as (1, 2, 3, 7). Raises `ArgumentTypeError` for what is no such list or no step."""
    if not _STEPS.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no list of steps; write for example 1-3 or 1,4,7-10")
    steps: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        steps.update(range(int(first), int(last or first) + 1))
    unknown = sorted(steps - set(STEPS))
    if unknown or not steps:
        raise argparse.ArgumentTypeError(f"there is no step {', '.join(map(str, unknown)) or text}: they are 1 to 10")
    return tuple(sorted(steps))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--steps", type=parse_steps, metavar="LIST", help="as in 1-3 or 1,4,7 (default: all)")
    parser.add_argument("--size", type=int, metavar="N", help="one size for each step instead of the assignment's")
    parser.add_argument("--full", action="store_true", help="also the sizes that take the simulator minutes")
    parser.add_argument("--gpu", default=DEFAULT_GPU, help=f"the GPU to model (default: {DEFAULT_GPU})")
    parser.add_argument("--dtype", default="float16", choices=sorted(DTYPES), help="the type of A, B and D")
    parser.add_argument("--kernels", type=Path, metavar="PATH", help="kernel file or folder (default: kernels_ref)")
    parser.add_argument("--schedules", type=int, default=1, metavar="N", help="how many schedules to try (default: 1)")
    parser.add_argument("--seed", type=int, default=0, help="of the data and of the schedules")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1), help="rows at a time (default: 2)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write one JSON object a row")


def run_ladder(options: argparse.Namespace, console: Console | None = None) -> int:
    """Run the ladder and print its table. The exit status is 0 where all rows are ok, 1 where not, 2 for bad input."""
    console = console or Console()
    try:
        tasks = make_tasks(options)
    except (KernelFileError, ValueError) as error:
        console.print(f"error: {error}", markup=False)
        return 2
    except TirxError as error:
        console.print(str(error), markup=False, highlight=False, soft_wrap=True)
        return 1
    rows = run_tasks(tasks, options.jobs, console)
    console.print(ladder_table(rows, options.gpu))
    for row in rows:
        if row.detail:
            console.rule(f"step {row.step}, {shape_text(row.shape)}: {row.verdict}", align="left")
            console.print(row.detail, markup=False, highlight=False)
    if options.json:
        options.json.write_text("".join(json.dumps(asdict(row)) + "\n" for row in rows), encoding="utf-8")
    return 0 if all(row.ok for row in rows) else 1


def make_tasks(options: argparse.Namespace) -> list[Task]:
    """The rows to fill, in the order of the table. Raises `KernelFileError`, `TirxError` for a mistake in the kernels'
    file, or `ValueError` for an unknown GPU.
    """
    gpu_spec(options.gpu)
    kernels = options.kernels or default_kernels()
    present = load_kernels(kernels, arch_folder(gpu_spec(options.gpu).arch))
    steps = options.steps or tuple(step for step in present if step in STEPS)
    return [
        Task(kernels, step, shape, options.gpu, options.dtype, options.schedules, options.seed)
        for step in steps
        for shape in ((STEPS[step].shape(options.size),) if options.size else STEPS[step].all_shapes(options.full))
    ]


def run_tasks(tasks: Sequence[Task], jobs: int, console: Console) -> list[Row]:
    """The rows of the tasks, in their order, `jobs` of them at a time and the largest first."""
    rows: dict[int, Row] = {}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("simulating", total=len(tasks))
        for index, row in _finished(tasks, jobs):
            rows[index] = row
            last = f"step {row.step} {shape_text(row.shape)}: {row.verdict}"
            progress.update(bar, advance=1, description=f"{last:<28}")
    return [rows[index] for index in sorted(rows)]


def _finished(tasks: Sequence[Task], jobs: int) -> Iterator[tuple[int, Row]]:
    """(index, row) as they are done."""
    order = sorted(range(len(tasks)), key=lambda index: -tasks[index].flops)
    if jobs <= 1 or len(tasks) == 1:
        yield from ((index, run_task(tasks[index])) for index in order)
        return
    # Each process has one core's share: NumPy's own threads would only get in each other's way.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        futures: dict[Future[Row], int] = {pool.submit(run_task, tasks[index]): index for index in order}
        for future in as_completed(futures):
            yield futures[future], future.result()
