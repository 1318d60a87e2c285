"""A page that was exported: one run in one file, which needs no server and no network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.browser import SCREEN, violations

from .fake import ASSETS
from .pages import text_of
from .recorded import FINDING, SESSION, STAGES, TEXT, good

POLICY = "default-src 'none'; script-src 'nonce-x'; style-src 'nonce-x'; img-src data:; base-uri 'none'"


def exported(timeline: str) -> str:
    """The page as a server exports it, around a run with a finding and all stages."""
    events = list(good(timeline, (FINDING,))({"want": [*STAGES, "sass"]}))
    recorded = json.dumps({"session": SESSION, "text": TEXT, "events": events}).replace("<", "\\u003c")
    index, script, style = ((ASSETS / name).read_text("utf-8") for name in ("index.html", "play.js", "play.css"))
    link = '<link rel="stylesheet" href="/assets/play.css" nonce="{{nonce}}">'
    source = '<script src="/assets/play.js" nonce="{{nonce}}" defer></script>'
    assert index.count(link) == index.count(source) == index.count("</body>") == 1
    policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    page = index.replace(link, f"{policy}<style nonce='x'>{style}</style>").replace(source, "")
    tail = f'<script id="recorded" type="application/json">{recorded}</script><script nonce="x">'
    tail += script.replace("</script", "<\\/script") + "</script></body>"
    return page.replace("</body>", tail).replace("{{nonce}}", "x")


@pytest.fixture
def page(browser: Any, timeline: str, tmp_path: Path) -> Any:
    """The page from a file, offline. It writes nothing to the console and asks for nothing but itself."""
    path, wrong = tmp_path / "kernel.html", []
    path.write_text(exported(timeline), encoding="utf-8")
    context = browser.new_context(viewport=SCREEN, offline=True)
    page = context.new_page()
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: request.url in (path.as_uri(), "data:,") or wrong.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]")
    yield page
    context.close()
    assert wrong == []


def test_it_shows_the_run(page: Any, axe: str) -> None:
    assert page.title() == "gemm_kernels.py – tirx play"
    assert "TX201" in page.locator("#pane-findings").inner_text()
    assert page.locator(".cm-lint-marker").count() == 1
    assert violations(page, axe) == []
    for tab, words in (("bound", "Bound by"), ("product", "1 is wrong"), ("tir", "prim_func"), ("passes", "parsed"),
                       ("cuda", "__global__"), ("ptx", "tcgen05"), ("sass", "NVRTC")):  # fmt: skip
        page.locator(f"#tab-{tab}").click()
        assert words in page.locator(f"#pane-{tab}").inner_text(), tab
    page.locator("#tab-timeline").click()
    page.locator("#labels button", has_text="TMA").first.click()
    assert "Tx.copy_async" in page.locator(".cm-line.pointed").inner_text()


def test_it_offers_nothing_that_needs_a_server(page: Any) -> None:
    for name in ("run", "save", "export", "course", "pin", "kernel", "gpu"):
        assert not page.locator(f"#{name}").is_visible(), name
    page.locator(".cm-content").click()
    page.keyboard.type("more")
    assert text_of(page) == TEXT
    page.keyboard.press("Control+Enter")
    assert page.locator("#status").inner_text() == "This page was exported: it shows one run."
