"""Import hook that resolves `cuda.tile` to tirx_mini, so that programs can use NVIDIA's import path."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

_OURS = {"cuda.tile": "tirx_mini.frontends.tile_ir.ct", "cuda.tile.tune": "tirx_mini.frontends.tile_ir.tune"}
_MISSING = {
    "cuda.tile.compilation": "`python -m tirx_mini tileir FILE:KERNEL` shows a kernel at every level, down to SASS",
    "cuda.tile.jax": "call `ct.launch` with NumPy arrays",
}
_STAND_INS = {"cupy": "tirx_mini.frontends.tile_ir.cupy"}
"""Packages that programs use for their arrays; ours stand for them where they are not installed."""


class _Paths(MetaPathFinder, Loader):
    """Resolves `cuda.tile` to tirx_mini."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if fullname in _OURS:
            return ModuleSpec(fullname, self, is_package=True)
        if fullname.startswith("cuda.tile."):
            raise _not_provided(fullname)
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _stand_in(spec.name, _OURS[spec.name])

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing, since a stand-in module is complete when created."""


class _Absent(MetaPathFinder, Loader):
    """A finder at the end of the path, for packages that are not installed."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self, is_package=True) if fullname in ("cuda", *_STAND_INS) else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return ModuleType("cuda") if spec.name == "cuda" else _stand_in(spec.name, _STAND_INS[spec.name])

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing, since a stand-in module is complete when created."""


def _stand_in(name: str, ours: str) -> ModuleType:
    """Return a module with the names of a tirx_mini module."""
    inner = importlib.import_module(ours)
    module = ModuleType(name, inner.__doc__)

    def lookup(attribute: str) -> object:
        if attribute.startswith("__"):
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}")
        if f"{name}.{attribute}" in _MISSING:
            raise _not_provided(f"{name}.{attribute}")
        return getattr(inner, attribute)

    module.__dict__["__getattr__"] = lookup
    module.__dict__["__dir__"] = lambda: dir(inner)
    module.__dict__["__version__"] = importlib.import_module("tirx_mini").__version__
    return module


def _not_provided(path: str) -> Exception:
    from tirx_mini.ir import TirxError
    from tirx_mini.script import caller_span

    class NotProvided(TirxError, ImportError):
        """A cuTile module that tirx_mini does not provide."""

    return NotProvided(f"tirx_mini does not provide `{path}`", caller_span(), _MISSING.get(path), kind="unknown-name")


@contextmanager
def imports() -> Iterator[None]:
    """Resolve imports of `cuda.tile` to tirx_mini within the block."""
    hidden = {name: sys.modules.pop(name) for name in _modules()}
    parent = sys.modules.get("cuda")
    before = getattr(parent, "tile", None)
    finders = (_Paths(), _Absent())
    sys.meta_path.insert(0, finders[0])
    sys.meta_path.append(finders[1])
    try:
        yield
    finally:
        for finder in finders:
            sys.meta_path.remove(finder)
        for name in _modules():
            del sys.modules[name]
        parent = sys.modules.get("cuda")
        if parent is not None and hasattr(parent, "tile"):
            delattr(parent, "tile")
            if before is not None:
                parent.tile = before  # type: ignore[attr-defined]
        sys.modules.update(hidden)


def _modules() -> list[str]:
    return [name for name in sys.modules if name == "cuda.tile" or name.startswith(("cuda.tile.", "cupy"))]
