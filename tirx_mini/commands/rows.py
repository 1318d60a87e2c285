"""Computation of table rows, with a progress bar on the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tirx_mini.course import Row, Task, run_tasks, shape_text


def run_with_bar(tasks: Sequence[Task], jobs: int, console: Console) -> list[Row]:
    """Return the rows of the tasks in their order, with a bar during the computation."""
    rows: dict[int, Row] = {}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("simulating", total=len(tasks))
        for index, row in run_tasks(tasks, jobs):
            rows[index] = row
            last = f"step {row.step} {shape_text(row.shape)}: {row.verdict}"
            progress.update(bar, advance=1, description=f"{last:<28}")
    return [rows[index] for index in sorted(rows)]
