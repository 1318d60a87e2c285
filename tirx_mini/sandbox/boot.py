"""The script that a sandboxed process starts with: ``python -I -S boot.py IMPORTS``.

A kernel's front end needs a third of what `import tirx_mini` imports; the simulator, reports and the compiler are the
rest. A class of hand-ins is a class of processes, so packages are executed here only when somebody asks for one of
their names. Their modules are imported as ever. This script may import nothing of the package itself.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

PACKAGES = ("tirx_mini", "tirx_mini.course", "tirx_mini.sandbox")


class Postponed(ModuleType):
    """A module whose file is executed when a name is asked for that it does not have yet."""

    def __getattr__(self, name: str) -> Any:
        spec = self.__dict__.pop("_postponed", None)
        if spec is None or (name.startswith("__") and name.endswith("__")):
            if spec is not None:
                self.__dict__["_postponed"] = spec
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        spec.loader.exec_module(self)
        return getattr(self, name)


def postpone(name: str, known: Mapping[str, object] | None = None) -> None:
    """Let the module be one whose file is executed later. known: names that it has before."""
    spec = importlib.util.find_spec(name)
    if spec is None:
        return
    module = Postponed(name)
    module.__spec__, module.__loader__, module.__file__ = spec, spec.loader, spec.origin
    if spec.submodule_search_locations is not None:
        module.__path__ = spec.submodule_search_locations
        module.__package__ = name
    else:
        module.__package__ = name.rpartition(".")[0]
    module.__dict__.update(known or {}, _postponed=spec)
    sys.modules[name] = module
    parent, _, last = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], last, module)


if __name__ == "__main__":
    sys.path[:] = json.loads(sys.argv.pop())
    for package in PACKAGES:
        postpone(package)
    from tirx_mini.sandbox.child import main

    main()
