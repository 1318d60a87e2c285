"""What the pictures of some concept pages and guides share: paints, arrows, labels, axes with logarithms."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log10
from pathlib import Path

from tirx_mini.course import KernelRef, default_kernels
from tirx_mini.report import Paint, Picture

FILLS = ("#56b4e9", "#e69f00", "#35b68f", "#d98cb8", "#f0e442", "#f0795a")
"""Okabe and Ito's colours, lightened so that dark text is legible on each, on light pages and on dark ones."""
PAINTS: Mapping[str, Paint] = {
    "page": Paint("fill", "#ffffff", "#14181d"),
    "panel": Paint("fill", "#f4f6f8", "#1f262d"),
    "ink": Paint("fill", "#1f2328", "#e8ebef"),
    "soft": Paint("fill", "#4d545c", "#b4bdc7"),
    "on": Paint("fill", "#14181d", "#14181d"),
    "halo": Paint("stroke", "#ffffff", "#14181d"),
    "edge": Paint("stroke", "#3c4650", "#c9d1da"),
    "grid": Paint("stroke", "#d8dde3", "#343c45"),
    "line": Paint("stroke", "#1f2328", "#e8ebef"),
    "tip": Paint("fill", "#1f2328", "#e8ebef"),
    "plain": Paint("fill", "#c9d1da", "#8d97a4"),
    "gap": Paint("fill", "#e3e7ec", "#2a323b"),
    "later0": Paint("fill", "#d5dbe2", "#39434e"),
    "later1": Paint("fill", "#c1cad3", "#4a5662"),
    "faint": Paint("stroke", "#6b7580", "#97a2ae"),
    **{f"c{number}": Paint("fill", colour, colour) for number, colour in enumerate(FILLS)},
}
RULES = (
    "text{font-size:14.5px}.head{font-size:18px;font-weight:600}.bold{font-weight:600}.small{font-size:13px}"
    ".tiny{font-size:12px}.faint{stroke-width:1}.edge{stroke-width:.8}.line{stroke-width:1.4;fill:none}.thick{stroke-width:2.4;fill:none}"
    ".dash{stroke-dasharray:5 4}.halo{paint-order:stroke;stroke-width:4px;stroke-linejoin:round}"
)
TIP = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0 0.5L8 4L0 7.5z" class="tip"/></marker></defs>'
)


def sketch(width: float, height: float, title: str, description: str, rules: str = "") -> Picture:
    """An empty picture with a page, a title in its first line, and the paints of this module."""
    picture = Picture(width, height, title, description, PAINTS, RULES + rules)
    picture.rect(0, 0, width, height, "page")
    picture.raw(TIP)
    picture.text(16, 26, title, "ink head")
    return picture


def lines(
    picture: Picture, x: float, y: float, words: Sequence[str], class_: str, step: float = 19, **rest: object
) -> None:
    """Lines of text below one another, the first with its baseline at y."""
    for number, text in enumerate(words):
        picture.text(x, y + number * step, text, class_, **rest)


def arrow(picture: Picture, path: str, class_: str = "line") -> None:
    """A path with a tip at its end."""
    picture.add("path", d=path, class_=class_, marker_end="url(#tip)")


def box(picture: Picture, x: float, y: float, width: float, height: float, fill: str, words: Sequence[str]) -> None:
    """A filled box with lines of text in its middle."""
    picture.rect(x, y, width, height, f"{fill} edge", rx=3)
    style = "ink" if fill in ("panel", "page", "gap") else "on"
    top = y + height / 2 + 5 - 9 * (len(words) - 1)
    for number, text in enumerate(words):
        style_of_line = style if number == 0 else f"{style} small"
        picture.text(x + width / 2, top + 18 * number, text, style_of_line, text_anchor="middle")


@dataclass(frozen=True)
class LogAxis:
    """Values from `first` to `last` on a logarithmic axis from `start` to `end`, in user units."""

    first: float
    last: float
    start: float
    end: float

    def at(self, value: float) -> float:
        share = log10(value / self.first) / log10(self.last / self.first)
        return self.start + (self.end - self.start) * min(1.0, max(0.0, share))


def reference(step: int) -> Path:
    """The file of a Blackwell reference."""
    return next((default_kernels() / "sm100").glob(f"step{step:02}_*.py"))


def patched(step: int, edits: Mapping[str, str], folder: Path | None = None) -> KernelRef:
    """The reference of a step with these replacements, as a file of its own in `folder`.

    Raises `ValueError` for a text that does not occur exactly once.
    """
    text = reference(step).read_text(encoding="utf-8")
    for old, new in edits.items():
        if text.count(old) != 1:
            raise ValueError(f"step {step} has {text.count(old)} times {old!r}")
        text = text.replace(old, new)
    path = (folder or Path(tempfile.mkdtemp())) / f"step{step:02}.py"
    path.write_text(text, encoding="utf-8")
    return KernelRef(path, f"hgemm_v{step}")
