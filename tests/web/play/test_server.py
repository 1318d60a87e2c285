"""The page and the real server together: a kernel is broken and repaired, followed to CUDA, saved and exported."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser import SCREEN
from tests.tirx_mini.play.serving import Page, page_of
from tirx_mini.resources import resource

from .pages import until

Open = Callable[[str], Any]
SLOW = 60_000
"""Milliseconds for a run, beside other tests."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    file = tmp_path_factory.mktemp("kernels") / "gemm_kernels.py"
    file.write_text(resource("kernels_ref/sm100/step04_tma.py").read_text("utf-8"), encoding="utf-8")
    with page_of(file, tmp_path_factory.mktemp("processes")) as server:
        yield server


@pytest.fixture
def opened(browser: Any) -> Iterator[Open]:
    """A function that opens an address in a context without a network beyond it. Nothing goes to the console."""
    contexts: list[Any] = []
    wrong: list[str] = []

    def opened(url: str) -> Any:
        contexts.append(browser.new_context(viewport=SCREEN, offline=url.startswith("file:")))
        page = contexts[-1].new_page()
        page.set_default_timeout(SLOW)
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(url)
        page.wait_for_selector("html[data-ready]")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert [each for each in wrong if "status of 409" not in each] == []


@pytest.fixture
def page(server: Page, opened: Open) -> Any:
    page = opened(f"http://{server.host}/#token={server.server.token}")
    run(page)
    return page


def run(page: Any) -> None:
    """Runs the text, also where texts do not run by themselves, and waits for the verdict."""
    page.locator("#run").click()
    page.wait_for_function("() => document.querySelector('#status').textContent.startsWith('The run took')")


def line_of(page: Any, text: str) -> Any:
    """The line of the editor with this text, which becomes the cursor's."""
    page.locator(".cm-content").focus()
    page.keyboard.press("Control+f")
    page.keyboard.type(text)
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    return page.locator(".cm-activeLine")


def test_a_mistake_is_found_at_its_line_and_repaired(page: Any) -> None:
    assert page.locator("#verdict").inner_text().startswith("ok ")
    line_of(page, "mma_bar.ptr_to([0]), 1")
    page.keyboard.press("ArrowRight")
    page.keyboard.type("28")
    run(page)
    assert page.locator("#verdict").inner_text().startswith("deadlock ")
    assert page.locator(".findings li").count() > 0 and page.locator(".cm-lint-marker").count() > 0
    page.locator("#tab-timeline").click()
    page.wait_for_selector("#labels button")
    page.locator(".cm-content").focus()
    page.keyboard.press("Control+z")
    run(page)
    assert page.locator("#verdict").inner_text().startswith("ok ")


def test_a_line_is_followed_through_the_stages(page: Any) -> None:
    line_of(page, "Tx.gemm_async")
    for stage, words in (("tir", "gemm_async"), ("cuda", "mma")):
        page.locator(f"#tab-{stage}").click()
        page.wait_for_selector(f"#lines-{stage} .row.lit")
        assert words in " ".join(page.locator(f"#lines-{stage} .row.lit").all_text_contents()), stage
    page.locator("#tab-passes").click()
    page.locator("#pane-passes").get_by_role("button", name="Next").click()
    assert page.locator("#lines-passes .row.added").count() > 0


def test_a_file_is_saved_unless_it_has_changed(page: Any, server: Page) -> None:
    file = server.studio.source.path
    before = file.read_text("utf-8")
    page.locator(".cm-content").focus()
    page.keyboard.press("Control+End")
    page.keyboard.type("# mine")
    page.keyboard.press("Control+s")
    until(page, "gemm_kernels.py is saved.", "#said")
    assert file.read_text("utf-8") == f"{before}# mine"
    file.write_text(before, encoding="utf-8")
    page.keyboard.press("Control+s")
    page.wait_for_selector("#conflict[open]")
    assert page.locator("#conflict .added code").all_text_contents()[-1] == "# mine"
    page.locator("#conflict-take").click()
    assert file.read_text("utf-8") == before


def test_an_exported_page_opens_from_its_file_offline(page: Any, opened: Open, tmp_path: Path) -> None:
    with page.expect_download() as download:
        page.locator("#export").click()
    path = tmp_path / "kernel.html"
    download.value.save_as(path)
    assert path.stat().st_size < 2e6
    kept = opened(path.as_uri())
    assert kept.locator("#verdict").inner_text().startswith("ok ")
    kept.locator("#tab-timeline").click()
    kept.locator("#labels button.lane").first.click()
    assert kept.locator(".cm-line.pointed").count() == 1
    kept.locator("#tab-cuda").click()
    assert "__global__" in kept.locator("#lines-cuda").inner_text()
