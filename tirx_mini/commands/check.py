"""``python -m tirx_mini check FILE.py:KERNEL``: one kernel in the simulator, and what is wrong with it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from tirx_mini.course import (
    Checked,
    KernelFileError,
    KernelRef,
    LaunchedFiles,
    Meter,
    Outcome,
    changes_of,
    check_file,
    chip_file,
    gpu_of,
    launched_with,
    product_text,
    scheduled_in,
    shares,
    what_if,
)
from tirx_mini.files import write_whole
from tirx_mini.hardware import gpu_spec
from tirx_mini.ir import TirxError
from tirx_mini.report import barrier_table, plan_text, report_page
from tirx_mini.sim import DEFAULT_LIMIT

from .arguments import (
    INCOMPLETE,
    TERMINAL,
    add_launch_arguments,
    add_no_fill,
    add_simulation_arguments,
    add_what_if,
    file_or_terminal,
    launch_of,
    positive,
    shape,
)
from .prose import show_error
from .waiting import meter

if TYPE_CHECKING:
    from tirx_mini.course import Scheduled


def main(argv: Sequence[str] | None = None) -> int:
    """Check a kernel and print the findings.

    The exit status is 0 if it is ok, 1 if not, 2 for bad input, and `INCOMPLETE` if nothing is wrong as far as the
    simulator models the kernel.
    """
    options = _parser().parse_args(argv)
    console = Console(highlight=False, stderr=options.json == TERMINAL)
    ref = KernelRef.parse(options.kernel)
    shown = meter(console)
    launched = launched_with(options.kernel)
    gpu = options.gpu or gpu_of(ref.path)
    if options.as_gpu:
        return _as_gpu(ref, options, console, shown)
    check = partial(
        check_file, ref, watch=shown.watch, size=options.size, shape=options.shape, gpu=gpu, sms=options.sms,
        schedules=options.schedules, seed=options.seed, budget=options.budget, pedantic=options.pedantic,
        fill=options.fill,
    )  # fmt: skip
    try:
        programs = [] if launched is not None else scheduled_in(ref)
        _show_scheduled(programs, console)
        if programs and not (ref.name and programs[0].runs):
            return 0
        changes = changes_of(ref, options.what_if) if options.what_if and launched is None else []
        with shown:
            if launched is not None:
                checked = _launched(launched, options, shown)
            else:
                checked = check(log_barriers=options.trace_barriers is not None, limit=options.exhaustive)
    except (KernelFileError, ValueError, TirxError) as error:
        return show_error(error, console)
    _show(checked, options, console)
    with shown:
        lines = list(what_if(changes, checked, lambda constants: check(constants=constants)))
    for line in lines:
        console.print(Text(line))
    if options.json is not None:
        text = json.dumps(checked.as_dict(), ensure_ascii=False)
        if options.json == TERMINAL:
            print(text)
        else:
            write_whole(options.json, text + "\n")
    if checked.report.verdict == "incomplete":
        return INCOMPLETE
    return 0 if checked.ok else 1


def _as_gpu(ref: KernelRef, options: argparse.Namespace, console: Console, shown: Meter) -> int:
    """Show only the output of a GPU. The exit status is 0 if D is right, 1 if not, and 2 for bad input."""
    gpu = options.gpu or gpu_of(ref.path)
    others = {
        "--what-if": options.what_if, "--exhaustive": options.exhaustive, "--trace-barriers": options.trace_barriers,
        "--json": options.json, "--pedantic": options.pedantic, "--all": options.all,
        "--schedules": options.schedules > 1,
    }  # fmt: skip
    try:
        if launched_with(options.kernel) is not None:
            raise KernelFileError("--as-gpu takes a kernel in a Python file, for which there are random data")
        if given := next((option for option, value in others.items() if value), None):
            raise KernelFileError(f"--as-gpu shows what a GPU would show: leave out {given}")
        with shown:
            found = chip_file(
                ref, size=options.size, shape=options.shape, gpu=gpu, sms=options.sms, seed=options.seed,
                budget=options.budget, fill=options.fill, watch=shown.watch,
            )  # fmt: skip
    except (KernelFileError, ValueError, TirxError) as error:
        return show_error(error, console)
    from .as_gpu import show_as_gpu

    show_as_gpu(found, gpu_spec(gpu).with_sms(options.sms), "", console)
    return 0 if found.outcome is Outcome.RIGHT else 1


def _launched(programs: LaunchedFiles, options: argparse.Namespace, shown: Meter) -> Checked:
    """Check a kernel launched by the command line. Raises `KernelFileError` for options of other kernels."""
    others = {
        "--size": options.size, "--shape": options.shape, "--what-if": options.what_if, "--sms": options.sms,
        "--exhaustive": options.exhaustive,
    }  # fmt: skip
    for option, value in others.items():
        if value:
            raise KernelFileError(f"{options.kernel} has the arguments of its launch: leave out {option}")
    return programs.launched(
        options.kernel, launch_of(options), options.gpu, schedules=options.schedules, seed=options.seed,
        budget=options.budget, pedantic=options.pedantic, log_barriers=options.trace_barriers is not None,
        trace=True, single=True, watch=shares(None, shown.watch),
    )  # fmt: skip


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tirx_mini check",
        description="Run one kernel in the simulator and explain what is wrong. Of a program that a schedule arranges "
        "(tirx_mini.te, TIR), say what slows it down.",
        epilog=f"Exit status: 0 if it is ok, 1 if not, 2 for bad input, {INCOMPLETE} if it is not wholly modelled.",
    )
    parser.add_argument(
        "kernel", metavar="FILE:KERNEL", help="as in gemm_kernels.py:hgemm_v7, or kernel.cu:reduce with its launch"
    )
    parser.add_argument("--size", type=positive, metavar="N", help="of each dimension that the step leaves free")
    parser.add_argument("--shape", type=shape, metavar="M,N,K", help="all three dimensions")
    add_simulation_arguments(parser, by_file=True)
    add_launch_arguments(parser)
    add_no_fill(parser)
    add_what_if(parser)
    parser.add_argument(
        "--trace-barriers",
        nargs="?",
        const="*",
        metavar="NAME",
        help="also print the events of the mbarriers (of that name)",
    )
    parser.add_argument(
        "--exhaustive",
        type=positive,
        nargs="?",
        const=DEFAULT_LIMIT,
        metavar="LIMIT",
        help=f"try all orders of events up to equivalence, at most LIMIT ({DEFAULT_LIMIT}); for small shapes",
    )
    parser.add_argument(
        "--pedantic", action="store_true", help="also note what only the letter of the ISA demands, and kernels omit"
    )
    parser.add_argument(
        "--all", action="store_true", help="show a page for each finding, those that follow from others too"
    )
    parser.add_argument(
        "--as-gpu", action="store_true",
        help="show only what a GPU would: hangs, errors, wrong tiles and times, with the timeline and the mbarriers",
    )  # fmt: skip
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="also print how the launch was executed, and why so"
    )
    parser.add_argument(
        "--json", type=file_or_terminal, metavar="FILE", help="also write the report as JSON (- for the terminal)"
    )
    return parser


def _show_scheduled(programs: Sequence[Scheduled], console: Console) -> None:
    """Print the notes on scheduled programs."""
    for program in programs:
        where = "a CPU" if program.target == "llvm" else "a GPU"
        count = len(program.notes)
        said = "nothing to note" if not count else f"{count} note{'s' * (count > 1)}"
        console.print(Text(f"{program.name}, for {where}: {said}"))
        for note in program.notes:
            console.print(Text(f"\n{note.render()}\n"))


def _show(checked: Checked, options: argparse.Namespace, console: Console) -> None:
    report = checked.report
    if checked.filled is not None:
        console.print(Text(str(checked.filled), style="bold"))
    if options.trace_barriers is not None and options.exhaustive is None:
        console.print(barrier_table(report.stats.get("barriers", ()), options.trace_barriers))
        console.print()
    console.print(report_page(report, checked.wrong, options.all))
    if options.verbose:
        console.print(Text(plan_text(report), style="dim"))
    if checked.wrong is None and report.comparable:
        console.print(Text(product_text(checked)))
    if checked.exploration is not None and checked.exploration.held:
        held = "; ".join(checked.exploration.held)
        console.print(Text(f"found in schedule {checked.exploration.schedules}, which delays {held}", style="dim"))
    if not report.ok and report.seed:
        command = f"python -m tirx_mini check {options.kernel} --seed {report.seed}"
        console.print(Text(f"found in schedule {report.seed}; to repeat it: {command}", style="dim"))
