"""What the Python blocks of a concept page print is what the page shows: each `text` block that follows one."""

from __future__ import annotations

import contextlib
import io
import linecache
from itertools import pairwise
from pathlib import Path

import pytest

from tools.pages import DOCS, blocks

PAGES = ("memory", "warps", "shared-memory", "tensor-memory", "clusters", "persistence", "roofline")


@pytest.mark.parametrize("name", PAGES)
def test_the_output_on_the_page_is_printed(name: str, tmp_path: Path) -> None:
    found = [block for block in blocks((DOCS / f"concepts/{name}.md").read_text(encoding="utf-8")) if not block.mark]
    after = {block.line: following for block, following in pairwise(found) if following.language == "text"}
    namespace: dict[str, object] = {"__name__": "page"}
    compared = 0
    for block in found:
        if block.language != "python":
            continue
        path = tmp_path / f"line{block.line}.py"
        path.write_text(block.text, encoding="utf-8")
        linecache.checkcache(str(path))
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block.text, path, "exec"), namespace)
        if printed.getvalue():
            assert after[block.line].text.strip() == printed.getvalue().strip()
            compared += 1
    assert compared
