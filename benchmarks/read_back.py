"""Kernels that NVRTC compiles to PTX and the simulator reads back: values, findings and times against those of the IR.

    python benchmarks/read_back.py [--only "Blackwell 9"] [--jobs 2] [--csv results.csv]

Programs are the references of both ladders, the tile programs of kernels_ref/tile and ten programs in TileLang. Their
values have to be equal to the bit, unless NVRTC fuses products and sums; their verdicts and codes have to be equal, and
their predicted times within 15 %. Wrong kernels are all references with one mistake that the tests of findings hold:
the first finding has to have the same code and the same line. The exit status is 1 where a program differs, or a
mistake differs for no reason of `REASONS`.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from tile_schedules import programs

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.kernels_ref.edits import HOPPER_SOURCES, SOURCES, Edit, HopperEdit
from tests.tirx_mini.diagnose.catalogue import Mistake, mistakes
from tests.tirx_mini.frontends.ptx.back import EXACT, Back, read_back
from tirx_mini.ending import command
from tirx_mini.frontends.tile_ir.run import captured, lowered_launch
from tirx_mini.ir import PrimFunc
from tirx_mini.pool import Lost, run_bounded, spread
from tools.corpus.program import arguments
from tools.corpus.programs import tilelang_programs
from utils import prepare_data

Launch = tuple[PrimFunc, Sequence[Any]]
TOLERANCE = 0.15
SHAPES = {1: (128, 128, 64), 2: (128, 128, 256), 3: (256, 256, 128)}
"""Of the steps for which the tests of findings have no shape."""
TILE_PROGRAMS = {name: run for name, _, run in reversed(list(programs()))}
"""The first case of each tile program."""
TILELANG = (
    "matmul, turned=False, 128 threads", "matmul, turned=True, 256 threads", "attention, causal=False",
    "attention, causal=True", "(128, 128, 64, 128) of bfloat16 to float32",
    "(64, 64, 32, 128) of float32 to float32, turned", "A held, float16 to float32", "sum of float32 along 1",
    "max of float16 along 0", "running sums of int32 along 1",
)  # fmt: skip
"""Ten programs of the corpus, by their names without "TileLang: "."""
REASONS: Mapping[str, str] = {
    "select": "the optimiser makes a select of the branch around an assignment, so that its guard is no longer there",
    "merged": "the optimiser joins or moves the assignments of a state, and the page names the place of its use",
    "address": "the compiler counts addresses instead of stages, so that an arrival names no barrier",
    "result": "the page is that of what the mistake leads to, at the same wait",
    "parameter": "a parameter that the kernel never writes is no parameter of the PTX",
    "refused": "the kernel needs more shared memory than a CTA has: there is no PTX",
    "loads": "the compiler issues the loads of an unrolled loop together; the clock of the IR waits for each",
    "folded": "the compiler folds index arithmetic and fuses products and sums; the clock of the IR counts each",
}
"""Why the first finding of a mistake, or the predicted time of a program, may differ, by kind."""
EXPLAINED: Mapping[str, str] = {
    "A held, float16 to float32": "loads",
    "attention, causal=True": "folded",
    "attention, h100": "folded",
    "256 KiB of shared memory": "refused",
    "too many stages": "refused",
    "a result that stays in shared memory": "parameter",
    "a state that advances before its stage is used": "merged",
    "phase 1 behind its own arrivals": "address",
    "phase 1 behind arrivals of two consumers": "result",
    **dict.fromkeys(
        (
            f"a state that advances only under {guard}"
            for guard in ("cbx == 0", "warp_id == 0", "warp_id < 2", "wg_id == 0", "n_st > 0")
        ), "select",
    ),
}  # fmt: skip
"""The kind of each mistake, and of each program's time, that differs, by name."""


@dataclass(frozen=True)
class Row:
    """A kernel. result: of a program, "equal", "equal without fusing" or "differs"; of a mistake, "same" or a kind."""

    group: str
    name: str
    kernel: str
    ptx: str
    result: str
    ratio: float
    holds: bool


def program(group: str, name: str, launches: Sequence[Launch], gpu: str) -> Row:
    backs: list[Back] = []
    results: list[str] = []
    for func, args in launches:
        backs.append(back := read_back(func, args, gpu))
        result = "equal" if back.equal else "differs"
        if not back.equal and read_back(func, args, gpu, EXACT).equal:
            result = "equal without fusing"
        results.append(result)
    result = next((each for each in ("differs", "equal without fusing") if each in results), "equal")
    ratio = sum(back.ptx.time_us or 0.0 for back in backs) / (sum(back.kernel.time_us or 0.0 for back in backs) or 1.0)
    kernel, ptx = (", ".join(dict.fromkeys(each)) for each in zip(*map(_verdicts, backs), strict=True))
    timed = abs(ratio - 1) <= TOLERANCE or name in EXPLAINED
    holds = result != "differs" and all(back.alike for back in backs) and timed
    return Row(group, name, kernel, ptx, result, round(ratio, 3), holds)


def _verdicts(back: Back) -> tuple[str, str]:
    return back.kernel.verdict, back.ptx.verdict


