"""The file system of a process in namespaces: Python, its packages and tirx_mini, without references or grader.

The process needs it only to start; once locked, it opens no files.
"""

from __future__ import annotations

import importlib.util
import os
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from tirx_mini.records import dataclass
from tirx_mini.resources import resource, resource_root

_SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo")
"""The directories of Linux's shared libraries, and the time zone files."""
_SECRET = ("kernels_ref", "docs", "tests", "grading", "tools", "examples", "benchmarks", "slides")
"""The folders of a checkout with solutions or grading material."""
_NEEDED = ("numpy", "ml_dtypes")


@dataclass(frozen=True)
class View:
    """Absolute paths without symbolic links.

    trees: what may be read, with all that is below it.
    hidden: the paths below a tree that may not be read.
    utils: the kit's file of that name, which may be below a hidden folder; it need not exist.
    imports: the child's `sys.path`.
    """

    trees: tuple[str, ...]
    hidden: tuple[str, ...]
    utils: str
    imports: tuple[str, ...]


def _within(path: str, trees: Iterable[str]) -> bool:
    return any(path == tree or path.startswith(tree + os.sep) for tree in trees)


@cache
def the_view() -> View:
    """Return the files of this installation that a process needs to start."""
    package = Path(__file__).resolve().parent.parent
    roots = {package, package.parent, resource_root().resolve()}
    found = {_real(path) for path in _trees(package) if Path(path).exists()}
    trees = sorted(path for path in found if not _within(str(Path(path).parent), found))
    secret = [root / name for root in roots for name in _SECRET]
    others = [Path(tree) / package.name for tree in trees]  # installed a second time
    hidden = {_real(path) for path in (package / "_data", *secret, *others) if path.is_dir()} - {str(package)}
    return View(
        tuple(trees),
        tuple(sorted(path for path in hidden if _within(path, trees))),
        _real(resource("utils.py")),
        (*(_real(path) for path in sys.path if path and _within(_real(path), trees)), str(package.parent)),
    )


def _trees(package: Path) -> Iterator[Path | str]:
    yield package
    yield from (path for path in _SYSTEM if sys.platform == "linux")
    yield interpreter()
    for prefix in (sys.base_prefix, sys.base_exec_prefix):
        yield from (Path(prefix) / name for name in ("lib", "lib64", "DLLs", "Lib") if prefix != "/")
    for key in ("stdlib", "platstdlib", "purelib", "platlib"):
        yield sysconfig.get_path(key)
    sites = [*site.getsitepackages(), site.getusersitepackages()]
    for folder in sites:
        yield folder
        if Path(folder).is_dir():
            yield from {_shared(path.resolve()) for path in Path(folder).iterdir() if path.is_symlink()}
    for name in _NEEDED:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None:
            yield Path(spec.origin).parent
            yield Path(spec.origin).parent.parent / f"{name}.libs"


def _shared(path: Path) -> Path:
    """Return the visible part of a link's target among the packages: the whole package if it is another's."""
    return path.parent if path.parent.name in ("site-packages", "dist-packages") else path


def interpreter() -> str:
    """Return the base Python interpreter that executes a child, outside of a virtual environment."""
    return _real(getattr(sys, "_base_executable", None) or sys.executable)


def _real(path: Path | str) -> str:
    return os.path.realpath(path)
