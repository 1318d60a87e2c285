"""Pages say the same on GitHub and on the site: the same text, lists, tables, code, pictures, anchors."""

from __future__ import annotations

from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tools.pages import DOCS, headings

PAGES = [path.relative_to(DOCS).as_posix() for path in sorted(DOCS.rglob("*.md"))]
COUNTED = {"blockquote", "details", "h1", "h2", "h3", "h4", "img", "li", "ol", "ul", "pre", "table", "td", "th", "tr"}


class Reader(HTMLParser):
    """The text and the elements of the article of a page, or of a whole text without one."""

    def __init__(self, article: bool) -> None:
        super().__init__()
        self.inside = not article
        self.words: list[str] = []
        self.elements = Counter[str]()
        self.anchors: list[str] = []
        self._hidden = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        options = dict(attrs)
        if tag == "article":
            self.inside = True
        if not self.inside or self._hidden:
            return
        if "headerlink" in (options.get("class") or ""):
            self._hidden = tag
        if tag in COUNTED:
            self.elements[tag] += 1
        if tag[0] == "h" and tag[1:].isdigit() and options.get("id"):
            self.anchors.append(options["id"] or "")

    def handle_endtag(self, tag: str) -> None:
        if tag == "article":
            self.inside = False
        if tag == self._hidden:
            self._hidden = ""

    def handle_data(self, data: str) -> None:
        if self.inside and not self._hidden:
            self.words += data.split()


def read(html: str, article: bool) -> Reader:
    reader = Reader(article)
    reader.feed(html)
    return reader


@pytest.mark.parametrize("page", PAGES)
def test_a_page_reads_alike(page: str, site: Path) -> None:
    source = (DOCS / page).read_text(encoding="utf-8")
    there = read(MarkdownIt("commonmark").enable("table").render(source), article=False)
    here = read((site / page).with_suffix(".html").read_text(encoding="utf-8"), article=True)
    assert "".join(here.words) == "".join(there.words)
    assert here.elements == there.elements


@pytest.mark.parametrize("page", PAGES)
def test_anchors_are_those_of_github(page: str, site: Path) -> None:
    """Those of the first heading of each text; no link may lead to another (tests/docs/test_links.py)."""
    expected = headings((DOCS / page).read_text(encoding="utf-8"))
    here = read((site / page).with_suffix(".html").read_text(encoding="utf-8"), article=True)
    assert len(here.anchors) == len(expected)
    assert {heading.anchor for heading in expected if not heading.repeated} <= set(here.anchors)
