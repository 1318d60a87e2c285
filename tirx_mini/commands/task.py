"""``python -m tirx_mini task a``: a task without a skeleton, and the judgement of the user's kernel for it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markdown import Markdown
from rich.text import Text

from tirx_mini.course import (
    TASKS,
    KernelFileError,
    KernelRef,
    KernelTask,
    Shape,
    judge_task,
    load_kernel,
    shape_text,
)
from tirx_mini.files import write_whole
from tirx_mini.ir import TirxError
from tirx_mini.report import report_page

from .arguments import shape
from .prose import prose_console, show_error


def main(argv: Sequence[str] | None = None) -> int:
    """Print a task, or judge a file for it.

    The exit status is 0 if the kernel passes the public problems (or the task was printed), 1 if it does not, and 2 for
    bad input.
    """
    options = _parser().parse_args(argv)
    console = prose_console()
    if options.task is None:
        for task in TASKS.values():
            budget = f"within {task.budget_us:g} µs at {shape_text(task.timed)}"
            console.print(Text(f"{task.letter}  {task.title}, {budget}"))
        return 0
    task = TASKS[options.task]
    path: Path = options.file or Path(task.file)
    if options.text or (options.file is None and not path.exists()):
        return _print(task, path, console)
    try:
        return _judge(task, path, options.shape, console)
    except (KernelFileError, ValueError, TirxError) as error:
        return show_error(error, console)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tirx_mini task",
        description="The last tasks have no skeleton and no page: a specification, problems, and a budget in predicted "
        "microseconds. The first run prints the task; once your file is there, the command judges it for the public "
        "problems and the budget. `grade --task` also judges problems that it draws itself.",
        epilog="Exit status: 0 if the kernel passes, 1 if it does not, 2 for bad input.",
    )
    parser.add_argument("task", nargs="?", choices=list(TASKS), metavar="TASK", help=f"one of {', '.join(TASKS)}")
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="your kernel (default: task_a.py of a)")
    parser.add_argument("--shape", type=shape, metavar="M,N,K", help="only this problem, public or not")
    parser.add_argument("--text", action="store_true", help="print the task, although the file is there")
    return parser


def _print(task: KernelTask, path: Path, console: Console) -> int:
    """Print the specification, and write the file to begin with if the task has one and the file is missing."""
    console.print(Text(f"Task {task.letter}: {task.title}\n", style="bold"))
    console.print(Markdown(task.text))
    public = ", ".join(map(shape_text, task.shapes))
    console.print(Text(
        f"\nPublic problems (M x N x K): {public}, and {shape_text(task.timed)}, for which the budget is "
        f"{task.budget_us:g} µs in a row of launches, predicted on a {task.spec.name}.\n"
    ))  # fmt: skip
    if task.handed_out and not path.exists():
        write_whole(path, task.handed_out)
        console.print(Text(f"{path} is written."))
    console.print(Text(f"Your kernel goes into {path}; the same command then judges it."))
    return 0


def _judge(task: KernelTask, path: Path, problem: Shape | None, console: Console) -> int:
    """Judge the file for its problems, up to the first that fails."""
    ref = KernelRef(path, task.factory)
    for each in (problem,) if problem is not None else (*task.shapes, task.timed):
        judged = judge_task(task, load_kernel(ref, shape=each), each)
        report = judged.report
        if not judged.said and report is not None:
            console.print(Text(f"{shape_text(each)}: right, {report.time_us:.1f} µs", style="green"))
            continue
        if report is not None:
            console.print(report_page(report))
            console.print()
        console.print(Text(f"{shape_text(each)}: {judged.said}", style="bold red"))
        return 1
    passed = f"within the budget of {task.budget_us:g} µs" if problem in (None, task.timed) else "for this problem"
    console.print(Text(f"task {task.letter} passes {passed}", style="bold green"))
    return 0
