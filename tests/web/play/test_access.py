"""The page without a mouse, without sight and on a phone: axe-core finds nothing, and keys reach everything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.browser import SCREEN, violations

from .fake import FakeServer
from .pages import done
from .recorded import FINDING, good

Play = Callable[..., Any]
Serve = Callable[..., FakeServer]

PHONE = {"width": 390, "height": 844}
TABS = ("findings", "timeline", "bound", "product", "tir", "passes", "cuda", "ptx", "sass")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("screen", [SCREEN, PHONE], ids=["desk", "phone"])
def test_axe_finds_nothing(
    serve: Serve, play: Play, axe: str, timeline: str, scheme: str, screen: dict[str, int]
) -> None:
    server = serve(good(timeline, (FINDING,)))
    page = play(server, viewport=screen, color_scheme=scheme)
    done(page)
    for tab in TABS:
        page.locator(f"#tab-{tab}").click()
        done(page)
        if tab == "passes":
            page.locator("#pane-passes").get_by_role("button", name="Next").click()
        assert violations(page, axe, colours=scheme == "dark") == [], tab
        assert page.evaluate("() => document.documentElement.scrollWidth") <= screen["width"], tab
    page.locator("#help-open").click()
    assert violations(page, axe, colours=scheme == "dark") == []


def test_keys_reach_every_control(serve: Serve, play: Play) -> None:
    page = play(serve())
    done(page)
    page.locator("body").focus()
    reached: list[str] = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("() => document.activeElement.id || document.activeElement.className"))
    choices, buttons, panes = (
        "kernel size-m size-n size-k gpu sms",
        "run save export course theme help-open",
        "tab-findings",
    )
    controls = [*choices.split(), *buttons.split(), "cm-content", panes, "pane-findings"]
    assert [each for each in controls if not any(each in name.split() for name in reached)] == []
    page.locator("#tab-findings").focus()
    for tab in (*TABS[1:], "course", TABS[0]):
        if tab == "course" and not page.locator("#tab-course").is_visible():
            continue
        page.keyboard.press("ArrowRight")
        assert page.evaluate("() => document.activeElement.id") == f"tab-{tab}"


@pytest.mark.parametrize("screen", [SCREEN, PHONE], ids=["desk", "phone"])
def test_no_pane_is_wider_than_the_screen(serve: Serve, play: Play, screen: dict[str, int]) -> None:
    page = play(serve(), viewport=screen)
    done(page)
    for tab in TABS:
        page.locator(f"#tab-{tab}").click()
        box = page.locator(f"#pane-{tab}").bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= screen["width"] and box["height"] > 200, tab
