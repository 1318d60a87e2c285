"""The pictures and the figures of the documentation, made anew: `make figures`, or `python -m tools.figures [FOLDER]`.

Each module of this package covers a topic. It has one or both of these functions, or `PAGES`, objects that have them:

pictures(): yields the path under `docs/` and the text of each SVG picture.
passages(): yields the name and the Markdown of each passage that quotes figures. It stands between two comments of a
    page: <!-- figures: NAME --> and <!-- /figures -->.

What they yield is the same on every machine. It is made by the simulator, the layouts or the measured tables, never by
hand, so it changes with the kernels and with the clock.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

from tirx_mini.course import Shape, shape_text

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

_PASSAGE = re.compile(r"(<!-- figures: (?P<name>[\w-]+) -->\n)(?P<text>.*?)(?P<end><!-- /figures -->)", re.DOTALL)


def records(name: str) -> list[dict[str, str]]:
    """The rows of a table in docs/."""
    with (DOCS / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def times(shape: Shape) -> str:
    """M × N × K, or one number if they are equal."""
    return shape_text(shape).replace("x", " × ")


def topics() -> dict[str, ModuleType]:
    """The modules of this package by name."""
    names = sorted(module.name for module in iter_modules([str(Path(__file__).parent)]) if module.name[0] != "_")
    return {name: import_module(f"{__name__}.{name}") for name in names}


def pictures(topic: ModuleType) -> Iterator[tuple[str, str]]:
    """The path under `docs/` and the text of each picture of a topic."""
    for source in (topic, *getattr(topic, "PAGES", ())):
        yield from getattr(source, "pictures", dict)()


def passages(topic: ModuleType) -> Iterator[tuple[str, str]]:
    """The name and the Markdown of each passage of a topic."""
    for source in (topic, *getattr(topic, "PAGES", ())):
        yield from getattr(source, "passages", dict)()


def pages() -> list[Path]:
    """The Markdown pages that may have passages."""
    return [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def quotations(page: str) -> dict[str, str]:
    """The passages of a page by name, as they stand there."""
    return {match["name"]: match["text"].strip() for match in _PASSAGE.finditer(page)}


def quoted(page: str) -> list[str]:
    """The names of the passages of a page."""
    return list(quotations(page))


def filled(page: str, texts: dict[str, str]) -> str:
    """The page with the passages that `texts` names; others stay as they are."""

    def passage(match: re.Match[str]) -> str:
        text = texts.get(match["name"])
        return match[0] if text is None else f"{match[1]}\n{text.strip()}\n\n{match['end']}"

    return _PASSAGE.sub(passage, page)
