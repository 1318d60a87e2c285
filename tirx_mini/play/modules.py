"""The modules beside a file that its text imports, also in packages: folders beside it."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from tirx_mini.sandbox import may_import

from .kernels import NO_PYTHON

MOST_BYTES = 1 << 20
"""The maximum size of all modules of a text."""
_INIT = "__init__"

Dotted = tuple[str, ...]
"""The parts of a module's name, as ("helpers", "tiles")."""


class Modules:
    """The Python files in a folder, as modules.

    A module is named by its place: "tiles" for tiles.py, "helpers/__init__" and "helpers/tiles" for those of a package.
    A link is followed only within the folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def found(self, text: str) -> list[str]:
        """Return the places of the modules that a text imports, also through each other, in order."""
        return list(self._texts(text))

    def opened(self, text: str, places: Collection[str]) -> Mapping[str, str]:
        """Return the texts of the modules at `places` that a text imports, by place."""
        return {place: found for place, found in (self._texts(text) if places else {}).items() if place in places}

    def _texts(self, text: str) -> dict[str, str]:
        found: dict[str, str] = {}
        room = MOST_BYTES
        waiting: list[tuple[str, Dotted]] = [(text, ())]
        while waiting:
            for name in _imported(*waiting.pop(0)):
                for place, package in self._places(name):
                    module = None if place in found else self._read(place, room)
                    if module is not None:
                        found[place] = module
                        room -= len(module.encode())
                        waiting.append((module, package))
        return found

    def _places(self, name: Dotted) -> Iterator[tuple[str, Dotted]]:
        """Yield the files that an import executes, outermost first, each with its package."""
        if may_import(name[0]):
            return
        for depth in range(1, len(name) + 1):
            part = name[:depth]
            place = "/".join(part)
            if self._is_file(f"{place}/{_INIT}"):  # as for Python, a package hides a module of its name
                yield f"{place}/{_INIT}", part
            elif self._is_file(place):
                yield place, part[:-1]
                return

    def _is_file(self, place: str) -> bool:
        return self._path(place) is not None

    def _path(self, place: str) -> Path | None:
        """Return the file of a module; None if there is none in the folder itself."""
        try:
            path = (self._folder / f"{place}.py").resolve()
            return path if path.is_relative_to(self._folder.resolve()) and path.is_file() else None
        except (OSError, RuntimeError, ValueError):  # a circle of links, a NUL
            return None

    def _read(self, place: str, room: int) -> str | None:
        """Return the text of a module; None if there is none, or none that can be read in the room that is left."""
        path = self._path(place)
        try:
            if path is None or path.stat().st_size > room:
                return None
            return path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError):
            return None


def _imported(text: str, package: Dotted) -> Iterator[Dotted]:
    """Yield the names of the modules that a text may import. package: the text's, to which dots are relative."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except NO_PYTHON:
        return
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (tuple(each.name.split(".")) for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level <= len(package):
            base = package[: len(package) - node.level + 1] if node.level else ()
            whole = (*base, *(node.module or "").split(".")) if node.module else base
            if whole:
                yield whole
            yield from ((*whole, each.name) for each in node.names if each.name != "*")
