"""Open TODOs of a text: the reference's code stands for them as in `check`, and no page quotes it."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path

from tirx_mini.course import Filled, filling_of
from tirx_mini.records import replace
from tirx_mini.resources import resource

from .findings import Data


def course_missing() -> str:
    """Return the sentence on the course's material where it is missing; "" where it is there."""
    if resource("docs/hints").is_dir() and resource("kernels_ref").is_dir():
        return ""
    return "this installation lacks the references and the hints: run it from a checkout, or install the whole package"


def filled_in(text: str, file: str, kernel: str) -> Filled | None:
    """Return the fill-in for a kernel of a text. file: the name of its file."""
    return None if course_missing() else filling_of(text, Path(file), kernel)


def codes_of(filled: Filled | None) -> Mapping[int, str]:
    """Return the statements of a fill-in as text, by the line of the `...`."""
    by_line = {} if filled is None else filled.by_line
    return {line: ast.unparse(ast.Module(list(each.statements), [])) for line, each in by_line.items()}


def without_code(filled: Filled | None) -> Filled | None:
    """Return a fill-in without its statements."""
    return None if filled is None else replace(filled, by_line={})


def told(finding: Data, filled: Filled | None) -> Data:
    """Return a refusal with the TODO at its line named, if the reference's code stands there."""
    note = None if filled is None or finding["where"] else filled.note(finding["line"])
    if note is None:
        return finding
    return {**finding, "related": [*finding["related"], {"line": finding["line"], "where": "", "text": note}]}


def stages_withheld(filled: Filled) -> str:
    """Return the sentence in the place of a stage, which would show the reference's code."""
    return f"{filled}. The stages would show that code: they are shown once all TODOs are filled in."
