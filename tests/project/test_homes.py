"""Ideas that have one home: where their code is, no other file has it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "tirx_mini"

HOMES: dict[str, tuple[str, str]] = {
    "the sizes of warps and warpgroups": (r"^WARP(GROUP)?(_SIZE|_WARPS|S|_THREADS)? *=", "hardware.py"),
    "barriers are inserted": (r"^def insert_barriers\b", "passes/barriers.py"),
    "uses of shared memory since the last barrier": (r"^class _Since\b", "passes/barriers.py"),
    "a pass": (r"^class Pass\b", "ir/passes.py"),
    "a runner of passes": (r"^def run_passes\b", "ir/passes.py"),
    "dtypes as PTX calls them": (r'"float8_e5m2": *"e5m2"', "isa/descriptors.py"),
    "names that are refused when they are used": (r"^class Absent\b", "foreign/absent.py"),
    "programs of other projects are run": (r"\brunpy\.run_path\(", "foreign/scripts.py"),
    "further names of instructions": (r"^class (Alias|Spelling)\b", "isa/alias.py"),
    "instructions as TVM spells them": (r'"name_bar_id": *"', "frontends/tvm/instructions/names.py"),
    "families of instructions": (r"^    def is_atomic\b", "isa/core.py"),
    "equal clusters": (r"^class Equality\b", "sim/plans/equality.py"),
    "a question to the simulator": (r"^class Question\b", "sim/question.py"),
}  # fmt: skip
"""For each idea, a pattern of its code and the file that has it."""


@pytest.mark.parametrize(("pattern", "home"), HOMES.values(), ids=HOMES)
def test_an_idea_has_one_home(pattern: str, home: str) -> None:
    sources = {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    assert [name for name, text in sources.items() if re.search(pattern, text, re.MULTILINE)] == [home]
