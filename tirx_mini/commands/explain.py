"""``python -m tirx_mini explain TX101``: a section of the book of findings, or the list of codes."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

from tirx_mini.course import Section, findings_book, plain_links

from .prose import prose_console

CODE_THEME = "ansi_dark"
"""The code theme, which uses the terminal's colours and is readable on light terminals."""


def main(argv: Sequence[str] | None = None) -> int:
    """Print the section of a code, or the list of codes. The exit status is 2 for an unknown code."""
    parser = argparse.ArgumentParser(
        prog="python -m tirx_mini explain", description="What a finding means, with an example and the fix."
    )
    parser.add_argument("code", metavar="CODE", nargs="?", help="as in TX201; without one, all are listed")
    text: str | None = parser.parse_args(argv).code
    console = prose_console()
    sections = findings_book().sections
    if text is None:
        console.print(_table(sections.values()))
        return 0
    code = f"TX{text}" if text.isdecimal() else text.upper()
    if code in sections:
        _show(sections[code], console)
        return 0
    near = _near(code, sections)
    listed = "these are near" if near else "the codes are"
    console.print(f"error: no finding has the code {text}; {listed}", markup=False)
    console.print(_table(near or sections.values()))
    return 2


def _near(code: str, sections: Mapping[str, Section]) -> list[Section]:
    """Return the sections of the same hundred, or those with the word in their titles, or none."""
    hundred = [section for known, section in sections.items() if code[:2] == "TX" and known[:3] == code[:3]]
    return hundred or [section for section in sections.values() if code in section.title.upper()]


def _table(sections: Iterable[Section]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for section in sections:
        table.add_row(section.code, section.title.removeprefix(section.code).strip())
    return table


def _show(section: Section, console: Console) -> None:
    """Print a section in lines of the terminal's width."""
    body = plain_links(section.text.partition("\n")[2].strip())
    console.print(Text(section.title, style="bold"))
    console.print()
    console.print(Markdown(body, code_theme=CODE_THEME, hyperlinks=False))
