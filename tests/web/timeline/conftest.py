"""The page of a run in a browser; tests/browser.py says what the tests need."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser import SCREEN


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
