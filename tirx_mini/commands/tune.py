"""``python -m tirx_mini tune FILE:NAME --set TM=64,128``: the values of constants that make a program fastest."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from tirx_mini.course import (
    Assignment,
    KernelFileError,
    Trial,
    TunedProgram,
    Tuning,
    all_candidates,
    assignment_text,
    tune,
)
from tirx_mini.diagnose import as_dict, rate_figure
from tirx_mini.files import write_whole
from tirx_mini.hardware import DEFAULT_GPU
from tirx_mini.ir import TirxError
from tirx_mini.pytorch import PyTorchMissing
from tirx_mini.runtime import ToolchainError

from .arguments import TERMINAL, assignments, file_or_terminal, positive, shape
from .prose import show_error

CAPTION = (
    "µs: of one of many launches in a row. TFLOPS: with the operations of the candidate that needs the fewest. busiest "
    "unit: its share of the whole launch. KiB: of shared memory. now: as in the file."
)
_LEAST_SHARE = 0.005
SHOWN = 20
"""The rows of the table, if not requested otherwise."""
DESCRIPTION = """\
Find the values of a program's constants that make it fastest on a GPU. The clock of the simulator predicts the time of
every combination, without data. Those that cannot be compiled or do not fit are listed with the reason. Then the best
one is simulated with data and checks, and the next one if its results are wrong. Where this machine has such a GPU,
the best five are measured, too.

    {prog} kernels_ref/sm100/step08_deep_pipeline.py:hgemm_v8 --size 2048 --set PIPE_DEPTH=2,3,4,6
    {prog} gemm.py:gemm --args "float16[4096,4096], float16[4096,4096], float16[4096,4096]" \\
        --set "TILES[0]=64,128" --set "TILES[1]=64,128,256"
    {prog} matmul.py:matmul --shape 4096,4096,4096 --set block_M=64,128 --set block_N=128,256 --gpu h100

