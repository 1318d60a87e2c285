"""The stages: texts with the lines that they descend from, passes as differences, and lists that stay short."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .fake import FakeServer
from .pages import BASE, done, type_text, until, wait_for

Play = Callable[..., Any]
Serve = Callable[..., FakeServer]


def opened(page: Any, stage: str) -> Any:
    """The pane of a stage, with its text."""
    page.locator(f"#tab-{stage}").click()
    page.wait_for_selector(f"#lines-{stage} .row")
    return page.locator(f"#pane-{stage}")


def test_a_stage_is_asked_for_when_its_tab_is_opened(serve: Serve, play: Play) -> None:
    server = serve()
    page = play(server)
    done(page)
    opened(page, "cuda")
    page.locator("#tab-bound").click()
    page.locator("#tab-cuda").click()
    page.wait_for_timeout(200)
    assert [body["want"] for body in server.bodies("/run")] == [BASE, ["cuda"]]
    type_text(page, "# more")
    wait_for(lambda: len(server.bodies("/run")) == 3)
    assert server.bodies("/run")[2]["want"] == [*BASE, "cuda"]


def test_a_line_of_the_text_marks_its_descendants(serve: Serve, play: Play) -> None:
    page = play(serve())
    done(page)
    pane = opened(page, "cuda")
    page.locator(".cm-line").nth(1).click()
    assert pane.locator(".row.lit code").all_text_contents() == ["  // a stage", "  tma_load(0);"]
    page.locator(".cm-line").nth(2).hover()
    assert pane.locator(".row.lit code").all_text_contents() == ["  mma(1);"]
    pane.hover()
    page.wait_for_selector(".row.lit:has-text('tma_load')")


def test_a_row_marks_the_line_that_it_descends_from(serve: Serve, play: Play) -> None:
    page = play(serve())
    done(page)
    pane = opened(page, "ptx")
    pane.locator(".row", has_text="tcgen05.mma").hover()
    assert "Tx.gemm_async" in page.locator(".cm-line.pointed").inner_text()
    page.locator("#lines-ptx").focus()
    page.keyboard.press("ArrowDown")
    assert "Tx.copy_async" in page.locator(".cm-line.pointed").inner_text()
    assert page.locator("#lines-ptx").get_attribute("aria-activedescendant") == "lines-ptx-0"


def test_a_pass_is_its_difference_from_the_one_before(serve: Serve, play: Play) -> None:
    page = play(serve())
    done(page)
    pane = opened(page, "passes")
    assert page.locator("#pick-passes option").all_text_contents() == ["0: parsed", "1: lower tiles", "2: tidy"]
    pane.get_by_role("button", name="Next").click()
    assert pane.locator(".row.removed code").all_text_contents() == ["copy"]
    assert pane.locator(".row.added code").all_text_contents() == ["copy.bulk"]
    rows = pane.locator(".row code").all_text_contents()
    assert rows == ["5 equal lines", "f", "g", "h", "copy", "copy.bulk", "  gemm"]
    pane.get_by_role("button", name="Next").click()
    assert "The pass changes nothing." in pane.inner_text()


def test_a_long_text_has_few_elements_and_colours(serve: Serve, play: Play) -> None:
    page = play(serve())
    done(page)
    pane = opened(page, "cuda")
    assert 20 < pane.locator(".row").count() < 100
    assert pane.locator(".tok-comment").first.text_content() == "// a stage"
    page.locator("#lines-cuda").focus()
    page.keyboard.press("End")
    assert pane.locator(".row").last.get_attribute("aria-posinset") == "3006"
    assert pane.locator(".row").count() < 100


def test_a_stage_that_is_missing_says_why(serve: Serve, play: Play) -> None:
    page = play(serve())
    done(page)
    page.locator("#tab-sass").click()
    until(page, "NVRTC is not installed", "#pane-sass")
