"""The TODOs of a student's file: their numbers, states and lines.

The file is read line by line, so that TODOs are found in a file with a syntax error, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from tirx_mini.hardware import BLACKWELL, HOPPER
from tirx_mini.records import dataclass

_FACTORY = re.compile(r"def hgemm_v(\d+)\(")
_TODO = re.compile(r"\s*# TODO: (.*)")
_OPEN = re.compile(r"\s*\.\.\.\s*(#.*)?")
_HOPPER = re.compile(r"\bwgmma\b|wgmma_accumulator_layout")


@dataclass(frozen=True)
class Todo:
    """A TODO in a file.

    line: of the comment; of the `...` where the comment is gone.
    text: the comment, without "TODO: ", in one line; "" where it is gone.
    open: whether a `...` stands for the code.
    dots: the line of that `...`; 0 if there is none.
    begun: whether statements stand between the comment and the `...`.
    """

    line: int
    text: str
    open: bool
    dots: int = 0
    begun: bool = False


def architecture_in(path: Path, text: str) -> str:
    """Return the architecture of a student's file, as in "sm_90a", from its name, else from its instructions."""
    for architecture in (BLACKWELL, HOPPER):
        if path.name == architecture.student_file:
            return architecture.name
    return HOPPER.name if _HOPPER.search(text) else BLACKWELL.name


def todos_in(text: str) -> Mapping[int, tuple[Todo, ...]]:
    """Return the TODOs of each ``hgemm_vN`` in the text of a file, by step number, in order."""
    lines = text.splitlines()
    starts = [*_starts(lines), (len(lines), 0)]
    return {
        step: tuple(sorted(_todos(lines, start, end), key=lambda todo: todo.line))
        for (start, step), (end, _) in pairwise(starts)
    }


def hint_command(path: Path, step: int, *more: object) -> str:
    """Return the command that prints hints for a step of a student's file, named if it is not the default."""
    default = path.name == BLACKWELL.student_file and path.resolve().parent == Path.cwd()
    words = ["python -m tirx_mini hint", step, *more]
    return " ".join(map(str, words if default else [*words, "--kernels", path]))


def hint_at(path: Path, line: int) -> str | None:
    """Return the hint command for the TODO at a line of a file, or None if it belongs to no step."""
    text = path.read_text(encoding="utf-8", errors="replace")
    step = max(((start, step) for start, step in _starts(text.splitlines()) if start < line), default=(0, None))[1]
    if step is None or not any(todo.open for todo in todos_in(text)[step]):
        return None
    here = Path.cwd()
    return hint_command(path.relative_to(here) if path.is_relative_to(here) else path, step)


def _starts(lines: Sequence[str]) -> list[tuple[int, int]]:
    """Return (zero-based line, step number) of each ``hgemm_vN``."""
    return [(number, int(match[1])) for number, line in enumerate(lines) if (match := _FACTORY.match(line))]


def _todos(lines: Sequence[str], start: int, end: int) -> Iterator[Todo]:
    """Yield the TODOs between two zero-based lines; a `...` belongs to the last TODO above it without one."""
    comment: tuple[int, str] | None = None
    begun = False
    for index in range(start, end):
        if match := _TODO.match(lines[index]):
            if comment is not None:
                yield Todo(*comment, open=False)
            comment, begun = (index + 1, _whole(lines, index, match[1])), False
        elif _OPEN.fullmatch(lines[index]):
            yield Todo(*(comment or (index + 1, "")), open=True, dots=index + 1, begun=begun and comment is not None)
            comment = None
        else:
            begun = begun or lines[index].strip()[:1] not in ("", "#")
    if comment is not None:
        yield Todo(*comment, open=False)


def _whole(lines: Sequence[str], index: int, first: str) -> str:
    """Return the comment that begins at a line, as one line."""
    words = [first.strip()]
    for line in lines[index + 1 :]:
        stripped = line.strip()
        if not stripped.startswith("#") or stripped.startswith("# TODO:"):
            break
        words.append(stripped.lstrip("# "))
    return " ".join(words)
