"""The version of the judge, covering all inputs of results except the kernel and the rules."""

from __future__ import annotations

import hashlib
import importlib
import platform
from functools import cache
from pathlib import Path

import ml_dtypes
import numpy as np

from tirx_mini.resources import resource

SUFFIXES = frozenset((".py", ".toml"))


@cache
def kit_version() -> str:
    """Return the version of the package, and a digest of its sources, of the references and of its numerical libraries.
    """
    package = importlib.import_module("tirx_mini")
    root = Path(str(package.__file__)).parent
    digest = hashlib.sha256(repr([np.__version__, ml_dtypes.__version__, platform.python_version()]).encode())
    for folder in (root, resource("kernels_ref")):
        for path in sorted(path for path in folder.rglob("*") if path.suffix in SUFFIXES):
            content = path.read_bytes()
            digest.update(f"\0{path.relative_to(folder)}\0{len(content)}\0".encode())
            digest.update(content)
    return f"{package.__version__}-{digest.hexdigest()[:16]}"
