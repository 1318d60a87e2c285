"""The kernel for every shape beside cuBLAS in four classes of drawn shapes, from docs/h100_classes.csv."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from tools.figures import records, times
from tools.pages import as_table

CLASSES = {
    "a": "more than 1e11 operations", "b": "M from 17 to 512",
    "c": "fewer than 132 tiles of 128 × 128, K from 8192", "d": "M up to 16, B of more than 20 MB",
}  # fmt: skip


def means() -> str:
    """The geometric mean and the least of the ratios of each class."""
    lines = [["class", "shapes", "one cold launch: mean", "least", "many in a row: mean", "least"]]
    lines.append(["---", *["---:"] * 5])
    for letter, text in CLASSES.items():
        mine = [row for row in records("h100_classes.csv") if row["class"] == letter]
        cells = [f"({letter}) {text}", str(len(mine))]
        for how in ("cold", "row"):
            ratios = [float(row[how]) for row in mine]
            cells += [f"{statistics.geometric_mean(ratios):.3f}", f"{min(ratios):.3f}"]
        lines.append(cells)
    return as_table(lines)


def table() -> str:
    """Each shape: the times of cuBLAS and of ours in one cold launch, the ratios, and the errors."""
    lines = [["M × N × K", "class", "cuBLAS, µs", "ours, µs", "cold", "in a row", "error", "cuBLAS's"]]
    lines.append(["---", "---", *["---:"] * 6])
    for row in records("h100_classes.csv"):
        m, n, k = int(row["m"]), int(row["n"]), int(row["k"])
        figures = (f"{float(row[name]):.3f}" for name in ("cold", "row", "error", "peer_error"))
        us = (f"{float(row[name]):.1f}" for name in ("peer_us", "us"))
        lines.append([times((m, n, k)), row["class"], *us, *figures])
    return as_table(lines)


def passages() -> Iterator[tuple[str, str]]:
    """The name and the Markdown of each passage."""
    yield "h100-class-means", means()
    yield "h100-classes", table()
