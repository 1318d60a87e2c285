"""docs/language.md: its examples run, and its table of primitives is complete."""

from __future__ import annotations

import importlib.util
import re
import textwrap
from pathlib import Path

import pytest

from tests.tirx_mini.script.reading import PROLOGUE
from tirx_mini.layout import S, TCol, TileLayout, TLane, tid_in_wg
from tirx_mini.passes import lower
from tirx_mini.script import from_source
from tirx_mini.tile import OPS

PAGE = (Path(__file__).parents[3] / "docs" / "language.md").read_text(encoding="utf-8")
LAYOUTS = {"S": S, "TCol": TCol, "TileLayout": TileLayout, "TLane": TLane, "tid_in_wg": tid_in_wg}
TMEM = """
tmem = Tx.decl_buffer((128, 512), "float32", scope="tmem", allocated_addr=tmem_addr[0],
                      layout=TileLayout(S[(128, 512) : (1@TLane, 1@TCol)]))
"""


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_the_module_examples_run(tmp_path: Path) -> None:
    path = tmp_path / "examples.py"
    path.write_text("\n".join(blocks("python")), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("examples", path)
    assert spec is not None and spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


@pytest.mark.parametrize("example", blocks("python kernel"))
def test_a_kernel_example_is_read_and_lowered(example: str) -> None:
    body = TMEM + example.replace("phase: Tx.int32 = 0", "phase = 0")  # the prologue declares it
    lower(from_source(PROLOGUE + textwrap.indent(body, "        "), LAYOUTS))


def test_every_primitive_is_documented() -> None:
    section = PAGE[PAGE.index("## Tile primitives") : PAGE.index("## Instructions")]
    collective = [name for name in OPS if name.startswith(("warp_", "cta_"))]
    assert [name for name in OPS if name not in collective and f"`{name}" not in section] == []


def test_the_page_contains_examples() -> None:
    assert len(blocks("python")) >= 3 and len(blocks("python kernel")) >= 4
