"""The start script of a sandboxed process: ``python -I -S boot.py IMPORTS``.

A kernel's front end needs a third of what `import tirx_mini` imports; the simulator, reports and the compiler are the
rest. A class of hand-ins is a class of processes, so here a package imports what it gives a name to when somebody asks
for that name. This script may import nothing of the package before that holds.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

PACKAGES = ("tirx_mini.course", "tirx_mini.sandbox")
"""The packages whose files only import names of their modules."""


class Postponed(ModuleType):
    """A package that imports each name of its file on first access, and has no other names."""

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        if name not in own["_sources"]:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        value = importlib.import_module(own["_sources"][name])
        own[name] = value = getattr(value, name, value)
        return value

    def __setattr__(self, name: str, value: object) -> None:
        """Set an attribute, but substitute the function of the same name for a module that Python sets on import."""
        if isinstance(value, ModuleType) and self.__dict__["_sources"].get(name) == value.__name__:
            value = getattr(value, name, value)
        super().__setattr__(name, value)


def postpone(name: str) -> None:
    """Replace the package by a `Postponed`."""
    spec = importlib.util.find_spec(name)
    assert spec is not None and spec.origin is not None
    module = Postponed(name)
    module.__dict__.update(
        __spec__=spec, __loader__=spec.loader, __file__=spec.origin, __package__=spec.parent,
        __path__=spec.submodule_search_locations, _sources=_sources(name, Path(spec.origin)),
    )  # fmt: skip
    sys.modules[name] = module
    parent, _, last = name.rpartition(".")
    setattr(sys.modules[parent], last, module)


def _sources(package: str, file: Path) -> dict[str, str]:
    """Return the names that a package imports from its modules, at once or on demand, each with the module's name.

    What it imports on demand stands under `TYPE_CHECKING`.
    """
    body = ast.parse(file.read_text(encoding="utf-8")).body
    later = [node for stmt in body if isinstance(stmt, ast.If) for node in stmt.body]
    return {
        alias.asname or alias.name: f"{package}.{node.module or alias.name}"
        for node in (*body, *later)
        if isinstance(node, ast.ImportFrom) and node.level == 1
        for alias in node.names
    }


if __name__ == "__main__":
    sys.path[:] = json.loads(sys.argv.pop())
    for package in PACKAGES:
        postpone(package)
    from tirx_mini.sandbox.child import main

    main()
