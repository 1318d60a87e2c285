"""Texts that passes are tested by, collected as tests: `pytest tests/tirx_mini/passes/texts/fma.tir`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

SUFFIXES = {".tir", ".tilelang", ".layout", ".nv_tileas", ".tileir"}


class Differs(Exception):
    """A text whose passes do something else."""


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    return TextFile.from_parent(parent, path=file_path) if file_path.suffix in SUFFIXES else None


class TextFile(pytest.File):
    """A file, which is one test."""

    def collect(self) -> Iterator[pytest.Item]:
        yield TextItem.from_parent(self, name="passes")


class TextItem(pytest.Item):
    """A test: the passes of a file make what the file says of its program."""

    def runtest(self) -> None:
        from tools.texts import difference, read, run  # here, because a student's folder has this file but no tools

        old = read(self.path)
        new = run(old)
        if new != old:
            command = f"python -m tools.texts {self.nodeid.partition('::')[0]}"
            raise Differs(f"{difference(old, new)}\n\nIf this is meant: {command}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *_: Any) -> Any:
        return str(excinfo.value) if excinfo.errisinstance((Differs, ValueError)) else super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.path.name
