"""The page of `tirx play` in a browser, before a server whose answers the tests write."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser import SCREEN

from .fake import FakeServer
from .recorded import SESSION, good, timeline_data


@pytest.fixture(scope="session")
def timeline(tmp_path_factory: pytest.TempPathFactory) -> str:
    return timeline_data(tmp_path_factory.mktemp("ring"))


@pytest.fixture
def serve(timeline: str) -> Iterator[Callable[..., FakeServer]]:
    """A function that starts a server. session: fields that differ. run: the events of a run."""
    servers: list[FakeServer] = []

    def serve(run: Any = None, **session: Any) -> FakeServer:
        servers.append(FakeServer({**SESSION, **session}, run or good(timeline)))
        return servers[-1]

    yield serve
    for server in servers:
        server.close()


@pytest.fixture
def play(browser: Any, node_modules: Path) -> Iterator[Callable[..., Any]]:
    """A function that opens the page of a server, with options of a browser's context.

    No page may write to the console, raise an error or ask another host. refused: words of the messages that Chromium
    writes about refused requests.
    """
    contexts: list[Any] = []
    wrong: list[str] = []

    def play(server: FakeServer, refused: str = "status of 4", **options: Any) -> Any:
        context = browser.new_context(**{"viewport": SCREEN, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: refused in message.text or wrong.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on(
            "request",
            lambda request: request.url.startswith((server.origin, "data:", "blob:")) or wrong.append(request.url),
        )
        page.goto(server.url)
        page.wait_for_selector("html[data-ready]")
        return page

    yield play
    for context in contexts:
        context.close()
    assert wrong == []
