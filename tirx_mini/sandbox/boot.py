"""The script that a sandboxed process starts with: ``python -I -S boot.py IMPORTS``.

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
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

PACKAGES = ("tirx_mini", "tirx_mini.course", "tirx_mini.sandbox")


class Postponed(ModuleType):
    """A module that imports the names of its file one by one, and executes the file for any other name."""

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        if name in own["_sources"]:
            value = importlib.import_module(own["_sources"][name])
            own[name] = value = getattr(value, name, value)
            return value
        if own["_executed"] or (name.startswith("__") and name.endswith("__") and name != "__version__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        own["_executed"] = True
        own["__spec__"].loader.exec_module(self)
        return getattr(self, name)

    def __setattr__(self, name: str, value: object) -> None:
        """Python gives a package its modules as they are imported; a function of the same name is what is meant."""
        if isinstance(value, ModuleType) and self.__dict__["_sources"].get(name) == value.__name__:
            value = getattr(value, name, value)
        super().__setattr__(name, value)


def postpone(name: str, known: Mapping[str, object] | None = None) -> None:
    """Let the module be a `Postponed`. known: names that it has before anything is imported."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        return
    module = Postponed(name)
    module.__dict__.update(
        __spec__=spec, __loader__=spec.loader, __file__=spec.origin, __package__=spec.parent,
        _sources=_sources(name, Path(spec.origin)), _executed=False,
    )  # fmt: skip
    if spec.submodule_search_locations is not None:
        module.__dict__["__path__"] = spec.submodule_search_locations
    module.__dict__.update(known or {})
    sys.modules[name] = module
    parent, _, last = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], last, module)


def _sources(package: str, file: Path) -> dict[str, str]:
    """The names that a package imports from its modules, each with the name of that module."""
    return {
        alias.asname or alias.name: f"{package}.{node.module or alias.name}"
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom) and node.level == 1
        for alias in node.names
    }


if __name__ == "__main__":
    sys.path[:] = json.loads(sys.argv.pop())
    for package in PACKAGES:
        postpone(package)
    from tirx_mini.sandbox.child import main

    main(postpone)
