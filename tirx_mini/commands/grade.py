"""``tirx grade``: what a hand-in scores, and why."""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.status import Status

from tirx_mini.course import STEPS, TASKS, student_file
from tirx_mini.files import output_file, output_folder, write_whole
from tirx_mini.grading import (
    Cache,
    Graded,
    HandInError,
    NoGpu,
    NotClosed,
    Rules,
    RulesError,
    StepResult,
    autolab,
    grade,
    grade_html,
    grade_page,
    grade_task,
    gradescope,
    load_rules,
    parse_time,
    plain_line,
    points_text,
    read_handin,
    seconds_of,
    unreadable,
)
from tirx_mini.invocation import as_module, shadows
from tirx_mini.sandbox import SandboxError

from . import grade_all
from .arguments import TERMINAL, argument, file_or_terminal, positive, step_list


def main(argv: Sequence[str] | None = None, prog: str = "python -m tirx_mini grade") -> int:
    """Grade a hand-in and print its page.

    The exit status is 0 if it was graded, whatever its score, 2 for bad input, and 1 if grading itself failed, at a
    step too.
    """
    words = sys.argv[1:] if argv is None else argv
    own = any(word == "--own" for word in words)
    if as_module() and not own and (found := shadows()):
        print(f"error: {_said_of(found)}", file=sys.stderr)
        return 2
    if any(word == "--all" or word.startswith("--all=") for word in words):
        return grade_all.main(words)
    options = _parser(prog).parse_args(argv)
    console = Console(highlight=False, stderr=options.json == TERMINAL or options.autolab)
    path = options.path or (student_file() if options.task is None else Path(TASKS[options.task].file))
    try:
        rules = load_rules(options.rules)
        if not path.exists():
            raise HandInError(f"there is no hand-in {plain_line(str(path))}")
        graded = _graded(path, rules, options, console)
    except (HandInError, NoGpu, NotClosed, RulesError, ValueError) as error:
        console.print(f"error: {error}", markup=False, soft_wrap=True)
        return 2
    except OSError as error:
        console.print(f"error: {plain_line(str(error))}", markup=False, soft_wrap=True)
        return 1
    except SandboxError as error:
        console.print(f"error: no process can be started for the hand-in: {error}", markup=False, soft_wrap=True)
        return 1
    console.print(grade_page(graded))
    _write(graded, options)
    return 1 if graded.not_graded else 0


def _said_of(found: Sequence[str]) -> str:
    """Return the reason that hand-ins are not graded on this machine."""
    name = plain_line(found[0])
    return (
        f"this folder has {name}, which `python -m` could execute in place of Python's own module: write "
        "`tirx grade …`, or `python grade.py …` with the path of the kit's grade.py"
    )


def _graded(path: Path, rules: Rules, options: argparse.Namespace, console: Console) -> Graded:
    """Return the grade; an unreadable hand-in scores nothing."""
    submitted = seconds_of(options.submitted, rules.lateness) if options.submitted is not None else None
    try:
        handin = read_handin(path)
    except HandInError as error:
        return unreadable(path.name, str(error), rules, options.target)
    cache = Cache(output_folder(options.cache)) if options.cache is not None else None
    if options.task is not None:
        if options.target != "sim" or options.gpu is not None or options.full:
            raise ValueError("a task is judged in the simulator, on its own GPU: leave out --target, --gpu and --full")
        return grade_task(handin, options.task, rules, cache=cache, handed_in=submitted, own=options.own)
    with _Progress(console, len(options.steps)) as progress:
        return grade(
            handin, rules, target=options.target, gpu=options.gpu, jobs=options.jobs, full=options.full,
            cache=cache, steps=options.steps,
            handed_in=submitted, watch=progress.watch, own=options.own,
        )  # fmt: skip


