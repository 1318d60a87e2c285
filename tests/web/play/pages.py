"""Actions of the tests on the page."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

BASE = ["findings", "timeline", "bound", "product"]
"""The events that the page requests of each run."""
MOST = 60.0
"""Seconds that a test waits for words, on a machine that does much else."""


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + MOST
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def until(page: Any, words: str, of: str = "#status") -> None:
    """Waits until an element has these words; also while the clock of the page stands."""
    end = time.monotonic() + MOST
    while words not in (text := page.locator(of).text_content()):
        assert time.monotonic() < end, f"{of} has {text!r}, not {words!r}"
        time.sleep(0.02)


def done(page: Any) -> None:
    """Waits until the run has ended."""
    until(page, "The run took")


def type_text(page: Any, text: str) -> None:
    """Types at the end of the text."""
    page.locator(".cm-content").click()
    page.keyboard.press("Control+End")
    page.keyboard.type(text)


def text_of(page: Any) -> str:
    """The text of the editor, which is all in view."""
    return "\n".join(page.locator(".cm-line").all_text_contents())


def stop_clock(page: Any) -> None:
    """Lets the time of a fresh page stand, so that it goes on only by `page.clock.run_for`."""
    page.clock.install()
    page.clock.pause_at(page.evaluate("() => Date.now()") + 1000)
