"""Import hook that resolves `tvm` to tirx_mini, so that kernels can use TVM's import paths."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from tirx_mini.foreign import Absent, AbsentModule, in_import
from tirx_mini.ir import TirxError

from .paths import NAMES, PATHS, REFUSED_MODULES


class Paths(MetaPathFinder, Loader):
    """Resolves `tvm` and its submodules to tirx_mini, and suggests replacements for unsupported ones."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if fullname != "tvm" and not fullname.startswith("tvm."):
            return None
        if fullname not in PATHS and _refused(fullname) is None:
            raise not_provided(fullname)
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _stand_in(spec.name) if spec.name in PATHS else AbsentModule(spec.name, not_provided)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing, since a stand-in module is complete when created."""


def _stand_in(path: str) -> ModuleType:
    """Return a module with the names of the corresponding tirx_mini modules."""
    ours = [importlib.import_module(name) for name in PATHS[path]]
    module = ModuleType(path, ours[0].__doc__ if ours else None)

    def lookup(name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(f"module {path!r} has no attribute {name!r}")
        if name in NAMES.get(path, {}):
            place, _, attribute = NAMES[path][name].partition(":")
            found = importlib.import_module(place)
            return getattr(found, attribute) if attribute else found
        if f"{path}.{name}" in PATHS:
            return importlib.import_module(f"{path}.{name}")
        missing: AttributeError | None = None
        for room in ours if f"{path}.{name}" not in REFUSED_MODULES else ():
            try:
                return getattr(room, name)
            except AttributeError as error:  # of the language, it may say what to use instead
                missing = error if isinstance(error, TirxError) else None
        if in_import():  # it may never be used
            return Absent(f"{path}.{name}", partial(not_provided, base=AttributeError))
        raise missing or not_provided(f"{path}.{name}", AttributeError)

    exported = [name for room in ours for name in getattr(room, "__all__", ())]
    module.__dict__["__getattr__"] = lookup
    module.__dict__["__dir__"] = lambda: sorted({*NAMES.get(path, {}), *(name for room in ours for name in dir(room))})
    module.__dict__["__version__"] = getattr(importlib.import_module("tirx_mini"), "__version__", None)
    if exported:
        module.__dict__["__all__"] = exported
    return module


def _refused(path: str) -> str | None:
    """Return the suggested replacement for an unsupported module or its package, or None."""
    families = (path.rsplit(".", cut)[0] for cut in range(path.count(".") + 1))
    return next((REFUSED_MODULES[family] for family in families if family in REFUSED_MODULES), None)


def not_provided(path: str, base: type[Exception] = ImportError) -> Exception:
    """Return the error for an unsupported TVM module or name, located at the importing line.

    base: `ImportError`, or `AttributeError` for a name of a module.
    """
    from tirx_mini.script import caller_span, did_you_mean, refusal

    class NotProvided(TirxError, base):
        """A TVM module or name that tirx_mini does not provide."""

    parent, _, name = path.rpartition(".")
    hint = _refused(path)
    if parent not in PATHS:
        while parent.rpartition(".")[0] not in PATHS:
            parent = parent.rpartition(".")[0]
        message = f"tirx_mini does not provide the module `{parent}`"
        return NotProvided(message, caller_span(), hint, kind="unknown-name")
    row = refusal(name) if "script" in parent or parent == "tvm.tirx" else None
    why = f": {row.why}" if row is not None else ""
    if row is not None:
        hint = row.instead
    if hint is None:
        known = sorted(n for n in dir(importlib.import_module(parent)) if not n.startswith("_"))
        hint = did_you_mean(name, known) or (f"it provides {', '.join(known)}" if len(known) <= 16 else None)
    return NotProvided(
        f"tirx_mini does not provide `{name}` of `{parent}`{why}", caller_span(), hint, kind="unknown-name"
    )


def _tvm_modules() -> list[str]:
    return [name for name in list(sys.modules) if name == "tvm" or name.startswith("tvm.")]


@contextmanager
def imports() -> Iterator[None]:
    """Resolve imports of `tvm` and its submodules to tirx_mini within the block."""
    hidden = {name: sys.modules.pop(name) for name in _tvm_modules()}
    finder = Paths()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path[:] = [each for each in sys.meta_path if each is not finder]  # a program may have removed it
        for name in _tvm_modules():
            del sys.modules[name]
        sys.modules.update(hidden)