def _write(graded: Graded, options: argparse.Namespace) -> None:
    """Write the requested files."""
    text = json.dumps(graded.as_dict(), ensure_ascii=False) + "\n"
    if options.json == TERMINAL:
        sys.stdout.write(text)
    elif options.json is not None:
        write_whole(options.json, text)
    if options.html is not None:
        write_whole(options.html, grade_html(graded))
    if options.gradescope is not None:
        write_whole(options.gradescope, json.dumps(gradescope(graded), ensure_ascii=False) + "\n")
    if options.autolab:
        sys.stdout.write(autolab(graded))


class _Progress:
    """The progress of judging: on a terminal, a line that disappears at the end; else a line on stderr for each step.

    The lines show a waiting user that the grader is still running.
    """

    def __init__(self, console: Console, steps: int) -> None:
        self._status: Status | None = console.status("reading the hand-in") if console.is_terminal else None
        self._steps = steps
        self._lock = threading.Lock()
        self._running: set[int] = set()
        self._done = 0
        self._points = 0.0

    def __enter__(self) -> _Progress:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def watch(self, step: int, result: StepResult | None) -> None:
        with self._lock:
            if result is None:
                self._running.add(step)
            else:
                self._running.discard(step)
                self._done += 1
                self._points += result.score or 0.0
            if self._status is not None:
                self._status.update(self._standing())
            elif result is None:
                print(f"judging step {step}", file=sys.stderr, flush=True)
            else:
                points = f"{points_text(result.score)} of {points_text(result.points)} points"
                print(f"step {step}: {points}", file=sys.stderr, flush=True)

    def _standing(self) -> str:
        now = ", ".join(map(str, sorted(self._running)))
        earned = f"{self._done} of {self._steps} steps judged, {points_text(self._points)} points"
        return f"{earned}; judging step {now}" if now else earned


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=prog,
        description="Grade a hand-in: a file of kernels, or the tar that has it. Its Python runs in a sandbox.",
        epilog="A class: --all DIR --out OUT; see --all --help. Exit status: 0 if it was graded, whatever the score, "
        "2 for bad input, 1 if grading itself failed, at one step or at all.",
    )
    parser.add_argument(
        "path", nargs="?", type=Path, metavar="HANDIN", help="gemm_kernels.py or handin.tar (default: gemm_kernels.py)"
    )
    parser.add_argument(
        "--target", choices=("sim", "cuda"), default="sim", help="the simulator, or this machine's GPU (default: sim)"
    )
    parser.add_argument("--gpu", help="the GPU to model (default: b200, or h100 for gemm_kernels_sm90.py)")
    parser.add_argument(
        "--steps", type=step_list, default=tuple(STEPS), metavar="LIST", help="as in 1-3 or 1,4,7 (default: all)"
    )
    parser.add_argument("--task", choices=list(TASKS), help="grade the kernel of this task, in place of the steps")
    parser.add_argument("--full", action="store_true", help="all sizes of the assignment, with their data (minutes)")
    parser.add_argument("--rules", type=Path, metavar="FILE", help="a teacher's grading.toml")
    parser.add_argument(
        "--own", action="store_true", help="it is your own file: grade it also where the machine has no sandbox for it"
    )
    parser.add_argument(
        "--submitted", type=argument(parse_time), metavar="TIME",
        help="when it was handed in, as in 2026-12-01T23:59:00Z (default: the time of the file)",
    )  # fmt: skip
    parser.add_argument(
        "--jobs", type=positive, default=min(2, os.cpu_count() or 1), metavar="N", help="steps at a time (default: 2)"
    )
    parser.add_argument("--cache", type=Path, metavar="DIR", help="keep results of kernels there, for later runs")
    parser.add_argument(
        "--json", type=file_or_terminal, metavar="FILE", help="also write the grade as JSON (- for the terminal)"
    )
    parser.add_argument("--html", type=output_file, metavar="FILE", help="also write the page as HTML")
    parser.add_argument("--gradescope", type=output_file, metavar="FILE", help="also write Gradescope's results.json")
    parser.add_argument("--autolab", action="store_true", help="print what Autolab reads")
    return parser
