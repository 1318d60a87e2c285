"""The pictures and figures of the documentation: the committed ones are those that are made today."""

from __future__ import annotations

import gc
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator

import pytest

from tirx_mini.report.timeline import against_text, compare, run_of
from tools.figures import DOCS, filled, pages, passages, pictures, quoted, topics
from tools.figures._runs import traced

SVG = "{http://www.w3.org/2000/svg}"

LADDER = ("hopper", "roofline", "steps_ladder", "steps_low", "steps_middle", "steps_high", "timelines")
"""These topics quote the same runs of all ten steps, so one test, in one process, makes these runs once."""


@pytest.fixture
def forgotten() -> Iterator[None]:
    """Drop the runs that the topics keep: the garbage collector would go through their millions of notes again and
    again in the tests that follow."""
    before = len(gc.get_objects())
    yield
    modules = [module for name, module in sys.modules.items() if name.startswith("tools.figures")]
    for kept in (value for module in modules for value in vars(module).values() if hasattr(value, "cache_clear")):
        kept.cache_clear()
    if len(gc.get_objects()) > 2 * before:
        gc.collect()


@pytest.mark.usefixtures("forgotten")
@pytest.mark.parametrize("names", [LADDER, *((name,) for name in topics() if name not in LADDER)], ids="-".join)
def test_the_committed_pictures_and_passages_of_a_topic_are_current(names: tuple[str, ...]) -> None:
    modules = [topics()[name] for name in names]
    drawn = [picture for module in modules for picture in pictures(module)]
    stale = [name for name, text in drawn if (DOCS / name).read_text(encoding="utf-8") != text]
    texts = dict(passage for module in modules for passage in passages(module))
    stale += [page.name for page in pages() if filled(before := page.read_text(encoding="utf-8"), texts) != before]
    assert stale == [], "run make figures"
    missing = texts.keys() - {name for page in pages() for name in quoted(page.read_text(encoding="utf-8"))}
    assert not missing, "no page quotes these"
    if names == LADDER:
        the_comparison_of_the_docs_is_current()


def the_comparison_of_the_docs_is_current() -> None:
    """docs/timeline.md quotes what `trace --against` says of steps 5 and 7, of which LADDER has the runs."""
    runs = [run_of(traced(step, (2048, 2048, 2048)).report) for step in (5, 7)]
    said = against_text(compare(*runs)).split("\n\n")[0]
    assert said in (DOCS / "timeline.md").read_text(encoding="utf-8"), said


def test_every_picture_is_drawn_by_a_topic_and_shown_on_a_page() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in (DOCS.parent / "tools/figures").glob("*.py"))
    shown = "".join(page.read_text(encoding="utf-8") for page in pages())
    for path in DOCS.rglob("*.svg"):
        assert path.name in shown, f"no page shows {path.name}"
        assert path.name in source or path.stem.rstrip("0123456789") in source, f"no topic draws {path.name}"


def test_pictures_are_small_xml_and_read_on_both_kinds_of_pages() -> None:
    for path in DOCS.rglob("*.svg"):
        text = path.read_text(encoding="utf-8")
        style = ET.fromstring(text).findtext(f"{SVG}style") or ""
        assert "prefers-color-scheme:dark" in style and len(text.encode()) < 100_000, path
        assert ET.fromstring(text).findtext(f"{SVG}desc"), path


def test_a_passage_is_filled_in_and_the_rest_of_the_page_stays() -> None:
    page = "a\n<!-- figures: one -->\nold\n<!-- /figures -->\nb\n<!-- figures: two -->\n<!-- /figures -->\n"
    assert quoted(page) == ["one", "two"]
    after = filled(page, {"one": "new\n"})
    assert after == page.replace("old\n", "\nnew\n\n")
    assert filled(after, {"one": "new"}) == after
