"""Capture of text that kernels print in a judge's process, for the report instead of a terminal."""

from __future__ import annotations

import ctypes
import io
import os
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from typing import Any

from tirx_mini.records import dataclass

MOST_HEARD = 4000
"""The maximum number of characters of one task."""


@dataclass(frozen=True)
class Heard:
    """The result of a task, and the beginning of its kernels' output."""

    result: Any
    text: str = ""


class _Beginning(io.TextIOBase):
    """A stream that keeps only its beginning."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str, /) -> int:
        self.text += text[: MOST_HEARD + 1 - len(self.text)]
        return len(text)

    def writable(self) -> bool:
        return True


def hearing(task: Generator[None, None, object], files: bool = False) -> Heard:
    """Run a task to its end. files: whether to capture the process's standard output, where a GPU's kernels print."""
    beginning = _Beginning()
    with redirect_stdout(beginning), _file(beginning) if files else nullcontext():
        try:
            while True:
                next(task)
        except StopIteration as done:
            result = done.value
    return Heard(result, beginning.text)


@contextmanager
def _file(beginning: _Beginning) -> Iterator[None]:
    """Redirect the process's standard output to a file within the block, and keep its beginning."""
    kept = os.dup(1)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 1)
        try:
            yield
        finally:
            if os.name == "posix":  # C has a buffer of its own
                ctypes.CDLL(None).fflush(None)
            os.dup2(kept, 1)
            os.close(kept)
            file.seek(0)
            beginning.write(file.read(4 * MOST_HEARD).decode("utf-8", "replace"))
