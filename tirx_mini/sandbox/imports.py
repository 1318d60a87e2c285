"""The modules that a hand-in may import, in one list for every sandbox.

All of them are imported before the process locks itself, since a locked process opens no files. docs/grading.md has the
list for students.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import linecache
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from tirx_mini.foreign import Absent, AbsentModule, Frontend, frontends, resolve

PYTHON = (
    "__future__", "abc", "argparse", "array", "ast", "bisect", "builtins", "cmath", "collections", "collections.abc",
    "contextlib", "copy", "dataclasses", "datetime", "decimal", "enum", "fractions", "functools", "gc", "hashlib",
    "heapq", "importlib", "inspect", "io", "itertools", "json", "logging", "math", "numbers", "operator", "os",
    "os.path", "pathlib", "pprint", "random", "re", "statistics", "string", "struct", "sys", "textwrap", "time",
    "traceback", "types", "typing", "unicodedata", "warnings", "weakref",
)  # fmt: skip
"""The permitted modules of Python's library."""
PACKAGES = ("numpy", "numpy.fft", "numpy.linalg", "numpy.random", "numpy.typing", "ml_dtypes", "tirx_mini", "utils")
"""The permitted packages; tirx_mini includes only its language, and `utils` only the parts that kernels use."""
ABSENT = ("torch", "triton", "pytest", "unittest", "matplotlib", "modal", "numpy.testing")
"""The packages that may be imported but not used, for tests and measurements in a student's file."""

_ROOMS = ("arguments", "hardware", "ir", "isa", "lang", "layout", "records", "saved", "script", "target")
"""The subpackages of tirx_mini for the language; all others are absent."""
_COURSE = ("constants", "kernel_ref", "kernels", "shapes", "steps", "todos")
_LATE = ("_strptime", "encodings.ascii", "encodings.latin_1", "encodings.unicode_escape", "encodings.utf_16")
"""The modules that functions of Python's library import, on behalf of the caller if written in C."""
_ROOT = "tirx_mini"


def may_import(name: str) -> bool:
    """Return whether a module, or its package, is on the list."""
    listed = (*PYTHON, *PACKAGES, *ABSENT, *(each.kernel_package for each in _stand_ins()))
    return any(name == each or name.startswith(f"{each}.") for each in listed)


def preload(source: bytes, utils: Path) -> Gate:
    """Import all modules that the source may import, and return a gate that refuses further imports.

    utils: the kit's, which is read, not executed.
    """
    for name in (*PYTHON, *_LATE, *(each for each in PACKAGES if each != "utils")):
        importlib.import_module(name)
    for name in (*_ROOMS, *(f"course.{each}" for each in _COURSE)):
        room = importlib.import_module(f"{_ROOT}.{name}")
        for each in _modules_of(room):
            importlib.import_module(each)
    for each in frontends():
        if each.instructions:  # spellings of instructions, which a kernel may use whatever it imports
            resolve(each.instructions)
    for each in _stand_ins():
        resolve(each.kernel_imports)
        for name in each.kernel_modules if each.kernel_package in slow_packages(source) else ():
            importlib.import_module(name)
    _keep_lines(f"{_ROOT}.lang.")
    sys.modules["utils"] = _utils(utils)
    packages = [module for name, module in sys.modules.items() if name.partition(".")[0] == _ROOT]
    return Gate({name for package in packages for name in _modules_of(package)})


def _stand_ins() -> list[Frontend]:
    """Return the front ends that stand for a package from which kernel files import the course's dialect."""
    return [each for each in frontends() if each.kernel_package]


def slow_packages(source: bytes) -> frozenset[str]:
    """Return the packages that a hand-in imports whose stand-ins take a second to import."""
    return frozenset(each.kernel_package for each in _stand_ins() if _imports(each.kernel_package, source))


def _imports(package: str, source: bytes) -> bool:
    pattern = rf"^[ \t]*(?:from[ \t]+{package}\b|import[ \t][^#\n]*(?<!as )\b{package}\b)"
    return re.search(pattern.encode(), source, re.MULTILINE) is not None


class _Beside(NamedTuple):
    """A module beside a hand-in. file: "" for a folder that is a package without a file."""

    file: str
    text: str
    is_package: bool


