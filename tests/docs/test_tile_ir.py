"""docs/tile_ir.md names everything that programs can use."""

from __future__ import annotations

import re
from pathlib import Path

from tirx_mini.tile_ir import ct

PAGE = re.sub(r"(?ms)^```.*?^```$", "", (Path(__file__).parents[2] / "docs/tile_ir.md").read_text(encoding="utf-8"))


def test_every_name_stands_on_the_page() -> None:
    written = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", PAGE))))
    assert sorted(set(dir(ct)) - written) == []
