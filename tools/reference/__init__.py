"""The reference, `docs/reference/*.md`, from docstrings, tables and parsers: `make reference`.

Each module of this package writes one page; its function `page()` returns the Markdown. Nothing is simulated.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "reference"
PAGES = ("index", "tx", "lang", "instructions", "tile", "layout", "te", "dialects", "python", "commands")


def page(name: str) -> str:
    """The Markdown of a page."""
    return import_module(f"{__name__}.{name}").page()


def path_of(name: str) -> Path:
    """The file of a page."""
    return FOLDER / f"{name}.md"
