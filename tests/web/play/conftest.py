"""The page of `tirx play` in a browser, before a server whose answers the tests write."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser import SCREEN

from .fake import FakeServer
from .pages import MOST
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


@pytest.fixture(scope="session")
def kept() -> list[Any]:
    """At most one page that no test has: to make one takes a second, most of it for the process of a new context."""
    return []


@pytest.fixture
def play(browser: Any, node_modules: Path, kept: list[Any]) -> Iterator[Callable[..., Any]]:
    """A function that opens the page of a server, with options of a browser's context.

    No page may write to the console, raise an error or ask another host. refused: words of the messages that Chromium
    writes about refused requests. fresh: in a context of its own, as the clock of a page is stopped for good. Without
    it, tests share a page: what it stores is stored by port, and each server has its own.
    """
    used: list[tuple[Any, dict[str, Callable[[Any], Any]], bool]] = []
    wrong: list[str] = []

    def play(server: FakeServer, refused: str = "status of 4", fresh: bool = False, **options: Any) -> Any:
        shared = not (fresh or options)
        page = kept.pop() if shared and kept else new_page(browser, **options)
        handlers: dict[str, Callable[[Any], Any]] = {
            "console": lambda message: refused in message.text or wrong.append(f"console: {message.text}"),
            "pageerror": lambda error: wrong.append(f"error: {error}"),
            "request": lambda request: is_own(request.url, server) or wrong.append(request.url),
        }
        for event, handler in handlers.items():
            page.on(event, handler)
        used.append((page, handlers, shared))
        page.goto(server.url)
        page.wait_for_selector("html[data-ready]")
        return page

    yield play
    for page, handlers, shared in used:
        if shared and not kept and not wrong:
            page.goto("about:blank")
            for event, handler in handlers.items():
                page.remove_listener(event, handler)
            kept.append(page)
        else:
            page.context.close()
    assert wrong == []


def new_page(browser: Any, **options: Any) -> Any:
    page = browser.new_context(**{"viewport": SCREEN, **options}).new_page()
    page.set_default_timeout(1000 * MOST)
    return page


def is_own(url: str, server: FakeServer) -> bool:
    """Return whether an address is of the page itself."""
    return url.startswith((server.origin, "data:", "blob:", "about:"))
