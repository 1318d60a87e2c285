"""``python -m tirx_mini trace FILE.py:KERNEL -o FILE``: the timeline of one run of a kernel."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from tirx_mini.arguments import ArgumentError
from tirx_mini.course import (
    FORMS,
    Checked,
    Constant,
    KernelFileError,
    KernelRef,
    Meter,
    NoTimeline,
    Traced,
    View,
    changes_of,
    check_file,
    file_and_name,
    gpu_of,
    launched_with,
    named_kernel,
    programs_with,
    shares,
    timeline_form,
    told_apart,
    what_if,
)
from tirx_mini.files import write_whole
from tirx_mini.hardware import DEFAULT_GPU, gpu_spec
from tirx_mini.ir import TirxError
from tirx_mini.report import FIRST, SLOWEST, report_page

from .arguments import (
    INCOMPLETE,
    TERMINAL,
    add_launch_arguments,
    add_no_fill,
    add_simulation_arguments,
    add_what_if,
    argument,
    file_or_terminal,
    launch_of,
    positive,
    shape,
)
from .waiting import meter

CLOCK = "clock"
"""The verdict of a run without data and without findings."""


def parse_cta(text: str) -> str | int:
    """Parse `first`, `slowest`, or the number of a CTA. Raises `ValueError`."""
    if text in (FIRST, SLOWEST):
        return text
    if text.isdecimal():
        return int(text)
    raise ValueError(f"{text!r} is not a CTA; write first, slowest or a number")


def parse_file(text: str) -> Path:
    """Parse a file with a format suffix. Raises `ValueError`, or `OutputError` if it cannot be written."""
    path = Path(text)
    if path != TERMINAL and path.suffix not in FORMS:
        named = f"{path.suffix or 'no suffix'} is not"
        raise ValueError(f"{named} a form of a timeline; the file ends in {', '.join(FORMS)}, or is - for the terminal")
    return file_or_terminal(text)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a kernel with a timeline, and write the timeline. The exit status is that of ``check``."""
    options = _parser().parse_args(argv)
    console = Console(highlight=False, stderr=options.output == TERMINAL)
    shown = meter(console)
    suffix = ".txt" if options.output == TERMINAL else options.output.suffix
    view = View(options.cta, options.start, options.end, options.view == "wave")
    kernels = [options.kernel] if options.against is None else [options.kernel, options.against]
    try:
        refs = [_named(kernel) for kernel in kernels]
        changes = changes_of(refs[0], options.what_if) if options.what_if else []
        with shown:
            runs = [_run(*named, options, shown) for named in zip(kernels, refs, strict=True)]
    except TirxError as error:
        console.print(f"{error}", markup=False)
        return 1
    except (KernelFileError, ArgumentError, ValueError) as error:
        console.print(f"error: {error}", markup=False)
        return 2
    for checked, traced in runs:
        if not traced.ran:
            _show(checked, console)
            console.print(f"error: {NoTimeline(traced)}", markup=False)
            return 1
    checked, traced = runs[0]
    against = None
    if options.against is not None:
        traced, against = told_apart(traced, runs[1][1], (refs[0], refs[1]))
    try:
        text = timeline_form(traced, suffix, view, against)
    except ValueError as error:
        console.print(f"error: {error}", markup=False)
        return 2
    if options.output == TERMINAL:
        print(text, end="")
    else:
        write_whole(options.output, text)
    fine = checked.ok or checked.report.verdict == CLOCK
    if not fine or options.output != TERMINAL:
        _show(checked, console)
    if options.output != TERMINAL:
        console.print(Text(f"wrote {options.output} ({_bytes(len(text.encode()))})"))
    with shown:
        lines = list(what_if(changes, checked, lambda constants: _check(refs[0], options, constants, shown)))
    for line in lines:
        console.print(Text(line))
    if checked.report.verdict == "incomplete":
        return INCOMPLETE
    return 0 if fine else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tirx_mini trace",
        description="Show what each warp and engine of a kernel does when, and what it waits for.",
        epilog=f"Exit status: 0 if the kernel is ok, 1 if not, 2 for bad input, {INCOMPLETE} if it is not wholly "
        "modelled. docs/timeline.md says how to read a timeline.",
    )
    parser.add_argument(
        "kernel", metavar="FILE:KERNEL",
        help="as in gemm_kernels.py:hgemm_v7, kernel.cu:reduce with its launch, or a tile program, as tileir takes it",
    )
    parser.add_argument(
        "-o", "--output", type=argument(parse_file), default=TERMINAL, metavar="FILE",
        help=".html: a page to look around in; .svg: a still picture; .json: trace events for ui.perfetto.dev; .txt, "
        "or - for the terminal: text in eighty columns (default: -)",
    )  # fmt: skip
    parser.add_argument("--size", type=positive, metavar="N", help="of each dimension that the step leaves free")
    parser.add_argument("--shape", type=shape, metavar="M,N,K", help="all three dimensions")
    parser.add_argument(
        "--cta", type=argument(parse_cta), metavar="CTA",
        help="first, slowest or a number (default: first; trace events: all)",
    )  # fmt: skip
    parser.add_argument("--from", type=float, dest="start", metavar="CYCLE", help="where the part shown large begins")
    parser.add_argument("--to", type=float, dest="end", metavar="CYCLE", help="where it ends")
    parser.add_argument(
        "--view", choices=("timeline", "wave"), default="timeline",
        help="wave: all SMs with their tiles, as .svg or text (default: timeline; a page has both)",
    )  # fmt: skip
    parser.add_argument(
        "--against", metavar="FILE.py:KERNEL",
        help="also run this kernel, and show both on one time axis, and what differs in words",
    )  # fmt: skip
    add_simulation_arguments(parser, by_file=True)
    add_launch_arguments(parser)
    add_no_fill(parser)
    add_what_if(parser)
    return parser


