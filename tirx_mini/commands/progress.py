"""``python -m tirx_mini progress``: a table of the student's steps, and what is next."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tirx_mini.course import (
    LARGEST,
    STEPS,
    Advice,
    KernelFileError,
    Plan,
    Standing,
    State,
    advice,
    plan,
    solutions,
    student_file,
)
from tirx_mini.diagnose import rate_figure
from tirx_mini.files import write_whole

from .arguments import TERMINAL, file_or_terminal, positive
from .rows import run_with_bar

_STYLES = {State.FAST: "green", State.RIGHT: "yellow", State.BUILDS: "yellow", State.TODO: "cyan"}
_UNSTYLED = (State.NOT_BEGUN, State.ABSENT)
_CODES = 2
"""The maximum number of listed codes of a step; further codes are only counted."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the filled-in steps, and print the table. The exit status is 2 for bad input, else 0."""
    options = _parser().parse_args(argv)
    console = Console(highlight=False, stderr=options.json == TERMINAL)
    try:
        todo = plan(options.file or student_file(), options.gpu, None if options.full else LARGEST)
    except (KernelFileError, ValueError) as error:
        console.print(f"error: {error}", markup=False, soft_wrap=True)
        return 2
    tasks = todo.tasks()
    standings = todo.standings(run_with_bar(tasks, options.jobs, console) if tasks else [])
    following = advice(todo, standings)
    done = sum(standing.done for standing in standings)
    place = f"{todo.path}, on a modelled {todo.gpu.upper()}"
    console.print(Text(f"{place}: {done} of {len(standings)} steps are right and fast", style="bold"), soft_wrap=True)
    console.print(progress_table(standings))
    if tasks:
        sizes = "all sizes" if options.full else f"up to size {LARGEST}"
        console.print(f"tests: {sizes}. TFLOPS: predicted; ref: share of the reference's.", style="dim")
    if said := solutions(todo, standings):
        console.print(f"\n{said}", markup=False, soft_wrap=True)
    if todo.problem:
        console.print(f"\n{todo.problem.rstrip()}", markup=False, soft_wrap=True)
    console.print(f"\nnext: {following.sentence}", markup=False, soft_wrap=True)
    if following.command:
        console.print(f"\n    {following.command}", markup=False, soft_wrap=True)
    if options.json is not None:
        text = json.dumps(_as_dict(todo, standings, following), ensure_ascii=False)
        if options.json == TERMINAL:
            sys.stdout.write(text + "\n")
        else:
            write_whole(options.json, text + "\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tirx_mini progress",
        description="Run the steps that are filled in, in the simulator, and print how far each is and what is next.",
    )
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="your kernels (default: gemm_kernels.py)")
    parser.add_argument("--gpu", help="the GPU to model (default: b200, or h100 for kernels with wgmma)")
    parser.add_argument("--full", action="store_true", help="also the sizes of the step tests that take longer")
    parser.add_argument(
        "--jobs", type=positive, default=min(2, os.cpu_count() or 1), metavar="N", help="runs at a time (default: 2)"
    )
    parser.add_argument(
        "--json", type=file_or_terminal, metavar="FILE", help="also write the table as JSON (- for the terminal)"
    )
    return parser


def progress_table(standings: Sequence[Standing]) -> Table:
    """Return a table with a line for each step, at most 80 columns wide."""
    table = Table(box=None, pad_edge=False)
    for name in ("step", "", "state", "tests", "findings", "TFLOPS", "ref"):
        table.add_column(name, justify="right" if name in ("step", "tests", "TFLOPS", "ref") else "left", no_wrap=True)
    for standing in standings:
        table.add_row(str(standing.step), STEPS[standing.step].title, *_cells(standing))
    return table


def _cells(standing: Standing) -> tuple[str | Text, ...]:
    state = standing.state
    words = f"TODO, line {standing.line}" if state is State.TODO and standing.line else state.value
    style = "dim" if state in _UNSTYLED else _STYLES.get(state, "red")
    codes = " ".join(standing.codes[:_CODES])
    if len(standing.codes) > _CODES:
        codes = f"{standing.codes[0]} +{len(standing.codes) - 1}"
    return (
        Text(words, style=style),
        f"{standing.passed}/{standing.tests}" if standing.tests else "",
        codes,
        "" if standing.tflops is None else rate_figure(standing.tflops),
        "" if standing.share is None else f"{standing.share:.0%}",
    )


def _as_dict(todo: Plan, standings: Sequence[Standing], following: Advice) -> dict[str, object]:
    """Return the table as a JSON object: names in snake case, rates in TFLOPS, states as in the table."""
    steps = [
        {
            "step": standing.step,
            "title": STEPS[standing.step].title,
            "state": standing.state.value,
            "line": standing.line,
            "tests": standing.tests,
            "passed": standing.passed,
            "codes": list(standing.codes),
            "shape": None if standing.shape is None else list(standing.shape),
            "tflops": standing.tflops,
            "reference_tflops": standing.reference_tflops,
            "share": standing.share,
            "failing": None if standing.failing is None else str(standing.failing),
            "detail": standing.detail,
        }
        for standing in standings
    ]
    return {
        "file": str(todo.path),
        "gpu": todo.gpu,
        "problem": todo.problem,
        "steps": steps,
        "next": {"step": following.step, "sentence": following.sentence, "command": following.command},
    }
