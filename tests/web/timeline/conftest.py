"""A headless Chromium, and the page of a run in it.

The tests need the system's Chromium or Chrome, and `npm ci` in `web/timeline`. Without them they are skipped, except
where BROWSER_TESTS=required says that they must run, as `.ci/run` does.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

WEB = Path(__file__).parents[3] / "web" / "timeline"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SCREEN = {"width": 1280, "height": 720}


def missing(what: str) -> None:
    """Skip, or fail where the tests are required."""
    if os.environ.get("BROWSER_TESTS") == "required":
        pytest.fail(f"{what} is missing")
    pytest.skip(f"{what} is missing")


@pytest.fixture(scope="session")
def node_modules() -> Path:
    """What `npm ci` installed."""
    if not (WEB / "node_modules" / "axe-core").is_dir():
        missing("npm ci in web/timeline")
    return WEB / "node_modules"


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """The system's browser, without a sandbox, which root has none of."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        missing("Chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """A function that opens the text of a page, with options of a browser's context.

    No page may write to the console, raise an error or ask for anything but itself.
    """
    contexts: list[Any] = []
    wrong: list[str] = []

    def show(text: str, **options: Any) -> Any:
        path = tmp_path / f"page{len(contexts)}.html"
        path.write_text(text, encoding="utf-8")
        context = browser.new_context(**{"viewport": SCREEN, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: wrong.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on("request", lambda request: request.url in (path.as_uri(), "data:,") or wrong.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]")
        return page

    yield show
    for context in contexts:
        context.close()
    assert wrong == []
