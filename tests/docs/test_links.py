"""Every link of a page leads somewhere: to a file of the repository, to a heading of a page, to a https address."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tools.pages import DOCS, ROOT, Heading, headings, links

PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(DOCS.rglob("*.md")),
    *sorted(ROOT.glob("slides/*.md")),
]


@cache
def headings_of(path: Path) -> list[Heading]:
    return headings(path.read_text(encoding="utf-8"))


def problem(page: Path, target: str) -> str:
    """What is wrong with a link of a page; "" if nothing is."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return "" if parts.scheme == "https" and "." in parts.netloc else "not https"
    path = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if not path.is_relative_to(ROOT):
        return "outside the repository"
    if not path.exists():
        return "no such file"
    if not parts.fragment:
        return ""
    if path.suffix != ".md":
        return "a fragment of a file that is no page"
    found = [heading for heading in headings_of(path) if heading.anchor == parts.fragment]
    if not found:
        return "no such heading"
    return "one of several headings of this text, which the site numbers otherwise" if found[0].repeated else ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    wrong = [f"line {link.line}: {link.target}: {why}" for link in links(text) if (why := problem(page, link.target))]
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pictures_have_words(page: Path) -> None:
    short = [link.target for link in links(page.read_text(encoding="utf-8")) if link.image and len(link.text) < 20]
    assert short == []


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("docs/clock.md#two-times", ""),
        ("https://docs.nvidia.com/cuda", ""),
        ("http://docs.nvidia.com", "not https"),
        ("docs/clock.md#three-times", "no such heading"),
        ("docs/nothing.md", "no such file"),
        ("../else.md", "outside the repository"),
        ("utils.py#L3", "a fragment of a file that is no page"),
    ],
)
def test_a_dead_link_is_seen(target: str, why: str) -> None:
    assert problem(ROOT / "README.md", target) == why
