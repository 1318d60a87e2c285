"""The source excerpt of a page: the kernel's function, around the referenced lines."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterable, Iterator

Lines = tuple[int, tuple[str, ...]]
"""The number of the first line, and the lines."""


def excerpt_around(file: str, numbers: Iterable[int]) -> Lines:
    """Return the top-level statements of a file that contain the given lines, from first to last, decorators included.

    For a file that cannot be parsed, the excerpt spans the first to the last of the lines; for one that cannot be read,
    it is empty.
    """
    lines = [line.rstrip("\n") for line in linecache.getlines(file)]
    wanted = [number for number in numbers if 1 <= number <= len(lines)]
    if not wanted:
        return 1, ()
    first, last = min(wanted), max(wanted)
    for start, end in _statements("\n".join(lines)):
        if start <= first <= end:
            first = start
        if start <= last <= end:
            last = end
    return first, tuple(lines[first - 1 : last])


def _statements(text: str) -> Iterator[tuple[int, int]]:
    """Yield the first and last line of each top-level statement of a module."""
    try:
        body = ast.parse(text).body
    except SyntaxError:
        return
    for statement in body:
        decorators = getattr(statement, "decorator_list", [])
        start = min([statement.lineno, *(each.lineno for each in decorators)])
        yield start, statement.end_lineno or statement.lineno