def reference(group: str, step: int) -> Row:
    edit = (HopperEdit if group == "Hopper" else Edit)(step=step)
    shape = edit.shapes.get(step, SHAPES.get(step, (256, 256, 128)))
    gpu = "h100" if group == "Hopper" else "b200"
    with tempfile.TemporaryDirectory() as folder:
        kernel = edit.kernel(Path(folder), shape)
        return program(group, f"step {step}", [(kernel, prepare_data(*shape, target="sim", arrays=True))], gpu)


def tile(name: str, gpu: str) -> Row:
    with captured() as launches:
        TILE_PROGRAMS[name]("float16")
    return program("tile", f"{name}, {gpu}", [lowered_launch(launch, gpu) for launch in launches], gpu)


def tilelang(name: str) -> Row:
    (found,) = (each for each in tilelang_programs() if each.name == f"TileLang: {name}")
    func = found.kernel("h100")
    return program("TileLang", name, [(func, arguments(func))], "h100")


def mistake(found: Mistake) -> Row:
    data = prepare_data(*found.shape, target="sim", arrays=True)
    with tempfile.TemporaryDirectory() as folder:
        back = read_back(found.edit.kernel(Path(folder), found.shape), data, found.gpu)
    kernel, ptx = (f"{code}:{line}" for code, line in back.first)
    kind = "same" if kernel == ptx else EXPLAINED.get(found.name, "unexplained")
    group = f"wrong {'Hopper' if found.hopper else 'Blackwell'}"
    return Row(group, f"step {found.edit.step}: {found.name}", kernel, ptx, kind, 0.0, kind != "unexplained")


def cases() -> Iterator[tuple[str, Callable[[], Row]]]:
    """All cases by their names."""
    for group, sources in (("Blackwell", SOURCES), ("Hopper", HOPPER_SOURCES)):
        for step in sorted(sources):
            yield f"{group} {step}", partial(reference, group, step)
    for gpu in ("h100", "b200"):
        for name in TILE_PROGRAMS:
            yield f"tile {name} {gpu}", partial(tile, name, gpu)
    for name in TILELANG:
        yield f"TileLang {name}", partial(tilelang, name)
    for found in mistakes():
        ladder = "Hopper" if found.hopper else "Blackwell"
        yield f"wrong {ladder} {found.edit.step} {found.name}", partial(mistake, found)


def judged(name: str, run: Callable[[], Row]) -> Row:
    try:
        return run()
    except Exception as error:  # a row of the table, whatever it is
        text = f"{type(error).__name__}: {str(error).splitlines()[0]}"
        kind = EXPLAINED.get(name.split(" ", 3)[-1], "unexplained")
        return Row(name.partition(" ")[0], name, text, text, kind, 0.0, kind != "unexplained")


def shown(rows: Sequence[Row], console: Console) -> None:
    table = Table(box=None, pad_edge=False)
    for field in fields(Row):
        table.add_column(field.name)
    for row in rows:
        cells = (f"{value:.2f}" if isinstance(value, float) else str(value) for value in astuple(row))
        table.add_row(*cells, style="" if row.holds else "red")
    console.print(table)
    programs = [row for row in rows if not row.group.startswith("wrong")]
    if programs:
        close = [row for row in programs if abs(row.ratio - 1) <= TOLERANCE]
        equal = [row for row in programs if row.result.startswith("equal")]
        whole = [row for row in programs if row.holds]
        console.print(
            f"{len(programs)} programs: values equal in {_share(equal, programs)}, predicted time within "
            f"{TOLERANCE:.0%} in {_share(close, programs)}, all of it in {_share(whole, programs)}"
        )
    for group in ("wrong Blackwell", "wrong Hopper"):
        wrong = [row for row in rows if row.group == group]
        if wrong:
            same = [row for row in wrong if row.result == "same"]
            console.print(f"{group}: the same code at the same line in {_share(same, wrong)} of {len(wrong)}")
    kinds = {EXPLAINED.get(row.name, row.result) for row in rows}
    for kind in sorted(kinds & set(REASONS)):
        console.print(f"  {kind}: {REASONS[kind]}")


def _share(some: Sequence[Row], rows: Sequence[Row]) -> str:
    return f"{len(some) / len(rows):.1%}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help='cases whose name begins so, as "wrong Hopper 10" or "tile"')
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--csv", type=Path)
    options = parser.parse_args()
    work = [case for case in cases() if case[0].startswith(options.only)]
    rows: dict[int, Row] = {}
    for index, found in run_bounded(spread(judged), work, jobs=options.jobs):
        name = work[index][0]
        row = Row(name, name, found.reason, "", "unexplained", 0.0, False) if isinstance(found, Lost) else found
        rows[index] = row
        print(f"{len(rows):3}/{len(work)}  {' '.join(map(str, astuple(row)))}", file=sys.stderr, flush=True)
    ordered = [rows[index] for index in sorted(rows)]
    shown(ordered, Console(width=180))
    if options.csv:
        with options.csv.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(field.name for field in fields(Row))
            writer.writerows([astuple(row) for row in ordered])
    return int(not all(row.holds for row in ordered))


if __name__ == "__main__":
    sys.exit(command(main))
