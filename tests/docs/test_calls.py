"""docs/calls.md: every call of the references is on the sheet, with its keywords, and the sheet has no other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.kernels_ref.skeletons import ROOT

PAGE = (ROOT / "docs/calls.md").read_text(encoding="utf-8")
REFERENCES = [
    path.read_text(encoding="utf-8")
    for ladder in ("sm100", "sm90")
    for path in sorted((ROOT / "kernels_ref" / ladder).glob("step*.py"))
]
OF_PYTHON = {"range", "min", "ceil", "check_shape", "tile_shape"}
GIVEN = {"Tx.kernel", "Tx.prim_func", "Tx.Buffer"}
"""Calls that stand in the skeleton of each step and are never to be written."""
METHODS = re.compile(r"^(?!Tx\b)\w+\.")


def calls(text: str) -> Iterator[tuple[str, frozenset[str]]]:
    """The name and the keywords of each call; of a method, the name alone, as objects have any name."""
    tree = ast.parse(text)
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = METHODS.sub(".", ast.unparse(node.func))
            if name not in own | OF_PYTHON | GIVEN:
                yield name, frozenset(keyword.arg for keyword in node.keywords if keyword.arg)


def on_the_sheet() -> list[tuple[str, frozenset[str]]]:
    """The calls in the code of the page."""
    found: list[tuple[str, frozenset[str]]] = []
    for code in re.findall(r"`([^`]+)`", PAGE):
        text = code.replace("…", "0").replace("\n", " ")
        text = f"{text} pass" if text.startswith("with ") else text
        try:
            found += calls(text)
        except SyntaxError:
            continue
    return found


def test_every_call_of_the_references_is_on_the_sheet() -> None:
    sheet = on_the_sheet()
    for name, keywords in sorted({call for text in REFERENCES for call in calls(text)}, key=str):
        known = [given for each, given in sheet if each == name]
        assert known, f"{name} is not on the sheet"
        assert keywords <= frozenset().union(*known), f"{name} lacks {keywords - frozenset().union(*known)}"


def test_every_call_of_the_sheet_is_one_of_the_references() -> None:
    used: dict[str, set[str]] = {}
    for name, keywords in (call for text in REFERENCES for call in calls(text)):
        used.setdefault(name, set()).update(keywords)
    sheet = [(name, keywords) for name, keywords in on_the_sheet() if name != "f"]
    assert len(sheet) > 50
    for name, keywords in sheet:
        assert name in used, f"no reference calls {name}"
        assert keywords <= used[name] | {"mbar", "cta_group"}, f"{name}: {keywords - used[name]}"
