"""`docs/findings.md`: a section for each code, with an example that leads to it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_HEADING = re.compile(r"^## (TX\d{3})\b[^\n]*\n", re.MULTILINE)
_BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Example:
    """A fenced block. language: "python" or "diff". info: what follows it on the fence."""

    language: str
    info: str
    text: str


@dataclass(frozen=True)
class Section:
    """One code: its heading and all below it, as Markdown."""

    code: str
    text: str

    @property
    def title(self) -> str:
        return self.text.partition("\n")[0].removeprefix("## ")

    @property
    def examples(self) -> tuple[Example, ...]:
        return tuple(Example(language, info.strip(), text) for language, info, text in _BLOCK.findall(self.text))


@dataclass(frozen=True)
class Book:
    """The sections by code, in their order."""

    sections: Mapping[str, Section]

    @staticmethod
    def parse(text: str) -> Book:
        found = list(_HEADING.finditer(text))
        ends = [match.start() for match in found[1:]] + [len(text)]
        sections = [Section(m.group(1), text[m.start() : end].strip()) for m, end in zip(found, ends, strict=True)]
        return Book({section.code: section for section in sections})


def find_book() -> Path | None:
    """`docs/findings.md` of the project that the package is in; None where it was installed without its documents."""
    path = Path(__file__).parents[2] / "docs" / "findings.md"
    return path if path.is_file() else None
