"""The TODOs of a student's file: which there are, which are filled in, and at which lines.

The file is read line by line, so that a file with a syntax error has its TODOs, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..hardware import BLACKWELL, HOPPER
from .kernels import KernelFileError

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
    """

    line: int
    text: str
    open: bool


def read_kernels(path: Path) -> str:
    """The text of a student's file. Raises `KernelFileError` if there is none."""
    if path.is_dir():
        raise KernelFileError(f"{path} is a folder; name the file that you fill in")
    if not path.is_file():
        raise KernelFileError(f"the kernel file {path} does not exist")
    return path.read_text(encoding="utf-8", errors="replace")


def architecture_in(path: Path, text: str) -> str:
    """The architecture that a student's file is for, as in "sm_90a": by its name, else by the instructions in it."""
    for architecture in (BLACKWELL, HOPPER):
        if path.name == architecture.student_file:
            return architecture.name
    return HOPPER.name if _HOPPER.search(text) else BLACKWELL.name


def todos_in(text: str) -> Mapping[int, tuple[Todo, ...]]:
    """The TODOs of each ``hgemm_vN`` in the text of a file, by the number of the step, in their order."""
    lines = text.splitlines()
    starts = [(number, int(match[1])) for number, line in enumerate(lines) if (match := _FACTORY.match(line))]
    ends = [number for number, _ in starts[1:]] + [len(lines)]
    return {
        step: tuple(sorted(_todos(lines, start, end), key=lambda todo: todo.line))
        for (start, step), end in zip(starts, ends, strict=True)
    }


def _todos(lines: Sequence[str], start: int, end: int) -> Iterator[Todo]:
    """Those between two lines, counted from 0. A `...` belongs to the last TODO above it that has none yet."""
    comment: tuple[int, str] | None = None
    for index in range(start, end):
        if match := _TODO.match(lines[index]):
            if comment is not None:
                yield Todo(*comment, open=False)
            comment = index + 1, _whole(lines, index, match[1])
        elif _OPEN.fullmatch(lines[index]):
            yield Todo(*comment, open=True) if comment is not None else Todo(index + 1, "", open=True)
            comment = None
    if comment is not None:
        yield Todo(*comment, open=False)


def _whole(lines: Sequence[str], index: int, first: str) -> str:
    """The comment that begins at a line, in one line."""
    words = [first.strip()]
    for line in lines[index + 1 :]:
        stripped = line.strip()
        if not stripped.startswith("#") or stripped.startswith("# TODO:"):
            break
        words.append(stripped.lstrip("# "))
    return " ".join(words)
