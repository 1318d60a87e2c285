"""``python -m tirx_mini check FILE.py:KERNEL`` and ``python -m tirx_mini explain TX101``."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from rich.console import Console
from rich.markdown import Markdown
from rich.text import Text

from ..course import (
    Book,
    Checked,
    KernelFileError,
    KernelRef,
    Shape,
    check_kernel,
    find_book,
    load_kernel,
    product_text,
)
from ..diagnose import DEFAULT_LIMIT, codes, failed, kind_with
from ..hardware import DEFAULT_GPU, gpu_spec
from ..ir import TirxError
from ..report import barrier_table, finding_page, report_page


def parse_shape(text: str) -> Shape:
    """`512,256,128` as (512, 256, 128). Raises `ArgumentTypeError`."""
    parts = text.replace("x", ",").split(",")
    if len(parts) != 3 or not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r} is no shape; write M,N,K as in 512,256,128")
    m, n, k = map(int, parts)
    return m, n, k


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no positive number")
    return int(text)


def add_check_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kernel", metavar="FILE.py:KERNEL", help="as in gemm_kernels.py:hgemm_v7")
    parser.add_argument("--size", type=_positive, metavar="N", help="of each dimension that the step leaves free")
    parser.add_argument("--shape", type=parse_shape, metavar="M,N,K", help="all three dimensions")
    parser.add_argument("--gpu", default=DEFAULT_GPU, help=f"the GPU to model (default: {DEFAULT_GPU})")
    parser.add_argument("--schedules", type=_positive, default=1, metavar="N", help="how many orders of events to try")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the first schedule; 0 is not random")
    parser.add_argument(
        "--trace-barriers",
        nargs="?",
        const="*",
        metavar="NAME",
        help="print what happened to the mbarriers (of a name)",
    )
    parser.add_argument(
        "--exhaustive",
        type=_positive,
        nargs="?",
        const=DEFAULT_LIMIT,
        metavar="LIMIT",
        help=f"try all orders of events up to equivalence, at most LIMIT ({DEFAULT_LIMIT}); for small shapes",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the report as JSON (- for the terminal)")


def run_check(options: argparse.Namespace, console: Console | None = None) -> int:
    """Check a kernel and print what is found. The exit status is 0 where it is ok, 1 where not, 2 for bad input."""
    as_text = options.json == Path("-")
    console = console or Console(highlight=False, stderr=as_text)
    ref = KernelRef.parse(options.kernel)
    try:
        spec = gpu_spec(options.gpu)
        try:
            kernel = load_kernel(ref, size=options.size, shape=options.shape)
        except TirxError as error:
            checked = Checked(failed(ref.name or ref.path.stem, error, spec.name))
        else:
            checked = check_kernel(
                kernel,
                name=ref.name,
                gpu=options.gpu,
                schedules=options.schedules,
                seed=options.seed,
                log_barriers=options.trace_barriers is not None,
                limit=options.exhaustive,
            )
    except (KernelFileError, ValueError) as error:
        console.print(f"error: {error}", markup=False)
        return 2
    _show(checked, options, console)
    if options.json is not None:
        text = json.dumps(checked.as_dict(), ensure_ascii=False)
        if as_text:
            print(text)
        else:
            options.json.write_text(text + "\n", encoding="utf-8")
    return 0 if checked.ok else 1


def _show(checked: Checked, options: argparse.Namespace, console: Console) -> None:
    report = checked.report
    if options.trace_barriers is not None and options.exhaustive is None:
        console.print(barrier_table(report.stats.get("barriers", ()), options.trace_barriers))
        console.print()
    console.print(report_page(report))
    if checked.wrong is not None:
        console.print()
        console.print(finding_page(checked.wrong))
    elif report.ok:
        console.print(Text(product_text(checked)))
    if checked.exploration is not None and checked.exploration.held:
        held = "; ".join(checked.exploration.held)
        console.print(Text(f"schedule {checked.exploration.schedules} shows it, which lets wait: {held}", style="dim"))
    if not report.ok and report.seed:
        command = f"python -m tirx_mini check {options.kernel} --seed {report.seed}"
        console.print(Text(f"schedule {report.seed} shows it: {command}", style="dim"))


def add_explain_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("code", metavar="CODE", nargs="?", help="as in TX201; without one, all are listed")


def run_explain(options: argparse.Namespace, console: Console | None = None) -> int:
    """Print the section of a code, or the list of codes. The exit status is 2 for a code that there is not."""
    console = console or Console(highlight=False)
    if options.code is None:
        for code in codes():
            console.print(Text(f"{code}  ", style="bold").append(kind_with(code).rule, style="not bold"))
        return 0
    code = options.code.upper()
    if code not in codes():
        console.print(
            f"error: there is no finding {options.code}; they are {codes()[0]} to {codes()[-1]}", markup=False
        )
        return 2
    kind = kind_with(code)
    path = find_book()
    section = Book.parse(path.read_text(encoding="utf-8")).sections.get(code) if path else None
    if section is None:
        console.print(Text(f"{code} {kind.name}", style="bold"))
        console.print(f"{kind.rule} {kind.isa}".strip(), markup=False)
    elif console.is_terminal:
        console.print(Markdown(section.text))
    else:
        sys.stdout.write(section.text + "\n")
    return 0
