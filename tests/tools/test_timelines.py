"""The timelines of the documentation show what their captions and pages say."""

from __future__ import annotations

import csv
import xml.etree.ElementTree as ET

import pytest

from tools.figures import DOCS

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def drawn() -> dict[str, str]:
    """The committed pictures, which test_figures.py holds to be current."""
    return {path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8") for path in DOCS.rglob("*.svg")}


def test_every_measured_time_of_a_square_is_a_bar(drawn: dict[str, str]) -> None:
    bars = {
        title.text
        for rect in ET.fromstring(drawn["h100.svg"]).iter(f"{SVG}rect")
        for title in rect.findall(f"{SVG}title")
    }
    with (DOCS / "h100.csv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["M"] == row["N"] == row["K"] and row["dtype"] == "float16"]
    assert len(rows) > 30
    assert bars == {f"{row['M']}, {row['kernel']}: {float(row['tflops']):.0f} TFLOPS" for row in rows}


def test_the_pictures_of_the_steps_show_what_they_say(drawn: dict[str, str]) -> None:
    """Step 4 never loads while it multiplies, step 5 does; step 7 stores meanwhile; step 10 has a pair of CTAs."""
    rows = {step: boxes_by_row(drawn[f"figures/step{step:02}.svg"]) for step in (4, 5, 7, 10)}
    assert not overlap(rows[4]["load"], rows[4]["MMA"]) and overlap(rows[5]["load"], rows[5]["MMA"])
    assert overlap(rows[7]["store"], rows[7]["MMA"]) and overlap(rows[7]["store"], rows[7]["load"])
    words = [text.text for text in ET.fromstring(drawn["figures/step10.svg"]).iter(f"{SVG}text")]
    assert words.count("MMA") == 2 and words.count("tensor core") == 2


def boxes_by_row(svg: str) -> dict[str, list[tuple[float, float]]]:
    """Left and right of the boxes of loads, MMAs and stores."""
    found: dict[str, list[tuple[float, float]]] = {"load": [], "MMA": [], "store": []}
    for rect in ET.fromstring(svg).iter(f"{SVG}rect"):
        word = rect.findtext(f"{SVG}title", "").replace(",", " ").split(" ")[0].rstrip(":")
        if word in found:
            left = float(rect.get("x") or 0)
            found[word].append((left, left + float(rect.get("width") or 0)))
    return found


def overlap(some: list[tuple[float, float]], others: list[tuple[float, float]]) -> bool:
    assert some and others
    return any(left < end - 1 and right > start + 1 for left, right in some for start, end in others)
