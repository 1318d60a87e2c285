"""The console of commands that print prose."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text
from rich.theme import Theme

from tirx_mini.ir import TirxError
from tirx_mini.script import explained

WIDEST = 100
"""The maximum width of text, in columns, on terminals of any width."""


def prose_console() -> Console:
    """Return a console of at most `WIDEST` columns that highlights Markdown code."""
    console = Console(highlight=False, theme=Theme({"markdown.code": "bold cyan"}))
    console.width = min(console.width, WIDEST)
    return console


def show_error(error: Exception, console: Console) -> int:
    """Print an error and return the exit status: 1 for a mistake in a kernel, shown as a page, and 2 for bad input."""
    if isinstance(error, TirxError):
        console.print(Text(str(explained(error))))
        return 1
    console.print(f"error: {error}", markup=False)
    return 2
