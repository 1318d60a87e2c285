"""The Python blocks of a page as a module: a picture of a run is one of the kernel that its page shows."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

from tirx_mini.course import load_module
from tools.figures import DOCS

_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(page: str) -> list[str]:
    """The Python blocks of a page, given by its path under `docs/`."""
    return _BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))


def code_of(page: str, count: int = 1) -> ModuleType:
    """The first `count` Python blocks of a page, executed."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "page.py"
        path.write_text("\n".join(blocks(page)[:count]), encoding="utf-8")
        return load_module(path)
