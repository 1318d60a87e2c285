"""The site's navigation, and what its pages change of those that GitHub shows."""

from __future__ import annotations

from markdown import Markdown

from tools.mkdocs_hooks import BESIDE, TwoSpaces, listed, navigation, rewritten
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
