"""Rows of boxes over one axis of time: who does what when in a small simulated run."""

from __future__ import annotations

from dataclasses import dataclass

from tirx_mini.report.svg import Picture, number
from tools.figures._style import hued


@dataclass(frozen=True)
class Lanes:
    """Where times, in cycles, lie on a picture. left, right: of the axis, in user units. tall: the height of a row."""

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
            self.picture.text(self.left - 10, middle + 13, detail, "soft tiny", text_anchor="end")

    def box(self, y: float, start: float, end: float, words: str, hue: str = "act", title: str = "") -> None:
        """What somebody does from `start` to `end`; words that do not fit stand to the right of it."""
        left, width = self.x(start), max(self.x(end) - self.x(start), 3)
        self.picture.rect(left, y + 2, width, self.tall - 4, hued(hue), title or None, rx=3)
        self._words(left, width, y, words, "ink")

    def wait(self, y: float, start: float, end: float, words: str) -> None:
        """A warp is blocked from `start` to `end`."""
        left, width = self.x(start), max(self.x(end) - self.x(start), 3)
        self.picture.rect(left, y + 5, width, self.tall - 10, "blocked", fill="url(#wait)")
        self._words(left, width, y, words, "ink halo")

    def _words(self, left: float, width: float, y: float, words: str, style: str) -> None:
        middle = y + self.tall / 2 + 4.5
        if len(words) * 7.7 + 6 <= width:
            self.picture.text(left + width / 2, middle, words, style, text_anchor="middle")
        elif words:
            self.picture.text(left + width + 6, middle, words, "ink")

    def mark(self, time: float, top: float, bottom: float, style: str = "line dash") -> None:
        """A vertical line at a time."""
        x = self.x(time)
        self.picture.add("line", x1=x, x2=x, y1=top, y2=bottom, class_=style)

    def arrow(self, time: float, y1: float, y2: float, style: str = "arrow") -> None:
        """An arrow straight down, or up, at a time."""
        self.picture.add("path", d=f"M{number(self.x(time))} {number(y1)}V{number(y2)}", class_=style,
                         marker_end="url(#tip)")  # fmt: skip

    def axis(self, y: float, step: float) -> None:
        """Round numbers of cycles."""
        time = step * -(-self.start // step)
        while time <= self.end:
            self.mark(time, y - 6, y)
            self.picture.text(self.x(time), y + 13, f"{time:,.0f}", "soft tiny", text_anchor="middle")
            time += step
        self.picture.text(self.left - 10, y + 13, "cycles", "soft tiny", text_anchor="end")
