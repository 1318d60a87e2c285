"""The table of Triton's kernels in docs/clock.md, and the sentence below it, are those of the measured file."""

from __future__ import annotations

import csv
import re
import statistics
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_table_has_what_was_measured() -> None:
    page = (DOCS / "clock.md").read_text(encoding="utf-8").partition("### Kernels of Triton")[2].partition("\n## ")[0]
    with (DOCS / "h100_triton.csv").open(newline="", encoding="utf-8") as file:
        rows = [(row["kernel"], float(row["measured_us"]), float(row["predicted_us"])) for row in csv.DictReader(file)]
    shown = re.findall(r"^\| ([^|]+?) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", page, re.MULTILINE)
    assert shown == [(name, f"{was:.1f}", f"{said:.1f}", f"{said / was:.2f}") for name, was, said in rows]
    errors = [abs(said / was - 1) for _, was, said in rows]
    near = sum(error <= 0.35 for error in errors)
    assert f"median error is {statistics.median(errors):.0%}".replace("%", " %") in page
    assert f"{near} of {len(rows)} kernels are within 35 %" in page
