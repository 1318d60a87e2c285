"""``python -m tirx_mini drill 7``: a kernel with one mistake, to be found from its symptom, and repaired."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from tirx_mini.course import (
    DRILLS,
    REPAIRED,
    SHOWN,
    STEPS,
    KernelFileError,
    Notes,
    NotesError,
    OnChip,
    Session,
    answered,
    arch_folder,
    attempt,
    observe,
    placed,
    session,
    standings,
    step_range,
    write_new,
)
from tirx_mini.hardware import DEFAULT_GPU, gpu_spec
from tirx_mini.ir import TirxError
from tirx_mini.report import report_page

from .arguments import positive
from .as_gpu import show_as_gpu
from .prose import prose_console, show_error


def main(argv: Sequence[str] | None = None) -> int:
    """Deal a drill, ask for its mistake, or judge its repair.

    The exit status is 0 if it is repaired (or listed), 1 if it is not yet, and 2 for bad input.
    """
    options = _parser().parse_args(argv)
    console = prose_console()
    try:
        drills = _drills(options)
        notes = Notes.read()
        if options.list:
            for number, line in enumerate(standings(drills, notes), 1):
                console.print(Text(f"{number}  {line}"))
            return 0
        opened = session(drills, notes, options.seed)
        if write_new(opened) and opened.answered:
            console.print(Text(f"{opened.path} was gone, and is dealt again."))
    except (ValueError, NotesError, KernelFileError, OSError) as error:
        console.print(f"error: {error}", markup=False)
        return 2
    name = f"Step {options.step}, drill {opened.number} of {opened.of}: {opened.path}"
    console.print(Text(name, style="bold"))
    opened.noted(notes).write()
    if options.show:
        _reveal(opened, console)
        opened.noted(notes, SHOWN).write()
        return 1
    if opened.answered and options.line is None:
        return _judge(opened, notes, console)
    return _diagnose(opened, notes, options, console)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tirx_mini drill",
        description="Find a mistake by what a GPU shows of it. The first run writes a kernel of the step with one "
        "mistake beside your kernels, shows how it fails, and asks for the line and the cause. Then repair the file "
        "and run the same command: once the kernel is right and as fast as it can be, the report follows.",
        epilog="Exit status: 0 if the drill is repaired, 1 if it is not yet, 2 for bad input.",
    )
    parser.add_argument("step", type=int, choices=list(STEPS), metavar="STEP", help=f"{step_range()}")
    parser.add_argument(
        "--gpu", default=DEFAULT_GPU, help=f"h100 for the ladder for Hopper (default: {DEFAULT_GPU}, Blackwell)"
    )
    parser.add_argument("--line", type=positive, metavar="N", help="your answer: the line of the mistake in that file")
    parser.add_argument("--cause", type=positive, metavar="N", help="your answer: the number of the cause")
    parser.add_argument("--seed", type=int, metavar="S", help="of the names and constants of a drill that is dealt now")
    parser.add_argument("--list", action="store_true", help="only list the drills of the step, and how far you are")
    parser.add_argument("--show", action="store_true", help="give up: show the mistake and the report")
    return parser


def _drills(options: argparse.Namespace) -> tuple:
    """Return the drills of the step. Raises `ValueError` for invalid options."""
    if (options.line is None) != (options.cause is None):
        raise ValueError("--line and --cause are one answer: give both")
    if options.cause is not None and options.cause > 4:
        raise ValueError("--cause is one of the four causes: a number from 1 to 4")
    arch = arch_folder(gpu_spec(options.gpu).arch)
    return tuple(drill for drill in DRILLS[arch] if drill.step == options.step)


def _diagnose(opened: Session, notes: Notes, options: argparse.Namespace, console: Console) -> int:
    """Show the symptom, and read the answer."""
    dealt = opened.dealt
    if options.line is None:
        _as_gpu(opened, console)
        console.print()
        for number, cause in enumerate(dealt.causes, 1):
            console.print(Text(f"  {number}  {cause}"))
        console.print()
    lines = dealt.text.count("\n")
    line = options.line or _asked("the line of the mistake", lines)
    cause = options.cause or (_asked("its cause", len(dealt.causes)) if line else None)
    if not line or not cause:
        console.print("\nNo answer was read: the drill stays open. It also takes --line and --cause.")
        return 2
    if line > lines:
        console.print(f"error: {opened.path} has {lines} lines", markup=False)
        return 2
    answered(opened, line, cause).noted(notes).write()
    console.print(Text(f"Your answer is kept. Now repair {opened.path}, and run the same command again."))
    return 1


def _asked(what: str, most: int) -> int | None:
    """Read a number from the user; return None at the end of the input."""
    while True:
        print(f"{what} (1 to {most}): ", end="", flush=True)
        text = sys.stdin.readline()
        if not text:
            return None
        if text.strip().isdecimal() and 1 <= int(text) <= most:
            return int(text)
        print(f"Write a number from 1 to {most}.")


def _judge(opened: Session, notes: Notes, console: Console) -> int:
    """Judge the user's file; for a repaired file, show the report of the drill."""
    if not opened.changed:
        console.print(Text("The file is as it was dealt: repair it, and run the same command again."))
        return 1
    try:
        judged = attempt(opened.dealt, opened.path)
    except (KernelFileError, ValueError, TirxError) as error:
        return show_error(error, console)
    if not judged.passed:
        _show(opened, judged.found, console)
        console.print(Text(f"\nnot repaired: {judged.said}", style="bold red"))
        return 1
    console.print(Text("repaired\n", style="bold green"))
    _reveal(opened, console)
    opened.noted(notes, REPAIRED).write()
    return 0


def _as_gpu(opened: Session, console: Console) -> None:
    with placed(opened.dealt.text, opened.path.name) as path:
        _show(opened, observe(opened.dealt, path), console)


def _show(opened: Session, found: OnChip, console: Console) -> None:
    drill = opened.dealt.drill
    sms = f", {drill.sms} SM{'s' * (drill.sms != 1)}" if drill.sms else ""
    show_as_gpu(found, drill.gpu, f"{' × '.join(map(str, drill.shape))}{sms}", console)


def _reveal(opened: Session, console: Console) -> None:
    """Show the mistake, the marks of the answer, and the report of the original drill kernel."""
    dealt = opened.dealt
    lines = ", ".join(map(str, dealt.lines))
    if opened.answered:
        console.print(Text(f"your line {opened.line}: {_mark(opened.right_line)} (the mistake: {lines})"))
        console.print(Text(f"your cause {opened.cause}: {_mark(opened.right_cause)}"))
    else:
        console.print(Text(f"the mistake is in line {lines} of the file as it was dealt"))
    console.print(Text(f"{dealt.causes[dealt.right - 1]} {dealt.reason}\n"))
    with placed(dealt.text, opened.path.name) as path:
        checked = observe(dealt, path).checked
        console.print(report_page(checked.report, checked.wrong))


def _mark(right: bool) -> str:
    return "right" if right else "not right"
