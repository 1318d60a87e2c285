"""The site's navigation, and what its pages change of those that GitHub shows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from markdown import Markdown

from tools.mkdocs_hooks import BESIDE, TwoSpaces, listed, navigation, rewritten, with_terms
from tools.pages import DOCS, ROOT

PRESENT = {"index.md", "h100.csv", "steps/step01.md", "steps/step02.md"}


def site(text: str, **options: str) -> str:
    return rewritten(text, "steps/step01.md", PRESENT, **options).rstrip("\n")


def test_the_navigation_has_the_pages_that_exist_in_order() -> None:
    pages = {"steps/step02.md", "index.md", "steps/step01.md", "steps/zeta.md", "concepts/warps.md", "guide/zeta.md"}
    assert navigation(pages) == [
        {"Start": "index.md"},
        {"Course": ["steps/step01.md", "concepts/warps.md", "steps/step02.md", "steps/zeta.md"]},
        {"Guide": ["guide/zeta.md"]},
    ]


def test_every_page_has_a_place() -> None:
    beside_the_folders = {path.name for path in DOCS.glob("*.md")}
    concepts = {path.relative_to(DOCS).as_posix() for path in DOCS.glob("concepts/*.md")}
    assert beside_the_folders | concepts <= listed()
    assert {page for page in listed() - set(BESIDE) if not (DOCS / page).exists()} == set()
    assert set(BESIDE) <= listed() and all((ROOT / source).exists() for source in BESIDE.values())


def test_links_within_the_pages_stay() -> None:
    for link in ("[a](step02.md#b)", "![a](../h100.csv)", "[a](#b)", "[a](https://x.org/a_(b))", "[a](dead.md)"):
        assert site(link) == link


def test_lessons_elsewhere_in_the_repository_are_pages_and_their_links_lead_to_pages() -> None:
    present = PRESENT | {"lessons/tir.md", "examples/attention.md"}
    start = rewritten("[a](../lessons/tir.md#b), [c](../examples/attention/README.md)", "index.md", present)
    assert start == "[a](lessons/tir.md#b), [c](examples/attention.md)\n"
    lesson = rewritten("[a](../docs/steps/step01.md#b), [c](../README.md)", "lessons/tir.md", present)
    assert lesson == "[a](../steps/step01.md#b), c\n"
    example = rewritten("[a](../../docs/index.md), [b](run.py)", "examples/attention.md", present)
    assert example == "[a](../index.md), b\n"


def test_a_link_to_a_file_of_the_repository_is_text_or_leads_there() -> None:
    link = "see [`lang`](../../tirx_mini/lang/__init__.py) now"
    assert site(link) == "see `lang` now"
    there = "https://x.org/r/blob/main/tirx_mini/lang/__init__.py"
    assert site(link, repository="https://x.org/r/") == f"see [`lang`]({there}) now"


def test_a_link_to_a_page_that_is_listed_and_not_there_is_text() -> None:
    assert site("see [warps](../concepts/warps.md#elect)") == "see warps"


def test_a_list_needs_no_blank_line_before_it() -> None:
    assert site("Two:\n- a\n  b\n- c\n\nNo - list") == "Two:\n\n- a\n  b\n- c\n\nNo - list"
    assert site("1 mod\n2. Then") == "1 mod\n2. Then"


def test_lists_nest_by_two_spaces() -> None:
    html = Markdown(extensions=[TwoSpaces(), "sane_lists"]).convert("- a\n  - b\n- c\n\n1. d\n   e\n")
    assert "".join(html.split()) == "<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul><ol><li>de</li></ol>"


def test_code_stays_and_its_info_string_is_its_language() -> None:
    text = "```diff step=7\n- [a](../../x.py)\n- b\n```\n````text\n```sh a\n````\n```\nx\n```"
    assert site(text) == text.replace(" step=7", "").replace("```\nx", "```text\nx")


def test_a_link_to_a_term_carries_what_the_term_means() -> None:
    terms = {"tma": 'The "engine" of an SM.'}
    said = '<a data-term="The &quot;engine&quot; of an SM." href="../glossary.html#tma">TMA</a>'
    assert with_terms('<a href="../glossary.html#tma">TMA</a>', terms) == said
    for other in ('<a href="../glossary.html#unknown">', '<a href="../glossary.html">', '<a href="x.html#tma">'):
        assert with_terms(other, terms) == other


LINKS = """<!doctype html><meta charset="utf-8"><title>Terms</title><style>{style} body {{ margin: 40px }}</style>
<p>Before <a data-term="The engine of an SM." href="#there" id="first">TMA</a> and
<a data-term="A barrier in shared memory." href="#there" id="second">mbarrier</a>.</p>
<p style="margin-top:2000px" id="there">There</p><script>{script}</script>"""


@pytest.fixture
def terms_page(browser: Any, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Any]:
    assets = [(DOCS / "assets" / name).read_text(encoding="utf-8") for name in ("site.css", "site.js")]
    path = tmp_path / "terms.html"
    path.write_text(LINKS.format(style=assets[0], script=assets[1]), encoding="utf-8")
    context = browser.new_context(viewport={"width": 390, "height": 700}, has_touch=request.param)
    page = context.new_page()
    page.goto(path.as_uri())
    yield page
    context.close()


def note(page: Any) -> str | None:
    """The text that is shown, which its link names as its description."""
    shown = page.locator("#term-note")
    if not shown.is_visible():
        assert page.locator("[aria-describedby]").count() == 0
        return None
    assert page.locator("[aria-describedby=term-note]").get_attribute("data-term") == shown.inner_text()
    box = shown.bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 390
    return shown.inner_text()


@pytest.mark.parametrize("terms_page", [False], indirect=True)
def test_a_term_is_explained_on_hover_and_on_focus_until_escape(terms_page: Any) -> None:
    page = terms_page
    assert note(page) is None
    page.hover("#first")
    assert note(page) == "The engine of an SM."
    page.hover("#term-note")  # the pointer may rest on the text
    page.wait_for_timeout(400)
    assert note(page) == "The engine of an SM."
    page.mouse.move(5, 600)
    page.wait_for_timeout(400)
    assert note(page) is None
    page.keyboard.press("Tab")
    assert note(page) == "The engine of an SM."
    page.keyboard.press("Tab")
    assert note(page) == "A barrier in shared memory."
    page.keyboard.press("Escape")
    assert note(page) is None
    page.keyboard.press("Enter")
    assert page.url.endswith("#there")


@pytest.mark.parametrize("terms_page", [True], indirect=True)
def test_the_first_tap_explains_a_term_and_the_second_one_follows_it(terms_page: Any) -> None:
    page = terms_page
    page.tap("#second")
    assert note(page) == "A barrier in shared memory." and "#" not in page.url
    page.tap("#first")
    assert note(page) == "The engine of an SM." and "#" not in page.url
    page.touchscreen.tap(5, 400)
    assert note(page) is None
    page.tap("#first")
    page.tap("#first")
    assert page.url.endswith("#there")
