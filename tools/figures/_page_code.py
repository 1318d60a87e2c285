"""The Python blocks of a page as a module: a picture of a run is one of the kernel that its page shows."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

from tirx_mini.course import load_module
from tools import pages
from tools.figures import DOCS


def blocks(page: str) -> list[str]:
    """The Python blocks of a page that run, given by its path under `docs/`: without those that a comment marks."""
    every = pages.blocks((DOCS / page).read_text(encoding="utf-8"))
    return [block.text for block in every if block.language == "python" and not block.mark]


def code_of(page: str, name: str = "") -> ModuleType:
    """The Python blocks of a page up to the one that defines the function `name`, executed; by default the first."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "page.py"
        found = blocks(page)
        last = next(at for at, block in enumerate(found) if not name or f"def {name}(" in block)
        path.write_text("\n".join(found[: last + 1]), encoding="utf-8")
        return load_module(path)
