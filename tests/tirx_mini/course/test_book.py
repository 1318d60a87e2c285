"""docs/findings.md: every code has a section, and the example of every section leads to its code."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from tests.kernels_ref.edits import ROOT, SHAPES, SMS
from tirx_mini.course import Example, check_kernel, findings_book, load_kernels, load_module
from tirx_mini.diagnose import Finding, codes, failed
from tirx_mini.frontends.ptx.cuda import read_cuda
from tirx_mini.ir import PrimFunc, TirxError

BOOK = findings_book()
PRELUDE = """\
from tirx_mini.lang import MBarrier, TMABar
from tirx_mini.layout import SwizzleMode, tma_shared_layout
from tirx_mini.script import tirx as Tx
"""

UNREACHED = {"TX304", "TX312"}
"""What the compiler refuses, or provides for, before the simulator could find it; tests/tirx_mini/sim finds it."""


POSSIBLE = {
    *("TX201", "TX202", "TX203", "TX204", "TX205", "TX206", "TX209", "TX211", "TX212", "TX213", "TX214", "TX215"),
    *("TX217", "TX218", "TX314"),
}  # fmt: skip
"""Codes whose example goes right in the run, and wrong in another order."""


def option(example: Example, name: str, default: str) -> str:
    match = re.search(rf"\b{name}=(\w+)", example.info)
    return match.group(1) if match else default


def edited(text: str, diff: str, gone: str = "-", new: str = "+") -> str:
    """`text` with each hunk's `gone` lines replaced by its `new` lines, wherever they stand and however deep."""
    lines = text.splitlines()
    for hunk in diff.split("@@\n"):
        old = [line[1:] for line in hunk.splitlines() if line[:1] != new]
        wanted = [line.strip() for line in old]
        places = [i for i in range(len(lines)) if [line.strip() for line in lines[i : i + len(old)]] == wanted]
        assert len(places) == 1, f"the hunk stands {len(places)} times in the text:\n{hunk}"
        (place,) = places
        indent = " " * (len(lines[place]) - len(lines[place].lstrip()) - (len(old[0]) - len(old[0].lstrip())))
        kept = iter(lines[place : place + len(old)])
        made: list[str] = []
        for line in hunk.splitlines():
            source = next(kept) if line[:1] != new else indent + line[1:]
            made += [source] if line[:1] != gone else []
        lines[place : place + len(old)] = made
    return "\n".join(lines) + "\n"


def kernel_of(example: Example, folder: Path) -> PrimFunc:
    path = folder / "example.py"
    if example.language == "python":
        path.write_text(PRELUDE + example.text, encoding="utf-8")
        return load_module(path).kernel
    step = int(option(example, "step", ""))
    text = edited(reference_of(example), example.text, gone="+", new="-")
    path.write_text(re.sub(r"(?m)^SM_COUNT = \d+$", f"SM_COUNT = {SMS}", text), encoding="utf-8")
    return load_kernels(path)[step](*SHAPES[step])


def reference_of(example: Example) -> str:
    """The reference that a diff leads to."""
    step, arch = int(option(example, "step", "")), option(example, "arch", "sm100")
    (path,) = (ROOT / "kernels_ref" / arch).glob(f"step{step:02}_*.py")
    return path.read_text(encoding="utf-8")


def found(example: Example, folder: Path) -> list[Finding]:
    """What is found in an example, worst first."""
    if example.language == "cuda":
        return list(read_cuda(example.text).entry().simulate([np.zeros(32, np.int32)], grid=1, block=32).findings)
    try:
        kernel = kernel_of(example, folder)
    except TirxError as error:
        return list(failed("example", error, "B200").findings)
    checked = check_kernel(kernel, gpu=option(example, "gpu", "b200"))
    return [*checked.report.findings, *([checked.wrong] if checked.wrong else [])]


def test_every_code_has_a_section_and_every_section_a_code() -> None:
    assert tuple(BOOK.sections) == codes()


def test_the_sections_without_an_example_are_those_that_the_compiler_comes_before() -> None:
    assert {code for code, section in BOOK.sections.items() if not section.examples} == UNREACHED


def needs_compiler(code: str) -> bool:
    return any(example.language == "cuda" for example in BOOK.sections[code].examples)


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(code, marks=[pytest.mark.compiler] if needs_compiler(code) else [])
        for code in codes() if code not in UNREACHED
    ],
)  # fmt: skip
def test_the_example_of_a_section_leads_to_its_code(code: str, tmp_path: Path) -> None:
    (example,) = BOOK.sections[code].examples
    findings = found(example, tmp_path)
    assert findings and findings[0].code == code, "\n".join(f"{f.code}: {f.diagnostic.render()}" for f in findings)
    assert findings[0].happened is (code not in POSSIBLE), findings[0].order


def test_a_diff_is_a_fix_that_one_applies() -> None:
    """Undone in the reference and applied again, each gives the reference: its `+` lines are right, its place plain."""
    examples = [example for section in BOOK.sections.values() for example in section.examples]
    diffs = [example for example in examples if example.language == "diff"]
    assert len(diffs) > 50
    for diff in diffs:
        reference = reference_of(diff)
        mistaken = edited(reference, diff.text, gone="+", new="-")
        assert mistaken != reference
        assert edited(mistaken, diff.text) == reference, diff.text


@pytest.mark.parametrize("code", codes())
def test_a_section_says_how_to_fix_it(code: str) -> None:
    section = BOOK.sections[code]
    assert "**Fix.**" in section.text and section.title.startswith(code)
    assert max(map(len, section.text.splitlines())) <= 121
