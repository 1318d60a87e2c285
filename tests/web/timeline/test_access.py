"""The page without a mouse and without sight: keys reach everything, and axe-core finds nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser import violations
from tests.tirx_mini.report.timeline.reports import report_of
from tests.tirx_mini.report.timeline.timelines import Ring
from tirx_mini.report.timeline import page_html

Show = Callable[..., Any]
TABS = ("timeline", "bound", "roofline", "wave")


@pytest.fixture
def text(tmp_path: Path) -> str:
    return page_html(report_of(Ring(), tmp_path))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(show: Show, axe: str, tmp_path: Path, scheme: str) -> None:
    for stuck in (False, True):
        page = show(page_html(report_of(Ring(), tmp_path, stuck=stuck)), color_scheme=scheme)
        for tab in TABS:
            page.locator(f"#tab-{tab}").click()
            assert violations(page, axe) == [], tab
    page.locator("#tab-timeline").click()
    page.locator("#labels button").first.click()
    assert violations(page, axe) == []
    page.keyboard.press("?")
    assert violations(page, axe) == []


def focused(page: Any) -> str:
    """The element that has the focus: its id, or its words."""
    return page.evaluate("() => document.activeElement.id || document.activeElement.innerText.split('\\n')[0]")


def test_tab_reaches_every_control_lane_and_pane(show: Show, text: str) -> None:
    page = show(text)
    reached: list[str] = []
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.append(focused(page))
        if reached[-1] == "details":
            break
    lanes = page.locator("#labels button span").all_inner_texts()
    assert [name for name in reached if name in lanes] == lanes
    controls = "theme help-open tab-timeline cta-0 zoom-in zoom-out zoom-steps zoom-all ruler barriers source".split()
    assert [name for name in reached if name in controls] == controls


def test_arrow_keys_go_from_tab_to_tab(show: Show, text: str) -> None:
    page = show(text)
    page.locator("#tab-timeline").focus()
    for tab in (*TABS[1:], TABS[0]):
        page.keyboard.press("ArrowRight")
        assert focused(page) == f"tab-{tab}"
        assert page.locator(f"#panel-{tab}").is_visible()


def test_keys_choose_an_interval_go_on_and_follow_what_ended_a_wait(show: Show, text: str) -> None:
    page = show(text)
    page.locator("#labels button", has_text="MMA").first.focus()
    page.keyboard.press("Enter")
    said = page.locator("#live").inner_text()
    assert said.startswith("waits for tma2mma") and "ended by" in said
    page.keyboard.press("ArrowRight")
    assert page.locator("#live").inner_text().startswith("tcgen05.mma")
    page.keyboard.press("ArrowLeft")
    assert page.locator("#live").inner_text() == said
    page.keyboard.press("Enter")
    assert page.locator("#live").inner_text().startswith("load A. who: TMA loads")
    assert focused(page) == "TMA loads"
    page.keyboard.press("Escape")
    assert page.locator("#details dl").count() == 0


def test_keys_read_the_changes_of_an_mbarrier(show: Show, text: str) -> None:
    page = show(text)
    page.locator("#labels button", has_text="tma2mma[0]").first.focus()
    page.keyboard.press("Enter")
    first = page.locator("#live").inner_text()
    page.keyboard.press("ArrowRight")
    assert "mbarrier: tma2mma[0]" in first and "bytes" in first
    assert page.locator("#live").inner_text() != first


def test_keys_go_from_tile_to_tile_in_the_wave(show: Show, text: str) -> None:
    page = show(text)
    page.locator("#tab-wave").click()
    page.locator("#panel-wave canvas").focus()
    said: list[str] = []
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft"):
        page.keyboard.press(key)
        said.append(page.locator("#panel-wave .hover").inner_text().split(", cycle")[0])
    assert said == [
        "SM 0: CTA (0, 0), D[0:128, 0:128]",
        "SM 0: CTA (0, 0), D[0:128, 128:256]",
        "SM 1: CTA (1, 0), D[0:128, 128:256]",
        "SM 1: CTA (1, 0), D[0:128, 0:128]",
    ]


def span(words: str) -> list[float]:
    """The cycles from and to which the time axis is seen."""
    return [float(number.replace(",", "")) for number in re.findall(r"cycle ([\d,]+) to ([\d,]+),", words)[0]]


def test_keys_zoom_and_go_along_the_axis(show: Show, text: str) -> None:
    page = show(text)
    words = page.locator("#seen")
    page.locator("#zoom-all").focus()
    said: list[str] = []
    for key in ("0", "+", "ArrowRight", "ArrowLeft", "Home", "End", "-", "s"):
        page.keyboard.press(key)
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        said.append(words.inner_text())
    everything, zoomed, right, left, home, end, *_ = said
    assert everything.startswith("cycle 0 to ") and everything != zoomed
    assert span(left) == pytest.approx(span(zoomed), abs=1) and right != zoomed  # a half is rounded either way
    assert home.startswith("cycle 0 to ")
    assert end.split(" to ")[1].split(", ")[0] == everything.split(" to ")[1].split(", ")[0]


def test_keys_mark_the_intervals_of_a_line_and_help_opens_and_closes(show: Show, text: str) -> None:
    page = show(text)
    page.locator("#source").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert "are marked" in page.locator("#live").inner_text()
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#help").is_visible()
