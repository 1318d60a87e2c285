"""The GEMM of 8-bit floats beside torch._scaled_mm, from docs/h200_fp8.csv and docs/h200_fp8_tilings.csv."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from math import prod

from benchmarks.h100_fp8 import FORMS, measured
from kernels_ref.sm90.extra_fp8 import SECTOR, Tiling
from tirx_mini.course import Shape
from tools.figures import DOCS, times
from tools.pages import as_table

CHOSEN = (
    Tiling(128, 128, 1, 1), Tiling(128, 128, 1, 2, 2), Tiling(128, 192, 1, 1), Tiling(128, 192, 2, 2, 2),
    Tiling(128, 256, 2, 1), Tiling(128, 256, 4, 2, 2), Tiling(128, 208, 1, 1), Tiling(128, 208, 1, 1, ctas=2),
)  # fmt: skip
SHAPES: tuple[Shape, ...] = (*((n, n, n) for n in (2048, 4096, 8192)), (4752, 6384, 8176))
Rows = Mapping[tuple[Shape, str], Mapping[str, str]]


def rows() -> Rows:
    """The row of each shape and form."""
    return {key: next(iter(found.values())) for key, found in measured(DOCS / "h200_fp8.csv").items()}


def table() -> str:
    """For each shape and form the tile, the time of one cold launch, TFLOPS, the ratios to `_scaled_mm`, the error."""
    head = ["M × N × K", "sums", "tile", "µs", "TFLOPS", "`_scaled_mm`, µs", "cold", "in a row", "error"]
    lines = [head, ["---", "---", "---", *["---:"] * 6]]
    for (shape, form), row in rows().items():
        pair = ", pairs" if row["ctas"] == "2" else ""
        us, peer = float(row["us"]), float(row["peer_us"])
        lines.append([
            times(shape), form, f"{row['blk_m']} × {row['blk_n']}{pair}", f"{us:.1f}", f"{2e-6 * prod(shape) / us:.0f}",
            f"{peer:.1f}", f"{float(row['cold']):.3f}", f"{float(row['row']):.3f}",
            f"{float(row['error']):.1f}",
        ])  # fmt: skip
    return as_table(lines)


def means() -> str:
    """The geometric mean and the least of the ratios of each form, by what rows begin at."""
    head = ["K", "sums", "shapes", "one cold launch: mean", "least", "many in a row: mean", "least"]
    lines = [head, ["---", "---", *["---:"] * 5]]
    for name, aligned in ((f"a multiple of {SECTOR}", True), ("other multiples of 16", False)):
        for form in FORMS:
            found = [row for (shape, own), row in rows().items() if own == form and (shape[2] % SECTOR == 0) == aligned]
            cells = [name, form, str(len(found))]
            for how in ("cold", "row"):
                ratios = [float(row[how]) for row in found]
                cells += [f"{statistics.geometric_mean(ratios):.3f}", f"{min(ratios):.3f}"]
            lines.append(cells)
    return as_table(lines)


def tilings() -> str:
    """One cold launch with promoted sums: the ratio of some tilings at some shapes."""
    found = measured(DOCS / "h200_fp8_tilings.csv")
    lines = [["tile", "parts", "sets", "CTAs", *map(times, SHAPES)], ["---", *["---:"] * (3 + len(SHAPES))]]
    for each in CHOSEN:
        ratios = [found[shape, "promoted"].get(each) for shape in SHAPES]
        cells = ["" if row is None else f"{float(row['cold']):.2f}" for row in ratios]
        lines.append([f"{each.blk_m} × {each.blk_n}", *map(str, (each.parts, each.sets, each.ctas)), *cells])
    return as_table(lines)


def passages() -> Iterator[tuple[str, str]]:
    """The name and the Markdown of each passage."""
    yield "h200-fp8", table()
    yield "h200-fp8-means", means()
    yield "h200-fp8-tilings", tilings()
