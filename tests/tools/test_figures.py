"""The pictures of the documentation: the committed ones are those that are drawn today."""

from __future__ import annotations

import csv
import xml.etree.ElementTree as ET

from tools.figures import DOCS, figures

SVG = "{http://www.w3.org/2000/svg}"


def test_the_committed_pictures_are_current() -> None:
    stale = [name for name, text in figures().items() if (DOCS / name).read_text(encoding="utf-8") != text]
    assert stale == [], "run make figures"


def test_every_measured_time_of_a_square_is_a_bar() -> None:
    bars = {
        title.text
        for rect in ET.fromstring(figures()["h100.svg"]).iter(f"{SVG}rect")
        for title in rect.findall(f"{SVG}title")
    }
    with (DOCS / "h100.csv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["M"] == row["N"] == row["K"] and row["dtype"] == "float16"]
    assert len(rows) > 30
    assert bars == {f"{row['M']}, {row['kernel']}: {float(row['tflops']):.0f} TFLOPS" for row in rows}
