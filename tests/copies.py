"""Copies of folders of the project, with the bytecode that Python keeps there: who imports a copy compiles nothing."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

BYTECODE = "__pycache__"
Stamp = tuple[int, int, int]
"""The time of the last change of a file, its size and its mode. A folder has a mode alone."""
NOTHING: Stamp = (0, 0, 0)


def copied(source: Path, target: Path, *ignored: str) -> Path:
    """Copy a folder to `target`, which must not be there. ignored: patterns of names that are left out.

    The bytecode of other Pythons is left out.
    """
    # Python writes bytecode to NAME.pyc.NUMBER and renames it: that file may be gone before it is copied.
    patterns = shutil.ignore_patterns("*.pyc.*", *ignored)

    def left_out(folder: str, names: list[str]) -> set[str]:
        mine = f".{sys.implementation.cache_tag}"
        others = {name for name in names if name.endswith(".pyc") and mine not in name}
        return patterns(folder, names) | others

    return Path(shutil.copytree(source, target, ignore=left_out))


@dataclass(frozen=True)
class Restorable:
    """A copy for several tests, each of which gets it as the first one did. Bytecode that they add stays.

    source: the folder that it is a copy of. stamps: those of all that is in the new copy, by path within it.
    """

    source: Path
    folder: Path
    stamps: dict[str, Stamp]

    @classmethod
    def of(cls, source: Path, folder: Path, *ignored: str) -> Restorable:
        return cls(source, copied(source, folder, *ignored), dict(_entries(folder)))

    def restore(self) -> None:
        """Remove what was added, and copy what was changed or removed from the source."""
        now = dict(_entries(self.folder))
        for path, (*_, kind) in now.items():
            if stat.S_IFMT(self.stamps.get(path, NOTHING)[-1]) != stat.S_IFMT(kind):
                _remove(self.folder / path)
        for path, stamp in self.stamps.items():
            if now.get(path) == stamp:
                continue
            if stat.S_ISDIR(stamp[-1]):
                (self.folder / path).mkdir(exist_ok=True)
            else:
                shutil.copy2(self.source / path, self.folder / path)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)  # with its folder, it may be gone


def _entries(folder: Path) -> Iterator[tuple[str, Stamp]]:
    """The files, links and folders within a folder, without bytecode; each folder precedes those within it."""
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != BYTECODE]
        for name in (*folders, *names):
            path = Path(root, name)
            found = os.lstat(path)
            times = (0, 0) if stat.S_ISDIR(found.st_mode) else (found.st_mtime_ns, found.st_size)
            yield os.path.relpath(path, folder), (*times, found.st_mode)
