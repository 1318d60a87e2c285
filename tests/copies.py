"""Copies of folders of the project, with the bytecode that Python keeps there: who imports a copy compiles nothing."""

from __future__ import annotations

import shutil
from pathlib import Path


def copied(source: Path, target: Path, *ignored: str) -> Path:
    """Copy a folder to `target`, which must not be there. ignored: patterns of names that are left out."""
    # Python writes bytecode to NAME.pyc.NUMBER and renames it: that file may be gone before it is copied.
    return Path(shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.pyc.*", *ignored)))
