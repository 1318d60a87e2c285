"""Source lines in pages, dedented to fit narrow terminals."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from pathlib import Path

from rich.console import RenderableType
from rich.text import Text

from tirx_mini.ir import Span, cuda_header, excerpt, file_label


def source_lines(span: Span | None, context: int = 0) -> Iterator[RenderableType]:
    """Yield the location, the underlined source line, and the calls through which it was inlined."""
    if span is None:
        return
    user = span.user
    where, *lines = excerpt(user, context)
    yield Text(f"{where.partition('-->')[0]}--> {file_name(user)}:{user.line}:{user.column + 1}", style="cyan")
    for line in _dedented(lines):
        culprit = set(line.partition("|")[2].strip()) == {"^"}
        yield Text(line, style="red" if culprit else "", no_wrap=True, overflow="ellipsis")
    if user is not span and cuda_header(span.file):
        yield Text(f"  = in {file_name(span)}:{span.line}, which it calls")
    for outer in user.chain():
        if outer is not user:
            yield Text(f"  = inlined from {file_name(outer)}:{outer.line}")


def source_line(span: Span | None) -> str:
    """Return the first source line of a span, dedented; "" if it cannot be read."""
    return "" if span is None else linecache.getline(span.user.file, span.user.line).strip()


def line_number(span: Span | None) -> str:
    """Return the number of the user's line; "–" if there is none."""
    return "–" if span is None else str(span.user.line)


def file_name(span: Span) -> str:
    """Return the file path, relative to the working directory if possible; for a notebook, the cell.

    A header of CUDA has the name by which a text includes it.
    """
    path, label = Path(span.file), file_label(span.file)
    header = cuda_header(span.file)
    if header:
        return header
    inside = label == span.file and path.is_relative_to(Path.cwd())
    return str(path.relative_to(Path.cwd())) if inside else label


def _dedented(lines: list[str]) -> list[str]:
    """Return the lines of an excerpt without their common indentation."""
    source = [line.partition(" | ")[2] for line in lines if " | " in line]
    margin = min((len(text) - len(text.lstrip()) for text in source if text.strip()), default=0)
    out: list[str] = []
    for line in lines:
        number, bar, text = line.partition(" | ")
        out.append(f"{number}{bar}{text[margin:]}" if bar else line)
    return out