def _check(ref: KernelRef, options: argparse.Namespace, constants: Mapping[str, Constant], shown: Meter) -> Checked:
    """Return a kernel's verdict, with a timeline."""
    return check_file(
        ref, size=options.size, shape=options.shape, gpu=options.gpu or gpu_of(ref.path), sms=options.sms,
        schedules=options.schedules, seed=options.seed, budget=options.budget, trace=True, constants=constants,
        watch=shown.watch, fill=options.fill,
    )  # fmt: skip


def _named(kernel: str) -> KernelRef:
    """Return the named kernel; a course program in another language has a name without a file."""
    if launched_with(kernel) is not None:
        path, name = file_and_name(kernel)
        return KernelRef(Path(path), name)
    return KernelRef(Path(), kernel) if programs_with(kernel) is not None else named_kernel(KernelRef.parse(kernel))


def _run(kernel: str, ref: KernelRef, options: argparse.Namespace, shown: Meter) -> tuple[Checked, Traced]:
    """Return a kernel's verdict and its timeline."""
    programs, launched = programs_with(kernel), launched_with(kernel)
    given = options.shape is not None or options.what_if or options.sms is not None
    if launched is not None and not given and options.size is None:
        checked = launched.launched(
            kernel, launch_of(options), options.gpu, trace=True, seed=options.seed, schedules=options.schedules,
            budget=options.budget, watch=shares(None, shown.watch),
        )  # fmt: skip
    elif launched is not None:
        raise KernelFileError("the kernel has the arguments of its launch: leave out --size, --shape, --sms, --what-if")
    elif programs is None:
        checked = _check(ref, options, {}, shown)
    elif given:
        raise KernelFileError("a tile program has the arguments of its launch: leave out --shape, --sms and --what-if")
    else:
        checked = programs.check(
            kernel, options.size, options.gpu or DEFAULT_GPU, trace=True, seed=options.seed,
            schedules=options.schedules, budget=options.budget, watch=shown.watch,
        )  # fmt: skip
    gpu = options.gpu or (checked.report.gpu if launched is not None else gpu_of(ref.path))
    return checked, Traced(checked.report, gpu_spec(gpu).with_sms(options.sms), _size(options))


def _size(options: argparse.Namespace) -> str:
    """Return the requested size as text."""
    if options.shape is not None:
        return " × ".join(map(str, options.shape))
    return f"size {options.size}" if options.size is not None else ""


def _show(checked: Checked, console: Console) -> None:
    if checked.filled is not None:
        console.print(Text(str(checked.filled), style="bold"))
    console.print(report_page(checked.report, checked.wrong))


def _bytes(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.0f} kB"
