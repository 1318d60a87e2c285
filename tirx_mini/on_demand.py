"""Packages whose names are imported when they are asked for, so that a command imports only what it uses."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def named(package: str, names: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package.

    names: for each of its modules, the names that the package takes from it. None may be the name of a module: Python
    sets the module in the package when it is imported, and the package's name would then be the module.
    """
    homes = {name: module for module, several in names.items() for name in several}

    def attribute(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, found)
        return found

    return attribute
