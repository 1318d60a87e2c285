"""``python -m tirx_mini ladder``: every step at every size, in the simulator."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

from rich.console import Console

from tirx_mini.course import (
    DTYPES,
    FORMS,
    LARGEST_TRACED,
    KernelFileError,
    Task,
    change_text,
    figures_of_row,
    ladder_tasks,
    shape_text,
    what_if_tasks,
    with_timelines,
)
from tirx_mini.files import output_file, output_folder, write_whole
from tirx_mini.ir import TirxError

from .arguments import INCOMPLETE, add_simulation_arguments, add_what_if, positive, step_list
from .ladder_table import ladder_table, why_table
from .rows import run_with_bar


def main(argv: Sequence[str] | None = None) -> int:
    """Run the ladder and print its table.

    With --large, shapes beyond those that the simulator checks in seconds are predicted. The exit status is 0 if
    all rows are ok or predicted, 1 if one is wrong, 2 for bad input, and `INCOMPLETE` if none is wrong but one is not
    wholly modelled.
    """
    options = _parser().parse_args(argv)
    console = Console()
    try:
        tasks = ladder_tasks(
            options.kernels,
            steps=options.steps,
            size=options.size,
            large=options.large,
            full=options.full,
            gpu=options.gpu,
            dtype=options.dtype,
            schedules=options.schedules,
            seed=options.seed,
            sms=options.sms,
            budget=options.budget,
        )
        tasks = [replace(task, why=options.why and task.data) for task in tasks]
        changed = what_if_tasks(tasks, options.what_if) if options.what_if else []
        if options.trace is not None:
            tasks = with_timelines(tasks, output_folder(options.trace), options.trace_as)
    except (KernelFileError, ValueError) as error:
        console.print(f"error: {error}", markup=False)
        return 2
    except TirxError as error:
        console.print(str(error), markup=False, highlight=False, soft_wrap=True)
        return 1
    every = run_with_bar([*tasks, *(task for _, _, task in changed)], options.jobs, console)
    rows = every[: len(tasks)]
    console.print(ladder_table(rows, options.gpu))
    if options.why:
        console.print(why_table(rows))
    if options.trace is not None:
        _say_timelines(tasks, options.trace, console)
    for (index, change, _), after in zip(changed, every[len(tasks) :], strict=True):
        before = rows[index]
        said = change_text(change, figures_of_row(before), figures_of_row(after))
        console.print(f"step {before.step}, {shape_text(before.shape)}: {said}", markup=False, highlight=False)
    for row in rows:
        if row.detail:
            console.rule(f"step {row.step}, {shape_text(row.shape)}: {row.verdict}", align="left")
            console.print(row.detail, markup=False, highlight=False)
    if options.json:
        write_whole(options.json, "".join(json.dumps(asdict(row)) + "\n" for row in rows))
    if any(not row.ok and row.verdict != "incomplete" for row in rows):
        return 1
    return 0 if all(row.ok for row in rows) else INCOMPLETE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tirx_mini ladder", description="Run the steps of the course in the simulator and print a table."
    )
    parser.add_argument("--steps", type=step_list, metavar="LIST", help="as in 1-3 or 1,4,7 (default: all)")
    parser.add_argument("--size", type=positive, metavar="N", help="one size for each step instead of the course's")
    parser.add_argument("--large", action="store_true", help="predict 4096 and 8192, too, by the clock (a minute)")
    parser.add_argument("--full", action="store_true", help="check 4096 and 8192 with their data, too (many minutes)")
    add_simulation_arguments(parser)
    parser.add_argument("--dtype", default="float16", choices=sorted(DTYPES), help="the type of A, B and D")
    parser.add_argument("--kernels", type=Path, metavar="PATH", help="kernel file or folder (default: the references)")
    parser.add_argument(
        "--jobs", type=positive, default=min(2, os.cpu_count() or 1), metavar="N", help="rows at a time (default: 2)"
    )
    parser.add_argument("--why", action="store_true", help="also say what bounds each step; needs more memory")
    parser.add_argument(
        "--trace", type=Path, metavar="DIR", help="also write the timeline of each row to a file of this folder"
    )
    parser.add_argument(
        "--trace-as", default=".html", choices=tuple(FORMS), metavar="SUFFIX",
        help=f"what they are written as: {', '.join(FORMS)} (default: .html)",
    )  # fmt: skip
    add_what_if(parser)
    parser.add_argument("--json", type=output_file, metavar="FILE", help="also write one JSON object a row")
    return parser


def _say_timelines(tasks: Sequence[Task], folder: Path, console: Console) -> None:
    """Print the written timelines, and the missing ones."""
    written = [task.timeline for task in tasks if task.timeline is not None and task.timeline.exists()]
    said = f"wrote {len(written)} timeline{'s' * (len(written) != 1)} to {folder}"
    if any(task.timeline is None for task in tasks):
        said += f"; problems larger than {LARGEST_TRACED}³ have none"
    console.print(said, markup=False, highlight=False)
