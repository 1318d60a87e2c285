"""The package's non-code files: references, the book of findings, hints, tables, `utils`.

In a checkout they are where readers look for them, beside the package: `kernels_ref/`, `docs/`, `utils.py`. A wheel has
copies of them inside the package, in the folder `DATA`, at the same paths below it; setup.py puts them there.
"""

from __future__ import annotations

from pathlib import Path

DATA = "_data"


def resource_root() -> Path:
    """Return the root folder of the files: `DATA` of an installed package, else the root of the checkout."""
    package = Path(__file__).resolve().parent
    data = package / DATA
    return data if data.is_dir() else package.parent


def resource(path: str) -> Path:
    """Return a file or folder by its path in a checkout, as in "docs/findings.md". It need not exist."""
    return resource_root() / path
