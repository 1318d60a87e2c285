"""The output of `inspect`: a text for a file, or for a terminal of its width."""

from __future__ import annotations

import codecs
import io
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from tirx_mini.files import write_whole


def show_text(text: str, output: Path | None) -> None:
    """Write a text to a file, or print it."""
    if output is not None:
        write_whole(output, text)
    else:
        _print(text)


def folded(text: str, width: int) -> str:
    """Wrap text to lines of at most `width` columns, after commas or at spaces; a comment stays a comment.

    Longer words, such as PTX names, are not broken.
    """
    return "".join(f"{part}\n" for line in text.splitlines() for part in _parts(line, width))


def _parts(line: str, width: int) -> Iterator[str]:
    margin = line[: len(line) - len(line.lstrip())]
    indent = margin if line.startswith(f"{margin}//") else f"{margin}    "
    while len(line) > width:
        comment = line.find("//")
        start = len(line) - len(line.lstrip()) + 3
        commas = line.rfind(", ", max(start, width // 2), width) + 1 if comment < 0 else 0
        at = commas or line.rfind(" ", start, width + 1)
        at = at if at > 0 else line.find(" ", max(start, width))
        if at < 0:
            break
        yield line[:at].rstrip()
        line = f"{indent}{'// ' if 0 <= comment < at else ''}{line[at:].strip()}"
    yield line


def _print(text: str) -> None:
    """Print text, wrapped for a terminal, else in UTF-8 as --output writes it, except on an ASCII stream."""
    if sys.stdout.isatty():
        text = folded(text, shutil.get_terminal_size().columns)
    elif isinstance(sys.stdout, io.TextIOWrapper) and codecs.lookup(sys.stdout.encoding).name != "ascii":
        sys.stdout.reconfigure(encoding="utf-8", errors=sys.stdout.errors)
    sys.stdout.write(text)