NAME is a kernel or a factory f(M, N, K) of TIRx or TileLang, or a function that launches cuTile kernels, or the name of
a program of kernels_ref/tile. Constants are those of the file, items of its tuples, and parameters of the function.
"""


def main(argv: Sequence[str] | None = None, prog: str = "python -m tirx_mini tune") -> int:
    """Tune a program and print the candidates. The exit status is 0, 1 if none runs or is right, or 2 for bad input."""
    options = _parser(prog).parse_args(argv)
    console = Console(highlight=False, stderr=options.json == TERMINAL)
    program = TunedProgram(options.program, options.gpu, options.size, options.shape, options.args)
    try:
        candidates = all_candidates(options.set) if options.set else program.declared()
        if not candidates:
            raise KernelFileError(f"which constants? Write for example: {prog} {options.program} --set PIPE_DEPTH=2,4")
        found = _tuned(program, candidates, options, console)
    except (KernelFileError, PyTorchMissing, ToolchainError, ValueError, TirxError) as error:
        return show_error(error, console)
    _show(program, found, options.rows, console)
    if options.json is not None:
        text = json.dumps(_as_dict(program, found), ensure_ascii=False)
        if options.json == TERMINAL:
            print(text)
        else:
            write_whole(options.json, text + "\n")
    return 0 if found.chosen is not None else 1


def _tuned(
    program: TunedProgram, candidates: Sequence[Assignment], options: argparse.Namespace, console: Console
) -> Tuning:
    columns = (TextColumn("predicting"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("", total=len(candidates))
        return tune(
            program, candidates, jobs=options.jobs, quick=options.quick, measure=options.measure,
            rounds=options.rounds, done=lambda: progress.advance(bar),
        )  # fmt: skip


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=prog,
        description=DESCRIPTION.format(prog=prog),
        epilog="Exit status: 0 if a candidate runs and is not known to be wrong, 1 if none, 2 for bad input.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("program", metavar="FILE:NAME", help="as in kernels.py:matmul, or the name of a tile program")
    parser.add_argument(
        "--set", type=assignments, action="append", metavar="NAME=VALUES",
        help="candidates of a constant, as TM=64,128; may be repeated: every combination is tried. Without it, the "
        "candidates are those of tilelang.autotune(configs=…)",
    )  # fmt: skip
    parser.add_argument("--size", type=positive, metavar="N", help="of each dimension that is free")
    parser.add_argument("--shape", type=shape, metavar="M,N,K", help="all three dimensions of a factory")
    parser.add_argument(
        "--args", default="", help='arguments of a function that launches kernels, as in "float16[512,512], 64"'
    )
    parser.add_argument("--gpu", default=DEFAULT_GPU, help=f"the GPU to tune for (default: {DEFAULT_GPU})")
    parser.add_argument(
        "--jobs", type=positive, default=os.cpu_count() or 1, metavar="N",
        help="candidates at a time (default: one for each CPU)",
    )  # fmt: skip
    parser.add_argument(
        "--quick", action="store_true", help="only predict: do not compile, simulate with data or measure"
    )
    parser.add_argument(
        "--measure", action=argparse.BooleanOptionalAction, default=None,
        help="measure the best five on the GPU of this machine (default: if it has the architecture of --gpu)",
    )  # fmt: skip
    parser.add_argument("--rounds", type=positive, default=12, metavar="N", help="of the measurement (default: 12)")
    parser.add_argument("--rows", type=positive, default=SHOWN, metavar="N", help=f"of each list (default: {SHOWN})")
    parser.add_argument(
        "--json", type=file_or_terminal, metavar="FILE", help="also write the candidates as JSON (- for the terminal)"
    )
    return parser


# -- output ------------------------------------------------------------------------------------------------------------


def _show(program: TunedProgram, found: Tuning, rows: int, console: Console) -> None:
    if found.ranked:
        on = f", the best measured on {found.device}" if found.device else ""
        console.print(Text(f"{program.name}, problem {program.problem}, predicted for {program.spec.name}{on}"))
        console.print(_table(found, rows))
        if len(found.ranked) > rows:
            console.print(Text(f"… and {len(found.ranked) - rows} slower ones (--rows)", style="dim"))
        console.print(Text(CAPTION, style="dim"))
        console.print()
    for trial in found.refused[:rows]:
        console.print(Text(f"{assignment_text(trial.assignment)}: {trial.problem}"))
    if len(found.refused) > rows:
        console.print(Text(f"… and {len(found.refused) - rows} others that do not run (--rows)", style="dim"))
    for trial in found.ranked:
        if trial.wrong:
            console.print(Text(f"{assignment_text(trial.assignment)} {trial.wrong}", style="bold red"))
        if trial.spilled:
            said = f"{trial.spilled:,} bytes of a thread's registers are spilled, which the prediction leaves out"
            console.print(Text(f"{assignment_text(trial.assignment)}: {said}", style="yellow"))
    if found.chosen is None:
        console.print(Text("no candidate runs" if not found.ranked else "no candidate is right", style="bold red"))
        return
    if found.refused:
        console.print()
    for line in _conclusion(program, found.chosen, found):
        console.print(Text(line))


def _conclusion(program: TunedProgram, chosen: Trial, found: Tuning) -> list[str]:
    """Return the lines about the best candidate: what was checked, what bounds it, and what to write."""
    lines = [f"{assignment_text(chosen.assignment)}: {chosen.checked}"] if chosen.checked else []
    if found.bound:
        lines.append(found.bound)
    if chosen.present:
        return [*lines, "the file has these values"]
    before, us, than = found.present, chosen.row_us or chosen.time_us or 0.0, "predicted"
    gain = ""
    if before is not None:
        than_us = before.row_us if chosen.row_us and before.row_us else before.time_us
        us = us if chosen.row_us and before.row_us else chosen.time_us or 0.0
        than = "measured" if chosen.row_us and before.row_us else "predicted"
        gain = f", {than} at {us:.1f} µs instead of {than_us:.1f}"
    return [*lines, f"write {program.edits(chosen.assignment)}{gain}"]


def _table(found: Tuning, rows: int) -> Table:
    """Return the candidates that run, the fastest first."""
    table = Table(box=None, pad_edge=False)
    shown = found.ranked[:rows]
    measured = any(trial.row_us is not None for trial in shown)
    compiled = any(trial.registers is not None for trial in shown)
    for name in found.ranked[0].assignment:
        table.add_column(name, justify="right", no_wrap=True)
    for name in ("", "µs", "TFLOPS", "GHz"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("busiest unit", no_wrap=True)
    for name in ("KiB", *(["regs"] if compiled else []), *(["measured", "alone"] if measured else [])):
        table.add_column(name, justify="right", no_wrap=True)
    for trial in shown:
        cells = [*trial.assignment.values(), "now" if trial.present else "", *_figures(trial)]
        cells += [_cell(trial.registers)] if compiled else []
        cells += [_cell(trial.row_us), _cell(trial.alone_us)] if measured else []
        style = "bold" if trial is found.chosen else "red" if trial.wrong else ""
        table.add_row(*cells, style=style)
    return table


def _figures(trial: Trial) -> tuple[str, ...]:
    busiest = trial.busiest
    return (
        _cell(trial.time_us), "–" if trial.tflops is None else rate_figure(trial.tflops),
        "–" if trial.clock_ghz is None else f"{trial.clock_ghz:.2f}",
        "–" if busiest is None or busiest.share < _LEAST_SHARE else f"{busiest.name} {busiest.share:.0%}",
        "–" if trial.smem_bytes is None else f"{trial.smem_bytes / 1024:.0f}",
    )  # fmt: skip


def _cell(value: float | None) -> str:
    return "–" if value is None else str(value) if isinstance(value, int) else f"{value:.1f}"


def _as_dict(program: TunedProgram, found: Tuning) -> dict[str, object]:
    """Return the JSON object: the problem, the candidates that run, the others, and the chosen one's values."""
    return {
        "program": program.name, "gpu": program.gpu, "problem": program.problem, "device": found.device,
        "candidates": [{**as_dict(trial), "tflops": trial.tflops} for trial in found.ranked],
        "refused": [{"assignment": dict(trial.assignment), "problem": trial.problem} for trial in found.refused],
        "chosen": None if found.chosen is None else dict(found.chosen.assignment), "bound": found.bound,
    }  # fmt: skip
