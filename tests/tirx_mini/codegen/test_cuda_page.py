"""docs/cuda.md: the CUDA C++ that it quotes is the CUDA C++ that the references become."""

from __future__ import annotations

import re
from pathlib import Path

from tirx_mini.codegen import cuda_source
from tirx_mini.course import load_kernels
from tirx_mini.passes import lower

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "cuda.md").read_text(encoding="utf-8")


def test_the_excerpt_of_step_7_is_what_is_emitted() -> None:
    """Its parts, between lines of "…", are consecutive lines of the text, in order."""
    (excerpt,) = re.findall(r"^```cuda\n(.*?)^```", PAGE, re.M | re.S)
    parts = [part.strip("\n") + "\n" for part in re.split(r"^ *…$", excerpt, flags=re.M)]
    text = cuda_source(lower(load_kernels(ROOT / "kernels_ref")[7](1024, 1024, 1024)), comments=True).text
    assert len(parts) == 4
    for part in parts:
        before, found, text = text.partition(part)
        assert found and before.endswith("\n"), part


def test_the_patterns_of_the_table_are_emitted() -> None:
    """Code in the right column of "in the kernel, in the text", for the kernels that use the left one."""
    table = PAGE.split("| in the kernel | in the text |")[1].split("\n\n")[0]
    patterns = [code for row in table.splitlines()[2:] for code in re.findall(r"`([^`…]+)`", row.split(" | ")[1])]
    kernels = load_kernels(ROOT / "kernels_ref"), load_kernels(ROOT / "kernels_ref" / "sm90")
    texts = [cuda_source(lower(steps[n](1024, 1024, 1024))).text for steps in kernels for n in (7, 9, 10)]
    assert [pattern for pattern in patterns if not any(pattern in text for text in texts)] == []
    assert len(patterns) > 10