class Gate(MetaPathFinder, Loader):
    """Refuses further imports. Modules of `ABSENT` and missing subpackages of tirx_mini become stand-ins.

    known: modules of tirx_mini, imported or not.
    """

    def __init__(self, known: Collection[str]) -> None:
        self._known = frozenset(known)
        self._beside: dict[str, _Beside] = {}
        self._files: set[str] = set()

    def close(self, file: str) -> None:
        """Allow no further imports of missing modules; the module of `file` may import the modules of the list."""
        sys.meta_path[:] = [self]
        sys.path.clear()
        sys.path_hooks.clear()
        self._files.add(file)
        builtins.__import__ = _checked(builtins.__import__, self._files, self._beside)

    def admit(self, modules: Mapping[str, str], folder: Path) -> None:
        """Allow the import of modules beside the hand-in, whose folder this is.

        modules: their texts by place, as in "tiles", "helpers/__init__" and "helpers/tiles". A folder without an
        ``__init__`` is a package, too.
        """
        for place, text in modules.items():
            file = str(folder / f"{place}.py")
            *packages, name = place.split("/")
            for depth in range(len(packages)):
                self._beside.setdefault(".".join(packages[: depth + 1]), _Beside("", "", True))
            is_package = name == "__init__"
            self._beside[".".join(packages if is_package else (*packages, name))] = _Beside(file, text, is_package)
            self._files.add(file)
            remember_lines(file, text)

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec:
        """Return the spec of a stand-in. Raises `ModuleNotFoundError` for any other module."""
        if fullname in self._beside:
            beside = self._beside[fullname]
            return ModuleSpec(fullname, self, origin=beside.file or None, is_package=beside.is_package)
        around = sys.modules.get(fullname.rpartition(".")[0])
        if fullname in ABSENT or fullname in self._known or isinstance(around, AbsentModule):
            return ModuleSpec(fullname, self, is_package=True)
        if fullname.partition(".")[0] in (_ROOT, "numpy"):
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        raise _refused(fullname)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return ModuleType(spec.name) if spec.name in self._beside else AbsentModule(spec.name, _not_there)

    def exec_module(self, module: ModuleType) -> None:
        """Execute a module beside the hand-in; a stand-in is complete at creation."""
        if module.__name__ in self._beside:
            beside = self._beside[module.__name__]
            if beside.file:
                module.__file__ = beside.file
                exec(compile(beside.text, beside.file, "exec", dont_inherit=True), module.__dict__)


def _not_there(path: str) -> ImportError:
    return ImportError(f"{path} is not there while a hand-in is graded: kernels are built without it")


class Utils(ModuleType):
    """The kit's `utils` with the names that kernels use; other names are `Absent`."""

    def __init__(self, known: Mapping[str, object], others: Collection[str]) -> None:
        super().__init__("utils")
        self.__dict__.update(known, __all__=list(known), _others=frozenset(others))

    def __getattr__(self, name: str) -> Absent:
        if name not in self.__dict__["_others"]:
            raise AttributeError(f"module 'utils' has no attribute {name!r}")
        return Absent(f"utils.{name}", _not_there)


def _utils(file: Path) -> Utils:
    shapes = importlib.import_module(f"{_ROOT}.course.shapes")
    body = ast.parse(file.read_bytes()).body if file.is_file() else []
    others = {node.name for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    return Utils({"check_shape": shapes.check_shape}, others)


def _modules_of(package: ModuleType) -> Iterator[str]:
    """Yield the modules in the folder of a package, without importing them; none for a module."""
    for folder in getattr(package, "__path__", ()):
        for entry in os.scandir(folder):
            name, _, suffix = entry.name.partition(".")
            if not name.startswith("__") and (suffix == "py" or entry.is_dir()):
                yield f"{package.__name__}.{name}"


def _keep_lines(prefix: str) -> None:
    """Cache the source lines of modules with inlined functions, which are parsed with each kernel."""
    for name, module in sys.modules.items():
        file = getattr(module, "__file__", None)
        if name.startswith(prefix) and file is not None:
            remember_lines(file, Path(file).read_text(encoding="utf-8"))


def remember_lines(file: str, text: str) -> None:
    """Cache the lines of a file in `linecache`, so that the file is not read again."""
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file


def forget_lines(file: str) -> None:
    """Take the lines of a file out of the cache of `linecache`."""
    linecache.cache.pop(file, None)


def _checked(
    real: Callable[..., ModuleType], files: Collection[str], beside: Collection[str]
) -> Callable[..., ModuleType]:
    def checked(
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: object = None,
        fromlist: object = (),
        level: int = 0,
    ) -> ModuleType:
        own = level == 0 and globals is not None and globals.get("__file__") in files
        if own and name not in _LATE and name not in beside and not may_import(name):
            raise _refused(name)
        return real(name, globals, locals, fromlist, level)

    return checked


def _refused(name: str) -> ModuleNotFoundError:
    said = "a hand-in imports tirx_mini, utils, numpy, ml_dtypes and the modules of Python that docs/grading.md lists"
    return ModuleNotFoundError(f"{name} cannot be imported: {said}", name=name)
