"""The start of this process, and the folder that `python -m` searches first for modules.

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
    """Exclude the working directory from the imports of ``python -m tirx_mini``, unless it contains tirx_mini."""
    if as_module() and sys.path and _foreign(sys.path[0]):
        del sys.path[0]


def shadows() -> list[str]:
    """Return the files and folders of the working directory that shadow a module elsewhere."""
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
    """Return whether a folder is the working directory, and does not contain tirx_mini."""
    here, package = os.path.realpath(os.curdir), os.path.dirname(os.path.realpath(__file__))
    return os.path.realpath(folder or os.curdir) == here != os.path.dirname(package)
