"""The site in a browser: nothing comes from elsewhere, axe-core finds nothing, nothing overflows, the search works."""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.browser import SCREEN, violations
from tools.pages import DOCS

PHONE = {"width": 390, "height": 844}
NAMES = "index concepts/mbarriers steps/step07 findings reference/index language glossary".split()
MAIN = [name for name in NAMES if (DOCS / f"{name}.md").exists()]
"""The start, and a page of each kind."""

OVERFLOWING = """() => {
  const boxes = (e) => e && e !== document.body
    && (/auto|scroll|hidden|clip/.test(getComputedStyle(e).overflowX) || boxes(e.parentElement));
  return [...document.querySelectorAll('.md-content *, .md-header *')]
    .filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !boxes(e))
    .map((e) => e.outerHTML.slice(0, 200));
}"""
"""The elements of a page that reach beyond its right edge, except within a box that scrolls or cuts them off."""

NARROW = """() => [...document.querySelectorAll('.md-typeset td, .md-typeset p > img')]
  .filter((e) => e.getBoundingClientRect().width < (e.matches('img') ? 600 : e.textContent.length > 20 ? 80 : 0))
  .map((e) => e.outerHTML.slice(0, 200))"""
"""The cells of sentences, and the pictures, that are narrower than can be read. The smallest texts of a picture have 12
of its 960 units, and so 7.5 pixels at a width of 600."""

SETTLE = """() => document.getAnimations().filter((each) => each instanceof CSSTransition)
  .forEach((each) => each.finish())"""
"""Ends the transitions that a new size of the screen has begun."""

EMPTY = json.dumps({"config": {"lang": ["en"], "separator": r"[\s\-]+", "pipeline": []}, "docs": []})
"""An index of the search in which nothing is found."""


class Quiet(SimpleHTTPRequestHandler):
    """A plain web server that writes no log."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def server(site: Path) -> Iterator[str]:
    """The address of the site on a plain web server of this machine."""
    handler = functools.partial(Quiet, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def go(page: Any, address: str) -> None:
    """Open an address, and wait until the scripts have prepared the page."""
    page.goto(address)
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def without_words(route: Any) -> None:
    """Answer with an empty index."""
    route.fulfill(body=f"var __index = {EMPTY}", content_type="text/javascript")


@pytest.fixture
def show(browser: Any) -> Iterator[Callable[..., Any]]:
    """A function that opens an address. No page may write to the console, raise an error or ask another host.

    search: whether words are found in a folder. Each page of it would read those of all pages, and that takes most of
    its time.
    """
    contexts: list[Any] = []
    wrong: list[str] = []

    def show(address: str, search: bool = False, **options: Any) -> Any:
        context = browser.new_context(**{"viewport": SCREEN, **options})
        contexts.append(context)
        if not search:
            context.route("**/search/search_index.js", without_words)
        page = context.new_page()
        origin = "/".join(address.split("/")[:3]) + "/"
        page.on("console", lambda message: wrong.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on("request", lambda request: request.url.startswith((origin, "data:")) or wrong.append(request.url))
        go(page, address)
        return page

    yield show
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", MAIN)
def test_axe_finds_nothing(
    show: Callable[..., Any], site: Path, server: str, axe: str, name: str, scheme: str
) -> None:
    """The light pages come from a server: some rules fetch style sheets, which a page in a folder may not."""
    page = show(f"{server if scheme == 'light' else site.as_uri()}/{name}.html", color_scheme=scheme)
    expected = "slate" if scheme == "dark" else "default"
    assert page.evaluate("() => document.body.dataset.mdColorScheme") == expected
    assert violations(page, axe, colours=scheme == "dark") == []


def test_nothing_overflows(show: Callable[..., Any], site: Path) -> None:
    """Each page is opened once, because that takes longest, and laid out anew for each screen."""
    pages = sorted(path for path in site.rglob("*.html") if path.name != "404.html")  # that is for the root of a server
    page = show(pages[0].as_uri())
    wide: dict[str, list[str]] = {}
    for path in pages:
        go(page, path.as_uri())
        page.evaluate("() => document.querySelectorAll('details').forEach((each) => { each.open = true; })")
        for screen in (PHONE, SCREEN):
            page.set_viewport_size(screen)
            page.evaluate(SETTLE)
            found = page.evaluate(OVERFLOWING)
            if found or page.evaluate("() => document.documentElement.scrollWidth") > screen["width"]:
                wide[f"{path.relative_to(site).as_posix()} at {screen['width']} pixels"] = found
    assert wide == {}


@pytest.mark.parametrize("name", ["steps/step07", "steps/solutions", "concepts/mbarriers"])
def test_tables_and_pictures_can_be_read_on_a_phone(show: Callable[..., Any], site: Path, name: str) -> None:
    page = show((site / f"{name}.html").as_uri(), viewport=PHONE)
    page.evaluate("() => document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    page.wait_for_function("() => [...document.images].every((each) => each.complete)")
    assert page.evaluate(NARROW) == []
    pictures = page.locator("p:has(> img)[role='region']")
    assert pictures.count() == page.locator("p > img").count()  # the keyboard reaches what scrolls
    if name == "steps/step07":
        assert page.locator("table", has_text="mistake").bounding_box()["width"] <= PHONE["width"]


@pytest.mark.parametrize("source", ["folder", "server"])
def test_the_search_finds_a_word(show: Callable[..., Any], site: Path, server: str, source: str) -> None:
    page = show(f"{server if source == 'server' else site.as_uri()}/index.html", search=True)
    page.keyboard.press("f")
    page.keyboard.type("mbarrier", delay=5)
    page.wait_for_selector(".md-search-result__item")
    assert "matching document" in page.locator(".md-search-result__meta").inner_text()
    page.locator(".md-search-result__link[href*='h=mbarrier']").first.click()
    page.wait_for_function("() => !location.pathname.endsWith('index.html')")
    page.wait_for_selector("mark", state="attached")  # the page's script adds it
    assert page.locator("mark", has_text="mbarrier").count() > 0


def test_the_search_gives_no_hint_and_no_solution_away(site: Path) -> None:
    index = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))
    places = {entry["location"].partition("#")[0] for entry in index["docs"]}
    assert {"concepts/mbarriers.html", "lessons/tir.html", "examples/attention.html"} <= places
    assert (site / "hints").is_dir()
    assert (site / "steps/solutions.html").is_file() and "steps/step05.html" in places
    assert [place for place in places if place.startswith(("hints/", "steps/solutions"))] == []


def test_the_palette_is_switched_and_the_pictures_follow(show: Callable[..., Any], site: Path) -> None:
    page = show((site / "timeline.html").as_uri(), color_scheme="light")
    box = page.locator("img").first.bounding_box()
    before = page.screenshot(clip=box, full_page=True)
    page.locator("label[title='Switch to dark mode']").click()
    assert page.evaluate("() => document.body.dataset.mdColorScheme") == "slate"
    assert page.evaluate("() => getComputedStyle(document.querySelector('img')).colorScheme") == "dark"
    assert page.screenshot(clip=box, full_page=True) != before


def test_the_landing_page_shows_the_line_the_report_and_the_timeline_above_the_fold(
    show: Callable[..., Any], site: Path
) -> None:
    page = show((site / "index.html").as_uri())
    shown = [page.locator("article pre", has_text=words).first for words in ("mbarrier.init(", "error[TX107]")]
    shown.append(page.locator("article img[src*='first-hang']"))
    for each in shown:
        box = each.bounding_box()
        assert box is not None and box["y"] >= 0 and box["y"] + box["height"] <= SCREEN["height"], box
