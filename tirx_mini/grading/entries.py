"""The hand-ins of a class: the files and folders of one folder, each with a unique name."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tirx_mini.records import dataclass

from .handin import MACOS, SUFFIXES, HandInError
from .text import plain_line

OTHER_ARCHIVES = (".zip", ".7z", ".rar", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".tar.zst", ".gz")
"""The suffixes of unreadable archives, which are listed in a row that says so."""
_MOST = 80
"""The maximum length of a name."""
_DIGEST = re.compile(r"-[0-9a-f]{12}$")


@dataclass(frozen=True)
class Entry:
    """A file or folder handed in by one student. name: unique in the class, and valid as a file name."""

    name: str
    path: Path


def entries_of(folder: Path) -> tuple[list[Entry], list[str]]:
    """Return the hand-ins in a folder by name, and the names of other files. Hidden files are in neither list.

    Raises `HandInError` if the folder is missing or has no hand-ins.
    """
    shown = plain_line(str(folder))
    if not folder.is_dir():
        raise HandInError(f"{shown} is not a folder; name the folder that has the hand-ins")
    paths = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    found = [path for path in paths if path.name != MACOS and (path.is_dir() or _suffix(path))]
    if not found:
        raise HandInError(f"{shown} has no hand-ins: files that end in {', '.join(SUFFIXES)}, or folders with one")
    return list(map(Entry, _names(found), found)), [path.name for path in paths if path not in found]


def stem(path: Path) -> str:
    """Return the name without the suffix of a hand-in."""
    return path.name if path.is_dir() else path.name[: len(path.name) - len(_suffix(path))]


def _suffix(path: Path) -> str:
    """Return the suffix of a hand-in or of another archive, or ""."""
    fitting = [each for each in (*SUFFIXES, *OTHER_ARCHIVES) if path.name.lower().endswith(each)]
    return max(fitting, key=len, default="")


def _names(paths: Sequence[Path]) -> list[str]:
    """Return each path's name, without its suffix if unambiguous, in characters valid on every file system.

    A name that is changed, or that another path has too, ends in a digest of the path's name. So does one that looks
    like that: its author may have chosen the name that another one gets.
    """
    stems = Counter(stem(path).lower() for path in paths)
    wanted = [stem(path) if stems[stem(path).lower()] == 1 else path.name for path in paths]
    plain = [re.sub(r"[^\w.@+-]", "_", name, flags=re.ASCII)[:_MOST] for name in wanted]
    same = Counter(name.lower() for name, want in zip(plain, wanted, strict=True) if name == want)
    return [
        name if name == want and same[name.lower()] == 1 and not _DIGEST.search(name) else f"{name}-{_digest(path)}"
        for name, want, path in zip(plain, wanted, paths, strict=True)
    ]


def _digest(path: Path) -> str:
    return hashlib.sha256(path.name.encode("utf-8", "surrogateescape")).hexdigest()[:12]
