"""A run as a page of its own: all of it inside, nothing of this machine, and nothing that connects."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.tirx_mini.play.serving import Page
from tirx_mini.commands.play import main
from tirx_mini.play.assets import Asset, assets
from tirx_mini.play.exporting import exported
from tirx_mini.play.problems import PlayError
from tirx_mini.resources import resource

INDEX = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="nonce" content="{{nonce}}">
<title>tirx play</title>
<link rel="stylesheet" href="/assets/play.css" nonce="{{nonce}}">
<script src="/assets/play.js" nonce="{{nonce}}" defer></script>
</head>
<body><main></main></body>
</html>
"""
STATIC = {
    "/": Asset(INDEX.encode(), "text/html"),
    "/assets/play.js": Asset(b"console.log('</script><!--')", "text/javascript"),
    "/assets/play.css": Asset(b"main { color: red }", "text/css"),
}
ATTACK = "</script><img src=x onerror=alert(1)>&\u2028"
SESSION = {"file": f"{ATTACK}.py", "text": "old", "digest": "abc", "writable": True, "course": True, "kernels": []}
MOST_BYTES = 2 << 20
built = pytest.mark.skipif(len(assets()) < 3, reason="the page is not built")


def recorded(page: str) -> Any:
    match = re.search(r'<script id="recorded" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert match is not None
    return json.loads(match[1])


def test_the_page_has_the_run_inside_and_may_connect_to_nobody() -> None:
    events = [{"event": "started"}, {"event": "progress"}, {"event": "verdict", "title": ATTACK}, {"event": "done"}]
    page = exported(SESSION, ATTACK, events, STATIC)
    data = recorded(page)
    assert data["text"] == ATTACK and data["events"] == [events[0], events[2], events[3]]
    assert data["session"]["writable"] is False and data["session"]["digest"] == ""
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None and "default-src 'none'" in policy[1]
    assert "connect-src" not in policy[1] and "unsafe" not in policy[1]
    assert page.index("Content-Security-Policy") < page.index("<style") < page.index("<script")
    assert "/assets/" not in page and "{{nonce}}" not in page


def test_no_text_ends_its_script() -> None:
    page = exported(SESSION, ATTACK, [{"event": "verdict", "title": ATTACK}], STATIC)
    assert page.count("</script") == 2 and "<img" not in page and "<!--" not in page
    assert page.count("<script") == 2


def test_of_a_drill_the_page_tells_no_more_than_the_run() -> None:
    events = [
        {"event": "verdict", "stages": 4, "findings": []},
        {"event": "drill", "repaired": True, "reason": "SECRET"},
    ]
    assert "SECRET" not in exported(SESSION, "", events, STATIC)


@pytest.mark.parametrize("static", [{"/": STATIC["/"]}, {**STATIC, "/": Asset(b"<p>not built</p>", "text/html")}])
def test_a_page_that_is_not_built_is_said(static: dict[str, Asset]) -> None:
    with pytest.raises(PlayError, match="the page is not built"):
        exported(SESSION, "", [], static)


def test_a_run_is_exported_with_all_stages_and_without_paths(page: Page, step4: str) -> None:
    page.studio.static = STATIC  # type: ignore[assignment]
    body = {"text": step4, "kernel": "hgemm_v4", "sizes": {"m": 128, "n": 128, "k": 128}, "asked": True}
    number = next(event["run"] for event in list(page.run(body)) if event["event"] == "started")
    status, headers, content = page.request("POST", "/export", {"run": number})
    text = content.decode()
    assert status == 200 and headers["content-disposition"].startswith("attachment")
    names = [event.get("stage", event["event"]) for event in recorded(text)["events"]]
    assert names == [
        "started", "built", "verdict", "product", "bound", "timeline", "tir", "passes", "cuda", "ptx", "sass", "done",
    ]  # fmt: skip
    assert page.server.token not in text
    for path in (
        page.studio.source.path.parent,
        page.studio._builders.path.parent,
        Path.home(),
        resource("docs").parent,
    ):
        assert str(path) not in text
    assert page.post("/export", {"run": number + 1000})[0] == 404


def test_the_command_writes_the_page_of_the_last_written_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], step4: str
) -> None:
    monkeypatch.setattr("tirx_mini.play.studio.assets", lambda: STATIC)
    file, out = tmp_path / "mine.py", tmp_path / "page.html"
    file.write_text(step4)
    assert main([str(file), "--export", str(out), "--shape", "128,128,128"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("hgemm_v4: ok, ") and f"wrote {out}" in said
    data = recorded(out.read_text())
    assert data["session"]["file"] == "mine.py" and str(tmp_path) not in out.read_text()


@pytest.mark.parametrize(("arguments", "said"), [
    (["mine.py:nothing", "--export", "a.html"], "the file has no kernel nothing; it has hgemm_v4"),
    (["broken.py", "--export", "a.html"], "the text is not Python"),
    (["empty.py", "--export", "a.html"], "the file has no kernel\n"),
])  # fmt: skip
def test_a_kernel_that_is_not_there_is_said(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step4: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    for name, text in (("mine.py", step4), ("broken.py", "def f(:"), ("empty.py", "")):
        (tmp_path / name).write_text(text)
    assert main(arguments) == 2
    assert said in capsys.readouterr().err and not (tmp_path / "a.html").exists()


def test_options_of_a_run_are_for_the_export(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--size", "512"])
    assert "--size is for --export" in capsys.readouterr().err


@built
def test_the_page_of_step_7_is_small_and_opens_offline(tmp_path: Path, browser: Any) -> None:
    out = tmp_path / "page.html"
    reference = next(resource("kernels_ref/sm100").glob("step07_*.py"))
    assert main([str(reference), "--export", str(out), "--size", "512"]) == 0
    assert out.stat().st_size <= MOST_BYTES
    context = browser.new_context(offline=True)
    page = context.new_page()
    wrong: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(out.as_uri())
    page.get_by_text("hgemm_v7").first.wait_for()
    assert "ok" in page.inner_text("body") and "T.gemm_async" not in wrong
    assert wrong == [] and [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []
    context.close()
