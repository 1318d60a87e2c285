"""Versions of a kernel: other values of its constants, and a run that is pinned beside later ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.browser import violations

from .fake import FakeServer
from .pages import done, type_text, until, wait_for
from .recorded import BOUND, TEXT, good

Play = Callable[..., Any]
Serve = Callable[..., FakeServer]


def slide(page: Any, key: str, times: int = 1) -> None:
    """Moves the slider of BLK_K by keys, and waits for the run of each value."""
    page.locator("#constants summary").click()
    page.locator("#constant-BLK_K").focus()
    for _ in range(times):
        page.keyboard.press(key)


def test_a_slider_runs_another_value_and_leaves_the_text(serve: Serve, play: Play) -> None:
    server = serve()
    page = play(server)
    done(page)
    slide(page, "ArrowRight")
    wait_for(lambda: len(server.bodies("/run")) == 2)
    assert [body["constants"] for body in server.bodies("/run")] == [{}, {"BLK_K": 128}]
    assert server.bodies("/run")[1]["text"] == TEXT
    assert page.locator("#constants output").inner_text() == "128 (the text has 64)"
    page.locator("#constant-BLK_K").focus()
    page.keyboard.press("ArrowLeft")
    wait_for(lambda: len(server.bodies("/run")) == 3)
    assert server.bodies("/run")[2]["constants"] == {}


def test_a_value_that_changes_in_the_text_counts_again(serve: Serve, play: Play, timeline: str) -> None:
    def run(request: Any) -> Any:
        for event in good(timeline)(request):
            if event["event"] == "built" and "128" in request["text"]:
                event["constants"]["BLK_K"]["value"] = 128
            yield event

    server = serve(run)
    page = play(server)
    done(page)
    slide(page, "ArrowLeft")
    wait_for(lambda: server.bodies("/run")[-1]["constants"] == {"BLK_K": 32})
    done(page)
    type_text(page, "# 128")
    until(page, "128", "#constants output")
    page.keyboard.type("!")
    wait_for(lambda: server.bodies("/run")[-1]["text"].endswith("!"))
    assert server.bodies("/run")[-1]["constants"] == {}


def test_a_slider_shows_the_line_of_its_constant(serve: Serve, play: Play) -> None:
    page = play(serve())
    done(page)
    page.locator("#constants summary").click()
    page.locator("#constants button").click()
    assert page.locator(".cm-activeLine").inner_text().strip() == "BLK_K = 64"


def test_a_pinned_run_stays_beside_later_ones(serve: Serve, play: Play, axe: str, timeline: str) -> None:
    faster = {**BOUND, "terms": [{"name": "TMA", "share": 1.0, "microseconds": 4.0}]}

    def run(request: Any) -> Any:
        for event in good(timeline)(request):
            yield faster if event["event"] == "bound" and "faster" in request["text"] else event

    page = play(serve(run))
    done(page)
    page.locator("#tab-timeline").click()
    page.wait_for_selector("#labels button")
    lanes = page.locator("#labels button.lane").count()
    page.locator("#pin").click()
    page.wait_for_function(
        "(count) => document.querySelectorAll('#labels button.lane').length === count", arg=2 * lanes
    )
    type_text(page, "# faster")
    page.locator("#tab-bound").click()
    until(page, "all10 µs4 µs", "#pane-bound")
    row = page.locator("#pane-bound tbody tr", has_text="MMA")
    assert row.locator("td").all_inner_texts() == ["", "4 µs", "", "–"]
    assert violations(page, axe) == []
    page.locator("#tab-timeline").click()
    page.wait_for_selector("#labels h2:has-text('B: ring')")
    page.locator(".cm-line").nth(2).click()
    until(page, "intervals of line 3 are marked", "#live")
    page.locator("#pin").click()
    page.wait_for_function("(count) => document.querySelectorAll('#labels button.lane').length === count", arg=lanes)
    page.locator("#tab-bound").click()
    assert "Pinned" not in page.locator("#pane-bound").inner_text()
