"""The book of findings, `docs/findings.md`, with a section and a triggering example for each code."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tirx_mini.records import dataclass
from tirx_mini.resources import resource

_HEADING = re.compile(r"^## (TX\d{3})\b[^\n]*\n", re.MULTILINE)
_BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Example:
    """A fenced block. language: "python" or "diff". info: the remaining words on the fence."""

    language: str
    info: str
    text: str


@dataclass(frozen=True)
class Section:
    """The section of one code: its heading and content, as Markdown."""

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
    """The sections by code, in document order."""

    sections: Mapping[str, Section]

    @staticmethod
    def parse(text: str) -> Book:
        found = list(_HEADING.finditer(text))
        ends = [match.start() for match in found[1:]] + [len(text)]
        sections = [Section(m.group(1), text[m.start() : end].strip()) for m, end in zip(found, ends, strict=True)]
        return Book({section.code: section for section in sections})


def findings_book() -> Book:
    """Return the package's book of findings."""
    return Book.parse(resource("docs/findings.md").read_text(encoding="utf-8"))
