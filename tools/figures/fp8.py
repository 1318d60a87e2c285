"""The GEMM of 8-bit floats beside torch._scaled_mm, from docs/h200_fp8.csv."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from math import prod

from tirx_mini.course import shape_text
from tools.figures import records
from tools.pages import as_table

FORMS = ("promoted", "fast")


def rows() -> dict[tuple[int, int, int], dict[str, Mapping[str, str]]]:
    """By shape and form."""
    found: dict[tuple[int, int, int], dict[str, Mapping[str, str]]] = {}
    for row in records("h200_fp8.csv"):
        found.setdefault((int(row["m"]), int(row["n"]), int(row["k"])), {})[row["form"]] = row
    return found


def table() -> str:
    """For each form the tile, the time of one cold launch, TFLOPS, the ratios to `_scaled_mm`, and the errors."""
    head = ["M × N × K", "sums", "tile", "µs", "TFLOPS", "`_scaled_mm`, µs", "cold", "in a row", "error"]
    lines = [head, ["---", "---", "---", *["---:"] * 6]]
    for shape, forms in rows().items():
        for form, row in forms.items():
            pair = ", pairs" if row["ctas"] == "2" else ""
            us, peer = float(row["us"]), float(row["peer_us"])
            lines.append([
                shape_text(shape).replace("x", " × "), form, f"{row['blk_m']} × {row['blk_n']}{pair}", f"{us:.1f}",
                f"{2e-6 * prod(shape) / us:.0f}", f"{peer:.1f}", f"{float(row['cold']):.2f}",
                f"{float(row['row']):.2f}", f"{float(row['error']):.1f}",
            ])  # fmt: skip
    return as_table(lines)


def means() -> str:
    """The geometric mean and the least of the ratios of each form."""
    lines = [["sums", "one cold launch: mean", "least", "many in a row: mean", "least"], ["---", *["---:"] * 4]]
    for form in FORMS:
        cells = [form]
        for how in ("cold", "row"):
            ratios = [float(forms[form][how]) for forms in rows().values()]
            cells += [f"{statistics.geometric_mean(ratios):.2f}", f"{min(ratios):.2f}"]
        lines.append(cells)
    return as_table(lines)


def passages() -> Iterator[tuple[str, str]]:
    """The name and the Markdown of each passage."""
    yield "h200-fp8", table()
    yield "h200-fp8-means", means()
