"""Tile programs on a Hopper GPU: the best plan of each compiler, from docs/h200_tile.csv."""

from __future__ import annotations

import csv
from collections.abc import Iterator

from tools.figures import DOCS
from tools.pages import as_table

COMPILERS = ("ours", "TileIR", "Triton")
Best = tuple[float, float, str]
"""Speed, ratio, and the candidate's name."""


def found() -> dict[str, dict[str, Best]]:
    """By problem and compiler; libraries have names of their own."""
    best: dict[str, dict[str, Best]] = {}
    with (DOCS / "h200_tile.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            name = row["candidate"]
            compiler = next((c for c in COMPILERS if name.startswith(c)), name)
            one = float(row["speed"]), float(row["ratio"]), name.removeprefix(compiler).strip()
            known = best.setdefault(row["problem"], {}).get(compiler)
            best[row["problem"]][compiler] = max(one, known) if known else one
    return best


def table() -> str:
    lines = [["problem", "library", *COMPILERS, "our plan"], ["---", "---", *["---:"] * 3, "---"]]
    for problem, by in found().items():
        library = next(name for name in by if name not in COMPILERS)
        unit = "TFLOPS" if problem.startswith(("gemm", "moe", "attention")) else "GB/s"
        cells = [f"{by[c][0]:.0f}" if c in by else "–" for c in COMPILERS]
        plan = by["ours"][2] if "ours" in by else ""
        lines.append([problem, f"{library}: {by[library][0]:.0f} {unit}", *cells, plan])
    return as_table(lines)


def passages() -> Iterator[tuple[str, str]]:
    """The name and the Markdown of each passage."""
    yield "h200-tile", table()
