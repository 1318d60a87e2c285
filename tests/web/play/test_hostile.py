"""Text from a kernel reaches the page as text, wherever it is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .fake import FakeServer
from .pages import done, until
from .recorded import FINDING, SIZES, good

HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
KEPT = {"event", "verdict", "severity", "stage", "data", "language"}
"""Fields whose values the page reads."""


def hostile(value: Any, name: str = "") -> Any:
    """An event with the hostile text in the place of every other text."""
    if isinstance(value, dict):
        return {key: hostile(each, key) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [hostile(each, name) for each in value]
    return HOSTILE if isinstance(value, str) and name not in KEPT else value


def test_no_text_becomes_markup(serve: Callable[..., FakeServer], play: Callable[..., Any], timeline: str) -> None:
    finding = {**FINDING, "rule": "a rule", "consequence": False}
    run = good(timeline, (finding, {**finding, "consequence": True}))
    kernel = {"name": HOSTILE, "step": 4, "title": HOSTILE, "written": True, "sizes": SIZES}
    server = serve(lambda request: map(hostile, run(request)), kernels=[kernel], file=HOSTILE, text=HOSTILE)
    page = play(server)
    done(page)
    for tab in ("findings", "bound", "product", "tir", "passes", "cuda", "ptx", "sass"):
        page.locator(f"#tab-{tab}").click()
        until(page, HOSTILE, of=f"#pane-{tab}")  # the run of a stage begins when its tab is opened
    page.locator("#tab-timeline").click()
    done(page)
    assert page.locator("img, main script").count() == 0
    assert page.title() == f"{HOSTILE} – tirx play"
    assert HOSTILE in page.locator("#verdict").inner_text() and HOSTILE in page.locator(".cm-content").inner_text()
