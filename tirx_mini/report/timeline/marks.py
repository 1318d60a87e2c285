"""The common parts of all timeline pictures: scale, axis, legend, hatching and labels."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tirx_mini.records import dataclass

from ..svg import Picture, number
from .palette import STAGES, stage_class

WIDTH, LEFT, RIGHT = 960.0, 132.0, 88.0
"""The widths of the picture and of its left and right margins, in user units."""
CHARACTER = 0.6
"""The approximate width of a character relative to the font size, for fitting labels."""
SMALL = 10.5
RULES = (
    f"text{{font-size:12px}}.head{{font-size:15px;font-weight:600}}.small{{font-size:{SMALL}px}}.edge{{stroke-width:.6}}"
    ".arrow{fill:none;stroke-width:1.3}.halo{paint-order:stroke;stroke-width:3px;stroke-linejoin:round}"
    ".pale{fill-opacity:.4}.stop{stroke-width:1.5;stroke-dasharray:4 3}"
)


@dataclass(frozen=True)
class Heading:
    """The heading of a picture. title: kernel, size, GPU, time. note: a sentence about the contents, or "". clock_ghz:
    of the SM clock, for the axis."""

    title: str
    clock_ghz: float
    note: str = ""


@dataclass(frozen=True)
class Scale:
    """The mapping of times in cycles to positions, and the visible range."""

    start: float
    end: float
    left: float = LEFT
    right: float = WIDTH - RIGHT

    @property
    def per_cycle(self) -> float:
        """The number of user units per cycle."""
        return (self.right - self.left) / (self.end - self.start)

    def x(self, time: float) -> float:
        return self.left + (min(max(time, self.start), self.end) - self.start) * self.per_cycle

    def sees(self, start: float, end: float) -> bool:
        return start < self.end and end > self.start


def axis(picture: Picture, scale: Scale, top: float, bottom: float, clock_ghz: float) -> None:
    """Draw a grid line for each round number of cycles from `top` to `bottom`, labelled with cycles and time."""
    step = tick(scale.end - scale.start)
    time = step * math.ceil(scale.start / step)
    while time <= scale.end:
        x = scale.x(time)
        picture.add("line", x1=x, x2=x, y1=top, y2=bottom, class_="grid")
        picture.text(x, bottom + 14, f"{time:,.0f}", "soft small", text_anchor="middle")
        picture.text(x, bottom + 28, duration(time, clock_ghz), "soft small", text_anchor="middle")
        time += step
    picture.text(scale.left - 40, bottom + 14, "cycles", "soft small", text_anchor="end")
    picture.text(scale.left - 40, bottom + 28, "time", "soft small", text_anchor="end")


def legend(picture: Picture, y: float, stages: Sequence[int]) -> None:
    """Draw the legend of colours, hatching and arrows on one line."""
    x = LEFT
    for stage in stages[: len(STAGES)]:
        picture.rect(x, y - 10, 15, 12, f"{stage_class(stage)} edge")
        picture.text(x + 7.5, y - 0.5, str(stage), "on small", text_anchor="middle")
        picture.text(x + 20, y, f"stage {stage}" if len(stages) <= 4 else "", "soft")
        x += 72 if len(stages) <= 4 else 22
    if len(stages) > 4:
        picture.text(x, y, "stages", "soft")
        x += 54
    picture.rect(x, y - 10, 15, 12, "plain edge")
    picture.text(x + 20, y, "no stage", "soft")
    picture.rect(x + 82, y - 10, 15, 12, "edge", fill="url(#wait)")
    picture.text(x + 102, y, "waits", "soft")
    picture.rect(x + 146, y - 10, 15, 12, "plain pale edge")
    picture.text(x + 166, y, "latency of a copy", "soft")
    picture.add("path", d=f"M{number(x + 276)} {number(y - 4)}h22", class_="arrow", marker_end="url(#tip)")
    picture.text(x + 306, y, "what ended a long wait", "soft")


def patterns() -> str:
    """Return the SVG definitions of the hatching for waits (per stage and without one) and of the arrowhead."""
    hatches = "".join(
        f'<pattern id="wait{suffix}" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        f'<rect width="2" height="5" class="{kind}"/></pattern>'
        for suffix, kind in [("", "plain"), *((str(stage), f"s{stage}") for stage in range(len(STAGES)))]
    )
    tip = (
        '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" class="tip"/></marker>'
    )
    return f"<defs>{hatches}{tip}</defs>"


def hatching(stage: int | None) -> str:
    """Return the fill of a wait."""
    return "url(#wait)" if stage is None else f"url(#wait{stage % len(STAGES)})"


def fitting(labels: Sequence[str], width: float, size: float = SMALL) -> str:
    """Return the first label that fits into a box of the given width, or ""."""
    return next((label for label in labels if len(label) * size * CHARACTER + 4 <= width), "")


def tick(length: float) -> float:
    """Return a round tick distance that yields four to nine ticks."""
    size = 1.0
    while True:
        for factor in (1, 2, 5):
            if length / (size * factor) <= 9:
                return size * factor
        size *= 10


def duration(cycles: float, clock_ghz: float) -> str:
    """Format cycles of the SM clock in ns, or in µs from 1000 ns on."""
    ns = cycles / clock_ghz
    return f"{ns:.0f} ns" if ns < 1000 else f"{ns / 1000:.2f} µs"


def wrapped(sentence: str, width: float, size: float = 12) -> list[str]:
    """Wrap a sentence into lines of a given width."""
    lines = [""]
    for word in sentence.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and not fitting([longer], width, size * 0.9):
            lines.append(word)
        else:
            lines[-1] = longer
    return [line for line in lines if line]
