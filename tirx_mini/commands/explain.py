"""``python -m tirx_mini explain TX101``: a section of the book of findings, or the list of codes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.markdown import Markdown
from rich.text import Text

from ..course import findings_book
from ..diagnose import codes, kind_with


def main(argv: Sequence[str] | None = None) -> int:
    """Print the section of a code, or the list of codes. The exit status is 2 for an unknown code."""
    parser = argparse.ArgumentParser(
        prog="python -m tirx_mini explain", description="What a finding means, with an example and the fix."
    )
    parser.add_argument("code", metavar="CODE", nargs="?", help="as in TX201; without one, all are listed")
    code: str | None = parser.parse_args(argv).code
    console = Console(highlight=False)
    if code is None:
        for known in codes():
            console.print(Text(f"{known}  ", style="bold").append(kind_with(known).rule, style="not bold"))
        return 0
    code = code.upper()
    if code not in codes():
        console.print(f"error: no finding has the code {code}; they are {codes()[0]} to {codes()[-1]}", markup=False)
        return 2
    section = findings_book().sections[code]
    if console.is_terminal:
        console.print(Markdown(section.text))
    else:
        sys.stdout.write(section.text + "\n")
    return 0
