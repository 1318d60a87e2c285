"""The slides as `make slides` builds them, in a browser. They need `npm ci` in `slides/`, as tests/browser.py says."""

from __future__ import annotations

import contextlib
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser import SCREEN, missing
from tools import slides

FITS = """(section) => {
  const page = section.getBoundingClientRect();
  return [...section.querySelectorAll('*')].filter((each) => {
    const box = each.getBoundingClientRect();
    return box.left < page.left - 1 || box.right > page.right + 1 || box.top < page.top - 1
      || box.bottom > page.bottom - (each.closest('header') ? 0 : 40) * page.height / 720
      || (each.tagName === 'PRE' && each.firstChild.scrollWidth > each.firstChild.clientWidth + 1);
  }).map((each) => each.outerHTML.slice(0, 120));
}"""
"""The elements of a slide that reach beyond it, or into the line of the page number."""

SMALL = """(section) => [...section.querySelectorAll('*')]
  .filter((each) => [...each.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim()))
  .filter((each) => parseFloat(getComputedStyle(each).fontSize) < 19.5)
  .map((each) => each.outerHTML.slice(0, 120))"""
"""The elements whose own text is smaller than 20 px."""

PICTURES = """(section) => [...section.querySelectorAll('img')]
  .map((each) => [each.alt, each.naturalWidth, Math.min(each.clientWidth / each.naturalWidth,
    each.clientHeight / each.naturalHeight)])"""
"""For each picture of a slide: its text, its width (0 if it does not load), and its scale."""


@pytest.fixture(scope="module")
def deck(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The deck as HTML."""
    if not slides.MARP.exists():
        missing("npm ci in slides")
    return slides.render(slides.deck(slides.sources()), tmp_path_factory.mktemp("slides"), ("html",))[0]


@pytest.fixture(scope="module")
def page(browser: Any, deck: Path) -> Iterator[Any]:
    """The deck in a browser with a dark palette, which it does not follow. `page.wrong`: messages and requests."""
    context = browser.new_context(viewport=SCREEN, color_scheme="dark")
    page = context.new_page()
    page.wrong = []
    page.on("console", lambda message: page.wrong.append(f"console: {message.text}"))
    page.on("pageerror", lambda error: page.wrong.append(f"error: {error}"))
    page.on("request", lambda request: request.url.startswith(("file:", "data:")) or page.wrong.append(request.url))
    page.goto(deck.as_uri())
    page.emulate_media(media="print")  # all slides, one below the other
    page.evaluate("() => Promise.all([...document.images].map((each) => each.decode().catch(() => null)))")
    yield page
    context.close()


def on_each(page: Any, script: str) -> dict[str, Any]:
    """What a script finds on each slide, by the slide's number."""
    return page.evaluate(
        f"() => Object.fromEntries([...document.querySelectorAll('section')].map((s, i) => [i + 1, ({script})(s)]))"
    )


def test_every_slide_fits(page: Any) -> None:
    assert {number: found for number, found in on_each(page, FITS).items() if found} == {}


def test_no_text_is_smaller_than_20_pixels(page: Any) -> None:
    assert {number: found for number, found in on_each(page, SMALL).items() if found} == {}


def test_every_picture_loads_and_is_large(page: Any) -> None:
    found = [each for pictures in on_each(page, PICTURES).values() for each in pictures]
    sources = "".join(slides.sources().values())
    assert len(found) == sources.count("![") > 10
    assert [each for each in found if not each[0] or not each[1] or each[2] < 0.9] == []


def test_the_page_is_quiet_and_asks_for_nothing(page: Any) -> None:
    page.keyboard.press("End")
    assert page.wrong == []


def test_every_slide_has_notes(page: Any) -> None:
    notes = page.evaluate("() => [...document.querySelectorAll('.bespoke-marp-note')].map((e) => e.textContent.trim())")
    assert len(notes) == page.locator("section").count() > 40
    assert [number for number, text in enumerate(notes, 1) if len(text) < 40] == []


def test_nothing_is_left_to_put_in(deck: Path) -> None:
    text = deck.read_text(encoding="utf-8")
    assert re.findall(r"\{\{[^}]*\}\}|<!-- (?:code|figures|table|output|quote)\b|\.\./docs/", text) == []
    assert [each for each in re.findall(r'href="([^"]*)"', text) if not each.startswith(("https:", "#"))] == []


def test_the_pdf_has_a_page_for_each_slide(deck: Path, browser: Any, tmp_path: Path) -> None:
    """Two slides stand for the deck, whose PDF takes long. `deck` and `browser`: Marp and a browser are there."""
    html, pdf = slides.render(slides.FRONT + "\n# One\n\n---\n\n# Two\n", tmp_path)
    assert "One" in html.read_text(encoding="utf-8")
    data = pdf.read_bytes()
    streams = [data]
    for match in re.finditer(rb"stream\r?\n", data):
        with contextlib.suppress(zlib.error):  # a stream that is not compressed
            streams.append(zlib.decompressobj().decompress(data[match.end() :]))
    pages = [page for stream in streams for page in re.findall(rb"/Type\s*/Page\b", stream)]
    assert data.startswith(b"%PDF") and len(pages) == 2
