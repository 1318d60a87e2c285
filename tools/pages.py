"""Reading the project's Markdown pages as GitHub does: headings and their anchors, links, code blocks and their marks.

A page is CommonMark with tables. Line numbers count from 1. A block's marks are HTML comments above it, a line each:
`<!-- not run: why -->`, `<!-- fails: why -->`, `<!-- solved -->`, `<!-- output -->`, `<!-- environment -->`, and beside
any of these `<!-- needs: EXTRA -->`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

_COMMENT = re.compile(r"<!--\s*(.*?)\s*-->")
_DROPPED = re.compile(r"[^\w\- ]")
_MARK = re.compile(r"(not run|fails|solved|output|environment|needs)(?::\s*(.+))?$")


@dataclass(frozen=True)
class Heading:
    """A heading. level: 1 to 6. anchor: its fragment on GitHub. repeated: whether another of its text comes before."""

    line: int
    level: int
    text: str
    anchor: str
    repeated: bool = False


@dataclass(frozen=True)
class Link:
    """A link or an image. line: where its paragraph starts."""

    line: int
    text: str
    target: str
    image: bool


@dataclass(frozen=True)
class Block:
    """A fenced code block. info: the words after the fence. mark, why: those of the comment above it, or "".

    generated: whether it stands in a passage that `make figures` fills in. needs: the extra that it cannot run without,
    or "".
    """

    line: int
    info: str
    text: str
    mark: str
    why: str
    generated: bool = False
    needs: str = ""

    @property
    def language(self) -> str:
        """The first word of the info string."""
        return self.info.split()[0] if self.info.split() else ""


def slug(text: str) -> str:
    """The anchor that GitHub gives a heading of this text, if it is the first of its page."""
    return _DROPPED.sub("", text.strip().lower()).replace(" ", "-")


def parsed(page: str) -> list[Token]:
    """The blocks of a page, by a parser of CommonMark with tables."""
    return MarkdownIt("commonmark").enable("table").parse(page)


def plain(token: Token) -> str:
    """The text of an inline token, without its markup."""
    return "".join(child.content for child in token.children or () if child.type in ("text", "code_inline"))


def headings(page: str) -> list[Heading]:
    """The headings of a page. The second of the same text has "-1" after its anchor, the third "-2"."""
    tokens, seen, found = parsed(page), Counter[str](), list[Heading]()
    for token, inline in pairwise(tokens):
        if token.type != "heading_open":
            continue
        text = plain(inline)
        anchor = slug(text)
        count = seen[anchor]
        seen[anchor] += 1
        unique = f"{anchor}-{count}" if count else anchor
        found.append(Heading(_line(token), int(token.tag[1]), text, unique, count > 0))
    return found


def links(page: str) -> Iterator[Link]:
    """The links and images of a page, in order; not those in code."""
    for token in parsed(page):
        children = token.children or []
        for place, child in enumerate(children):
            if child.type == "link_open":
                text = "".join(each.content for each in children[place + 1 : _closing(children, place)])
                yield Link(_line(token), text, str(child.attrs["href"]), False)
            elif child.type == "image":
                yield Link(_line(token), child.content, str(child.attrs["src"]), True)


def blocks(page: str) -> list[Block]:
    """The fenced code blocks of a page, in order."""
    lines, found = page.splitlines(), list[Block]()
    for token in parsed(page):
        if token.type != "fence":
            continue
        number = _line(token)
        marks = dict(_marks(lines[: number - 1]))
        needs = marks.pop("needs", "")
        mark, why = next(iter(marks.items()), ("", ""))
        before = "\n".join(lines[: number - 1])
        generated = before.count("<!-- figures: ") > before.count("<!-- /figures -->")
        found.append(Block(number, token.info.strip(), token.content, mark, why, generated, needs))
    return found


def _marks(before: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The marks, each with what follows its colon, that end these lines; the last one first."""
    for line in filter(None, map(str.strip, reversed(before))):
        comment = _COMMENT.fullmatch(line)
        match = _MARK.match(comment[1]) if comment else None
        if match is None:
            return
        yield match[1], match[2] or ""


def as_table(rows: Iterable[Sequence[str]]) -> str:
    """A table of these rows, the first the head, the second its rule."""
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _line(token: Token) -> int:
    assert token.map is not None
    return token.map[0] + 1


def _closing(children: list[Token], opening: int) -> int:
    """The index of the token that closes the link opened at `opening`; links do not nest."""
    return next(i for i in range(opening, len(children)) if children[i].type == "link_close")
