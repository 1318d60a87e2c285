"""The assignments and their references are the same kernels: a skeleton is its reference with a `...` for each TODO.

Each TODO has its hints, and the last of them, the code, in the place of the `...` makes the skeleton the reference.
"""

from __future__ import annotations

import ast
import difflib
import re
from pathlib import Path

import pytest

from tests.kernels_ref.skeletons import CHOICE, ROOT, SKELETONS, filled_in
from tirx_mini.course import (
    STEPS,
    Shape,
    Todo,
    code_of,
    hints_of,
    kernel_of,
    load_kernels,
    matched,
    places,
    reference_file,
    todos_in,
)
from tools.pages import headings

REFERENCES = ROOT / "kernels_ref"
TEXTS = {arch: path.read_text(encoding="utf-8") for arch, path in SKELETONS.items()}
SHAPES: tuple[tuple[str, int, Shape], ...] = (
    *((arch, step, steps.shape(1024)) for arch in SKELETONS for step, steps in STEPS.items()),
    ("sm90", 10, (2048, 2048, 1024)),  # step 10 has another tile for each of these
    ("sm90", 10, (8192, 8192, 1024)),
    ("sm90", 10, (4096, 14336, 1024)),
)
FIRST_THAT_ASKS = 4
"""From this step on, hint 1 has no line of the reference."""

each_step = pytest.mark.parametrize(("arch", "step"), [(arch, step) for arch in SKELETONS for step in STEPS])


def todos(arch: str, step: int) -> tuple[Todo, ...]:
    return todos_in(TEXTS[arch])[step]


@each_step
def test_a_skeleton_is_its_reference_with_a_hole_for_each_todo(arch: str, step: int) -> None:
    text = reference_file(step, arch).read_text(encoding="utf-8")
    reference, skeleton = (kernel_of(ast.parse(source), step) for source in (text, TEXTS[arch]))
    hole = ast.parse("...").body
    for place in reversed(places(hints_of(step, arch), reference, text.splitlines())):
        place.block[place.first : place.end] = hole
    ours, theirs = (ast.unparse(kernel).splitlines() for kernel in (skeleton, reference))
    assert not list(difflib.unified_diff(ours, theirs, "skeleton", "reference", lineterm=""))


@each_step
def test_every_todo_has_its_hints_in_order(arch: str, step: int) -> None:
    hints, given = hints_of(step, arch), todos(arch, step)
    assert matched(hints, given) == dict(enumerate(given, 1)) and len(hints) == len(given)
    for hint, todo in zip(hints, given, strict=True):
        assert todo.open and todo.text.casefold().startswith(hint.title.casefold())
        assert all(len(text) > 20 for text in hint.texts)
    assert len({hint.title for hint in hints}) == len(hints), "a title stands for one TODO"


@each_step
def test_the_first_hint_does_not_say_the_line_to_type(arch: str, step: int) -> None:
    """The first hint of a later step asks or states a fact, and links to a page; the calls are in the second."""
    for hint in hints_of(step, arch):
        assert "](../../" in hint.texts[0], f"hint 1 of {hint.title!r} has no link"
        if step >= FIRST_THAT_ASKS:
            lines = {line.strip() for line in code_of(hint, hints_of(step, arch), step, arch).splitlines()}
            assert not any(line in hint.texts[0] for line in lines if "(" in line), hint.title


@pytest.mark.parametrize(("arch", "step", "shape"), SHAPES)
def test_a_skeleton_filled_in_by_the_last_hints_is_the_reference(
    arch: str, step: int, shape: Shape, tmp_path: Path
) -> None:
    path = tmp_path / "filled_in.py"
    path.write_text(filled_in(arch, [step]), encoding="utf-8")
    assert not any(todo.open for todo in todos_in(path.read_text(encoding="utf-8"))[step])
    for dtype in ("float16", "bfloat16"):
        mine, theirs = (load_kernels(source, arch)[step](*shape, dtype=dtype) for source in (path, REFERENCES))
        assert mine.script() == theirs.script()


def test_the_depth_of_step_8_is_left_to_its_reader() -> None:
    asked, _ = CHOICE
    assert TEXTS["sm100"].count(asked) == 1 and asked in TEXTS["sm100"].partition("def hgemm_v8(")[2]
    assert "yours to choose" not in TEXTS["sm90"]


@pytest.mark.parametrize("arch", SKELETONS)
def test_a_skeleton_names_the_page_of_each_step_and_no_page_that_does_not_exist(arch: str) -> None:
    pages = {word.strip("().,:").partition("#")[0] for word in TEXTS[arch].split() if "docs/" in word}
    assert {f"docs/steps/step{step:02}.md" for step in STEPS} <= pages
    assert not [page for page in sorted(pages) if not (ROOT / page).is_file()]


@pytest.mark.parametrize("step", STEPS)
def test_each_todo_names_the_sections_of_the_sheet_that_have_its_calls(step: int) -> None:
    anchors = {heading.anchor for heading in headings((ROOT / "docs/calls.md").read_text(encoding="utf-8"))}
    for todo in todos("sm100", step):
        named = re.search(r"\(docs/calls\.md(.*)\)$", todo.text)
        assert named is not None, todo.text
        assert set(re.findall(r"#([\w-]+)", named[1])) <= anchors, todo.text


@pytest.mark.parametrize("step", STEPS)
def test_a_todo_gives_the_goal_and_not_the_calls(step: int) -> None:
    """No TODO has a call with its arguments; the sheet has them."""
    calls = [call for todo in todos("sm100", step) for call in re.findall(r"\b(?:Tx|\w+)\.[\w.]+\([^)]", todo.text)]
    assert calls == []
