"""What the pictures of the documentation are drawn with: titled sheets in one style, text, boxes, arrows, rows of time.

The colours are those of the timelines (`tirx_mini/report/palette.py`). Classes of a sheet: c0 to c7 fill what is told
apart by colour, and `mute` and `gap` what is not; text is `ink` or `soft`, on a colour it is `on`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tirx_mini.report import COLOURS, PAPER, Paint, Picture

WIDTH, MARGIN = 960.0, 16.0
PAINTS = {
    **PAPER,
    "mute": Paint("fill", "#d5dbe2", "#39434e"),
    "gap": Paint("fill", "#e6eaee", "#262d35"),
    "hatch": Paint("fill", "#8a94a0", "#77828e"),
    **{f"c{index}": Paint("fill", colour, colour) for index, colour in enumerate(COLOURS)},
}
"""The classes of every sheet."""
RULES = (
    "text{font-size:14px}.head{font-size:18px;font-weight:600}.bold{font-weight:600}.small{font-size:13px}"
    ".tiny{font-size:12px}.code{font-family:ui-monospace,'DejaVu Sans Mono',monospace;font-size:13px}"
    ".edge{stroke-width:.8}.arrow{fill:none;stroke-width:1.5}.thick{stroke-width:2.5}.dash{stroke-dasharray:5 4}"
    ".halo{paint-order:stroke;stroke-width:4px;stroke-linejoin:round}"
)
TIP, HATCH = "url(#tip)", "url(#hatch)"
DEFINITIONS = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="10" markerHeight="10" '
    'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0L8 4L0 8z" class="tip"/></marker>'
    '<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect width="2.4" height="6" class="hatch"/></pattern></defs>'
)
"""The tip of an arrow, and the hatching of what is blocked."""


def sheet(height: float, title: str, description: str, heading: str | None = None) -> Picture:
    """An empty page `WIDTH` wide. heading: the words at its top left, by default its title. description: for those who
    do not see it."""
    picture = Picture(WIDTH, height, title, description, PAINTS, RULES)
    picture.rect(0, 0, WIDTH, height, "page")
    picture.raw(DEFINITIONS)
    picture.text(MARGIN, 28, title if heading is None else heading, "ink head")
    return picture


def on(fill: str) -> str:
    """The class of text on a fill."""
    return "on" if fill[:1] == "c" or fill == "plain" else "ink"


def lines(picture: Picture, x: float, y: float, words: Sequence[str], class_: str, **attributes: object) -> None:
    """Lines of text below one another, 18 units apart; the baseline of the first is at y."""
    for index, line in enumerate(words):
        picture.text(x, y + 18 * index, line, class_, **attributes)


def box(picture: Picture, x: float, y: float, width: float, height: float, fill: str, words: Sequence[str]) -> None:
    """A filled box with lines of text in its middle, small from the second on."""
    picture.rect(x, y, width, height, f"{fill} edge", rx=3)
    first = y + height / 2 + 5 - 9 * (len(words) - 1)
    for index, line in enumerate(words):
        style = on(fill) if index == 0 else f"{on(fill)} small"
        picture.text(x + width / 2, first + 18 * index, line, style, text_anchor="middle")


def legend(picture: Picture, x: float, y: float, entries: Sequence[tuple[str, str]]) -> None:
    """Filled squares, and small words to the right of each. entries: (fill, words). y: the baseline."""
    for fill, words in entries:
        picture.rect(x, y - 12, 14, 14, f"{fill} edge")
        picture.text(x + 20, y, words, "soft small")
        x += 38 + 7 * len(words)


def rule(picture: Picture, x1: float, y1: float, x2: float, y2: float, class_: str = "grid") -> None:
    """A straight line."""
    picture.add("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def arrow(picture: Picture, x1: float, y1: float, x2: float, y2: float, class_: str = "arrow") -> None:
    """A straight arrow from the first point to the second."""
    picture.add("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_, marker_end=TIP)


def curve(picture: Picture, path: str, class_: str = "arrow") -> None:
    """An arrow along a path of SVG."""
    picture.add("path", d=path, class_=class_, marker_end=TIP)


@dataclass(frozen=True)
class Lanes:
    """Rows of boxes over one axis of time: who does what when.

    start, end: of the axis, in cycles. left, right: of it, in user units. tall: the height of a row.
    """

    picture: Picture
    start: float
    end: float
    left: float = 190.0
    right: float = 944.0
    tall: float = 30.0

    def x(self, time: float) -> float:
        share = (min(max(time, self.start), self.end) - self.start) / (self.end - self.start)
        return self.left + share * (self.right - self.left)

    def row(self, y: float, name: str, detail: str = "") -> None:
        """The background and the name of a row whose top is at `y`."""
        self.picture.rect(self.left, y, self.right - self.left, self.tall, "lane")
        middle = y + self.tall / 2
        self.picture.text(self.left - 10, middle + (-1 if detail else 4.5), name, "ink bold", text_anchor="end")
        if detail:
            self.picture.text(self.left - 10, middle + 13, detail, "soft small", text_anchor="end")

    def box(self, y: float, start: float, end: float, words: str, fill: str = "mute", title: str = "") -> None:
        """What somebody does from `start` to `end`; words that do not fit stand to the right of it."""
        left, width = self.x(start), max(self.x(end) - self.x(start), 3)
        self.picture.rect(left, y + 2, width, self.tall - 4, f"{fill} edge", title or None, rx=3)
        self._words(left, width, y, words, on(fill))

    def wait(self, y: float, start: float, end: float, words: str) -> None:
        """A warp is blocked from `start` to `end`."""
        left, width = self.x(start), max(self.x(end) - self.x(start), 3)
        self.picture.rect(left, y + 5, width, self.tall - 10, "edge", fill=HATCH)
        self._words(left, width, y, words, "ink halo")

    def _words(self, left: float, width: float, y: float, words: str, style: str) -> None:
        middle = y + self.tall / 2 + 4.5
        if len(words) * 7.7 + 6 <= width:
            self.picture.text(left + width / 2, middle, words, style, text_anchor="middle")
        elif words:
            self.picture.text(left + width + 6, middle, words, "ink")

    def mark(self, time: float, top: float, bottom: float) -> None:
        """A dashed vertical line at a time."""
        rule(self.picture, self.x(time), top, self.x(time), bottom, "edge dash")

    def axis(self, y: float, step: float) -> None:
        """Round numbers of cycles."""
        time = step * -(-self.start // step)
        while time <= self.end:
            rule(self.picture, self.x(time), y - 6, self.x(time), y, "edge")
            self.picture.text(self.x(time), y + 13, f"{time:,.0f}", "soft small", text_anchor="middle")
            time += step
        self.picture.text(self.left - 10, y + 13, "cycles", "soft small", text_anchor="end")
