"""The modules beside a file that its text imports."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from tirx_mini.sandbox import may_import

from .kernels import NO_PYTHON

MOST_BYTES = 1 << 20
"""The maximum size of all modules of a text."""


class Modules:
    """The Python files in a folder, as modules."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def found(self, text: str) -> list[str]:
        """Return the names of the modules that a text imports, also through each other, in order."""
        return list(self._texts(text))

    def opened(self, text: str, names: Collection[str]) -> Mapping[str, str]:
        """Return the texts of the modules among `names` that a text imports, by name."""
        return {name: found for name, found in (self._texts(text) if names else {}).items() if name in names}

    def _texts(self, text: str) -> dict[str, str]:
        found: dict[str, str] = {}
        room = MOST_BYTES
        waiting = [text]
        while waiting:
            for name in _imported(waiting.pop(0)):
                module = None if name in found or may_import(name) else self._read(name, room)
                if module is not None:
                    found[name] = module
                    room -= len(module.encode())
                    waiting.append(module)
        return found

    def _read(self, name: str, room: int) -> str | None:
        """Return the text of a module; None if there is none, or none that can be read in the room that is left."""
        path = self._folder / f"{name}.py"
        try:
            if not path.is_file() or path.stat().st_size > room:
                return None
            return path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError):
            return None


def _imported(text: str) -> Iterator[str]:
    """Yield the first names of the modules that a text imports."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except NO_PYTHON:
        return
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (each.name.partition(".")[0] for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and not node.level:
            yield node.module.partition(".")[0]
