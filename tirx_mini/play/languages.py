"""Files of other projects' languages, whose kernels a launch describes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from tirx_mini.course import LaunchedFiles, launched_with

from .findings import Data

LANGUAGES: Mapping[str, str] = MappingProxyType({".cu": "CUDA C++", ".ptx": "PTX"})
"""The names of these languages, by the suffix of a file."""


def language_at(path: Path) -> str:
    """Return the language of a file whose kernels a launch describes; "" for any other file."""
    return LANGUAGES.get(path.suffix, "") if launched_with(str(path)) is not None else ""


def programs_at(path: Path) -> LaunchedFiles:
    """Return the front end for such a file."""
    programs = launched_with(str(path))
    assert programs is not None
    return programs


def kernels_of(path: Path, text: str) -> list[Data]:
    """Return the kernels of a text as the page receives them."""
    return [
        {"name": each.name, "step": None, "line": each.line, "title": each.name, "written": True, "sizes": None,
         "free": "", "parameters": each.parameters, "template": each.template}
        for each in programs_at(path).kernels(path.name, text)
    ]  # fmt: skip
