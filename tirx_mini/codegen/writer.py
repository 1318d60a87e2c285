"""C++ text lines with their kernel source locations."""

from __future__ import annotations

import linecache
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path

from tirx_mini.ir import Span
from tirx_mini.records import dataclass

INDENT = "  "


@dataclass
class Writer:
    """Collects lines.

    line_directives: write a ``#line`` before each line that has a source line.
    quotes: quote the source line in a comment where it changes.
    lines, spans: the text so far, and the source of each line.
    """

    line_directives: bool = False
    quotes: bool = False
    lines: list[str] = field(default_factory=list[str])
    spans: list[Span | None] = field(default_factory=list[Span | None])
    _depth: int = 0
    _place: tuple[str, int] | None = None

    def line(self, text: str = "", span: Span | None = None) -> None:
        """Write a line at the current indentation."""
        if span is not None:
            self._announce(span.user)
        self._append(f"{INDENT * self._depth}{text}" if text else "", span)

    def text(self, block: str) -> None:
        """Write lines without source locations."""
        for line in block.splitlines():
            self.line(line)

    @contextmanager
    def block(self, head: str, tail: str = "}", span: Span | None = None) -> Generator[None]:
        """Write a block ``head {`` … ``tail``."""
        self.line(f"{head} {{", span)
        self._depth += 1
        yield
        self._depth -= 1
        self.line(tail)

    def reopen(self, head: str) -> None:
        """Close a block and open another on the same line: ``} else {``."""
        self._depth -= 1
        self.line(f"}} {head} {{")
        self._depth += 1

    def _announce(self, span: Span) -> None:
        place = (span.file, span.line)
        fresh, self._place = place != self._place, place
        if self.line_directives:  # before each line: otherwise the compiler counts on from the last one
            escaped = span.file.replace("\\", "\\\\").replace('"', '\\"')
            self._append(f'#line {span.line} "{escaped}"', span)
        if self.quotes and fresh:
            self._append(f"{INDENT * self._depth}// {Path(span.file).name}:{span.line}  {_source(span)}", span)

    def _append(self, line: str, span: Span | None) -> None:
        self.lines.append(line)
        self.spans.append(span)


def _source(span: Span) -> str:
    return linecache.getline(span.file, span.line).strip().rstrip("\\")
