"""How this process was started, and the folder that `python -m` looks for modules in before any other.

That folder is the working directory, which may have files of others: hand-ins. So this module imports nothing that
Python has not imported already when it starts.
"""

from __future__ import annotations

import os
import sys

_NAME = "tirx_mini"


def as_module() -> bool:
    """Return whether this process is ``python -m tirx_mini``."""
    words = sys.orig_argv
    after = words[words.index("-m") + 1 :] if "-m" in words else []
    return after[:1] == [_NAME] or f"-m{_NAME}" in words


def forget_working_directory() -> None:
    """Let ``python -m tirx_mini`` import nothing from the working directory, unless tirx_mini itself is there."""
    if as_module() and sys.path and _foreign(sys.path[0]):
        del sys.path[0]


def shadows() -> list[str]:
    """The files and folders of the working directory that are called as a module which Python finds elsewhere."""
    from importlib.util import find_spec

    if not _foreign(os.curdir):
        return []
    found = []
    for entry in sorted(os.scandir(), key=lambda entry: entry.name):
        name, _, suffix = entry.name.partition(".")
        module = entry.is_dir() if not suffix else suffix.rpartition(".")[2] in ("py", "pyc", "so", "pyd")
        if module and name.isidentifier() and find_spec(name) is not None:
            found.append(entry.name)
    return found


def _foreign(folder: str) -> bool:
    """Return whether a folder is the working directory, and not that of tirx_mini."""
    here, package = os.path.realpath(os.curdir), os.path.dirname(os.path.realpath(__file__))
    return os.path.realpath(folder or os.curdir) == here != os.path.dirname(package)
