"""SVG pictures: elements in drawing order, and a style sheet for light and dark pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

from tirx_mini.records import dataclass

FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"


@dataclass(frozen=True)
class Paint:
    """A class of the style sheet: the value of one CSS property on light and on dark pages."""

    css: str
    light: str
    dark: str


class Picture:
    """An SVG document under construction; `add` appends elements, and `str` returns the text.

    width, height: in user units; the viewer scales the picture. title, description: alternative text. paints: the
    classes that elements may use. rules: further CSS, the same on both kinds of pages.

    The style sheet uses plain classes and no variables, so that renderers without a full CSS engine, such as those of
    slides, show the light colours.
    """

    def __init__(
        self, width: float, height: float, title: str, description: str, paints: Mapping[str, Paint], rules: str = ""
    ) -> None:
        self.width, self.height = width, height
        self.title, self.description = title, description
        self.paints = paints
        self.rules = rules
        self._parts: list[str] = []

    def add(self, tag: str, text: str | None = None, title: str | None = None, /, **attributes: object) -> None:
        """Append an element. text: its content; title: its tooltip.
        A trailing or inner underscore in
        the name of an attribute is dropped or becomes a hyphen: `class_`, `text_anchor`."""
        inner = "" if text is None else escape(text, quote=False)
        if title is not None:
            inner += f"<title>{escape(title, quote=False)}</title>"
        start = f"<{tag}{_attributes(attributes)}"
        self._parts.append(f"{start}>{inner}</{tag}>" if inner else f"{start}/>")

    def text(self, x: float, y: float, words: str, class_: str, **attributes: object) -> None:
        """Append text whose baseline begins at (x, y)."""
        self.add("text", words, x=x, y=y, class_=class_, **attributes)

    def rect(
        self, x: float, y: float, width: float, height: float, class_: str, title: str | None = None, **rest: object
    ) -> None:
        """Append a rectangle. title: as in `add`."""
        self.add("rect", None, title, x=x, y=y, width=width, height=height, class_=class_, **rest)

    def raw(self, element: str) -> None:
        """Append an element given as SVG text, such as a pattern."""
        self._parts.append(element)

    def __str__(self) -> str:
        size = f"{number(self.width)} {number(self.height)}"
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" role="img" aria-labelledby="title desc">',
            f'<title id="title">{escape(self.title, quote=False)}</title>',
            f'<desc id="desc">{escape(self.description, quote=False)}</desc>',
            f"<style>{style_sheet(self.paints)}{self.rules}</style>",
            *self._parts,
            "</svg>",
            "",
        ])  # fmt: skip


def style_sheet(paints: Mapping[str, Paint]) -> str:
    """Return the style classes for light pages, and their overrides for dark pages."""
    light = "".join(f".{name}{{{paint.css}:{paint.light}}}" for name, paint in paints.items())
    changed = {name: paint for name, paint in paints.items() if paint.dark != paint.light}
    dark = "".join(f".{name}{{{paint.css}:{paint.dark}}}" for name, paint in changed.items())
    return f"text{{font-family:{FONT}}}{light}@media (prefers-color-scheme:dark){{{dark}}}"


def number(value: float) -> str:
    """Format a coordinate with at most two decimals and no trailing zeros."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def points(pairs: Iterable[tuple[float, float]]) -> str:
    """Format the `points` attribute of a polygon or a polyline."""
    return " ".join(f"{number(x)},{number(y)}" for x, y in pairs)


def _attributes(attributes: Mapping[str, object]) -> str:
    parts = []
    for name, value in attributes.items():
        text = number(value) if isinstance(value, (int, float)) else escape(str(value))
        parts.append(f' {name.rstrip("_").replace("_", "-")}="{text}"')
    return "".join(parts)
