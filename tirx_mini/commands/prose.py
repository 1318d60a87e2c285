"""The console of commands whose output is read as sentences."""

from __future__ import annotations

from rich.console import Console
from rich.theme import Theme

WIDEST = 100
"""Text is not wrapped further to the right than here, however wide the terminal is."""


def prose_console() -> Console:
    """A console of at most `WIDEST` columns, in which the code of Markdown stands out."""
    console = Console(highlight=False, theme=Theme({"markdown.code": "bold cyan"}))
    console.width = min(console.width, WIDEST)
    return console
