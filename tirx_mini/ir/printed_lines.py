"""The lines of a printed kernel with the places in the source that they come from."""

from __future__ import annotations

from .func import TIR, PrimFunc
from .printer import Printer
from .span import Span
from .stmt import Stmt
from .text import node_text


def printed_lines(func: PrimFunc) -> tuple[str, tuple[Span | None, ...]]:
    """Return the text of `script` without its last newline, and the span of each of its lines."""
    text = node_text(func).rstrip("\n")
    if func.spelling == TIR:
        return text, (None,) * len(text.split("\n"))
    spans: list[Span | None] = []
    for line in _Mapped().lines(func):
        spans += [getattr(line, "span", None)] * (line.count("\n") + 1)
    return text, tuple(spans)


class _Line(str):
    """A line of text with a span, which text that is appended does not change."""

    span: Span | None = None

    def __add__(self, more: str) -> _Line:
        return _line(str(self) + more, self.span)


def _line(text: str, span: Span | None) -> _Line:
    line = _Line(text)
    line.span = span
    return line


class _Mapped(Printer):
    def stmt(self, stmt: Stmt, depth: int) -> list[str]:
        """Return the lines of a statement, of which those of inner statements have their spans already."""
        span: Span | None = getattr(stmt, "span", None)
        lines = super().stmt(stmt, depth)
        return lines if span is None else [line if isinstance(line, _Line) else _line(line, span) for line in lines]
