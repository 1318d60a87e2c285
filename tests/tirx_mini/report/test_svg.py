"""SVG pictures: valid XML, the same text each time, and colours for light and dark pages."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from tirx_mini.report import Paint, Picture
from tirx_mini.report.svg import number

SVG = "{http://www.w3.org/2000/svg}"
PAINTS = {"ink": Paint("fill", "#111111", "#eeeeee"), "mark": Paint("fill", "#ff8800", "#ff8800")}


def test_words_and_titles_are_escaped() -> None:
    picture = Picture(10, 10, "a < b & c", "d > e", PAINTS)
    picture.text(1, 2, "k < K_TILES & true", "ink", text_anchor="end")
    picture.rect(0, 0, 3, 4, "mark", title='a "quoted" <title>')
    root = ET.fromstring(str(picture))
    text, rect = root.find(f"{SVG}text"), root.find(f"{SVG}rect")
    assert text is not None and text.text == "k < K_TILES & true" and text.get("text-anchor") == "end"
    assert rect is not None and rect.findtext(f"{SVG}title") == 'a "quoted" <title>'
    assert root.findtext(f"{SVG}title") == "a < b & c" and root.findtext(f"{SVG}desc") == "d > e"


def test_a_dark_page_changes_only_the_colours_that_differ() -> None:
    style = ET.fromstring(str(Picture(1, 1, "t", "d", PAINTS))).findtext(f"{SVG}style") or ""
    light, dark = style.split("@media (prefers-color-scheme:dark)")
    assert ".ink{fill:#111111}" in light and ".mark{fill:#ff8800}" in light
    assert re.findall(r"\.(\w+)\{", dark) == ["ink"] and ".ink{fill:#eeeeee}" in dark


@pytest.mark.parametrize(
    ("value", "text"), [(1, "1"), (2.50, "2.5"), (-0.001, "0"), (1 / 3, "0.33"), (100.0, "100"), (-1.25, "-1.25")]
)
def test_coordinates_have_no_superfluous_digits(value: float, text: str) -> None:
    assert number(value) == text
