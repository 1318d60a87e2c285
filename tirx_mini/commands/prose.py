"""The console of commands that print prose."""

from __future__ import annotations

from rich.console import Console
from rich.theme import Theme

WIDEST = 100
"""The maximum width of text, in columns, on terminals of any width."""


def prose_console() -> Console:
    """Return a console of at most `WIDEST` columns that highlights Markdown code."""
    console = Console(highlight=False, theme=Theme({"markdown.code": "bold cyan"}))
    console.width = min(console.width, WIDEST)
    return console
