"""What the pictures of the concept pages share: their colours on light and dark pages, titled sheets, boxes, arrows."""

from __future__ import annotations

from collections.abc import Iterable
from math import atan2, cos, sin

from tirx_mini.report import Paint, Picture

WIDTH = 960.0
COLOURS = ("#56b4e9", "#e69f00", "#35b68f", "#d98cb8", "#f0e442", "#f0795a", "#b3a2e8", "#9fb37c")
"""Fills that people with colour blindness tell apart: Okabe and Ito's, lightened, and two more. Dark text is legible on
each, so they serve light and dark pages."""

PAINTS = {
    "page": Paint("fill", "#ffffff", "#14181d"),
    "panel": Paint("fill", "#f3f5f7", "#1d242b"),
    "empty": Paint("fill", "#ffffff", "#14181d"),
    "mute": Paint("fill", "#d4dae1", "#3a444f"),
    "ink": Paint("fill", "#1f2328", "#e8ebef"),
    "soft": Paint("fill", "#57606a", "#a5aeb9"),
    "on": Paint("fill", "#14181d", "#14181d"),
    "alarm": Paint("fill", "#b3261e", "#ff8a80"),
    "edge": Paint("stroke", "#4b5660", "#aab4bf"),
    "grid": Paint("stroke", "#c3cad2", "#3b4550"),
    "mark": Paint("stroke", "#1f2328", "#f5f7fa"),
    "halo": Paint("stroke", "#ffffff", "#14181d"),
    **{f"c{index}": Paint("fill", colour, colour) for index, colour in enumerate(COLOURS)},
}
"""The classes of the pictures."""

RULES = (
    "text{font-size:15px}.head{font-size:19px;font-weight:600}.bold{font-weight:600}.small{font-size:13.5px}"
    ".code{font-family:ui-monospace,'DejaVu Sans Mono',monospace;font-size:13.5px}.edge{stroke-width:1}"
    ".grid{stroke-width:1}.mark{stroke-width:2.6;fill:none}.thin{stroke-width:1.3}.none{fill:none}"
    ".halo{paint-order:stroke;stroke-width:4px;stroke-linejoin:round}.dash{stroke-dasharray:5 4}"
)


def sheet(height: float, title: str, description: str, width: float = WIDTH) -> Picture:
    """An empty picture with its title at the top left. description: for those who do not see it."""
    picture = Picture(width, height, title, description, PAINTS, RULES)
    picture.rect(0, 0, width, height, "page")
    picture.text(20, 30, title, "ink head")
    return picture


def lines(picture: Picture, x: float, y: float, words: Iterable[str], class_: str, **attributes: object) -> None:
    """Lines of text below one another, 17 units apart."""
    for index, line in enumerate(words):
        picture.text(x, y + 17 * index, line, class_, **attributes)


def arrow(picture: Picture, x1: float, y1: float, x2: float, y2: float, class_: str = "mark thin") -> None:
    """A straight arrow from the first point to the second."""
    picture.add("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)
    angle, size = atan2(y2 - y1, x2 - x1), 9.0
    corners = " ".join(
        f"{x2 - size * cos(angle + turn):.1f},{y2 - size * sin(angle + turn):.1f}" for turn in (-0.42, 0.42)
    )
    picture.add("polygon", points=f"{x2:.1f},{y2:.1f} {corners}", class_="ink")
