"""What an SVG picture shows, read back from its XML."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence

SVG = "{http://www.w3.org/2000/svg}"


def titles(svg: str) -> list[str]:
    """The words of all boxes."""
    return [rect.findtext(f"{SVG}title", "") for rect in ET.fromstring(svg).iter(f"{SVG}rect") if len(rect)]


def words(svg: str) -> list[str]:
    """All visible words."""
    return [text.text or "" for text in ET.fromstring(svg).iter(f"{SVG}text")]


def boxes(svg: str, title: str) -> list[tuple[float, float, float, str]]:
    """Left, right, top and fill of the boxes whose words begin with `title`; the fill is a class or a pattern."""
    found = []
    for rect in ET.fromstring(svg).iter(f"{SVG}rect"):
        if rect.findtext(f"{SVG}title", "").startswith(title):
            left, width, top = (float(rect.get(key, "0")) for key in ("x", "width", "y"))
            found.append((left, left + width, top, rect.get("fill") or rect.get("class", "").split()[0]))
    return found


def arrows(svg: str) -> list[Sequence[float]]:
    """(x1, y1, x2, y2) of each arrow; that of the legend is straight and not among them."""
    curves = []
    for path in ET.fromstring(svg).iter(f"{SVG}path"):
        if path.get("marker-end") and "C" in path.get("d", ""):
            numbers = [float(word) for word in path.get("d", "").replace("M", "").replace("C", " ").split()]
            curves.append((*numbers[:2], *numbers[-2:]))
    return curves
