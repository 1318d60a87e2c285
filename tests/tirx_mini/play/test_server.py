"""The routes: the session, kernels, runs as streams, and the file that is saved."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import time
import webbrowser
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.tirx_mini.play.serving import Page, page_of
from tirx_mini.play.problems import PlayError
from tirx_mini.play.server import _in_thread
from tirx_mini.play.serving import has_browser, listening, open_page
from tirx_mini.sandbox import LOCKS, find_sandbox

SIZES = {"m": 256, "n": 256, "k": 128}


def asked(text: str, **more: Any) -> dict[str, Any]:
    return {"text": text, "kernel": "hgemm_v4", "sizes": SIZES, "asked": True, **more}


def test_the_session_has_the_file_and_its_kernels(page: Page, step4: str) -> None:
    status, session = page.get("/session")
    assert status == 200
    assert session["file"] == "gemm_kernels.py" and session["text"] == step4 and session["writable"]
    assert session["digest"] == hashlib.sha256(step4.encode()).hexdigest()
    assert [kernel["name"] for kernel in session["kernels"]] == ["hgemm_v4"]
    assert session["ladder"] == "b200" and {gpu["name"] for gpu in session["gpus"]} >= {"b200", "h100"}
    assert session["automatic"] is (session["missing"] == [])
    assert str(page.studio.source.path.parent) not in str(session)


def test_kernels_of_a_text_are_found_and_a_mistake_has_its_line(page: Page, step4: str) -> None:
    assert page.post("/kernels", {"text": step4})[1]["kernels"][0]["name"] == "hgemm_v4"
    assert page.post("/kernels", {"text": "x = 1\ndef f(:"})[1]["error"]["line"] == 2


def test_a_run_streams_its_events(page: Page, step4: str) -> None:
    events = list(page.run(asked(step4)))
    names = [event["event"] for event in events if event["event"] != "progress"]
    assert names == ["started", "built", "verdict", "product", "bound", "timeline", "done"]
    assert events[0]["limits"] == {"build": 2.0, "simulate": 60.0}
    built = next(event for event in events if event["event"] == "built")
    assert built["constants"]["BLK_K"]["value"] == 64


def test_a_module_beside_the_file_is_found_and_named_in_findings(tmp_path: Path, step4: str) -> None:
    """Step 4 with its first barrier initialised in a module, with one arrival too many."""
    init = "Tx.ptx.mbarrier.init(mma_bar.ptr_to([0]), 1)"
    assert step4.count(init) == 1
    text = "import barriers\n" + step4.replace(init, "barriers.init(mma_bar)")
    module = """import os, utils
from tirx_mini.script import tirx as Tx

@Tx.inline
def init(bar):
    Tx.ptx.mbarrier.init(bar.ptr_to([0]), 2)
"""
    file = tmp_path / "gemm_kernels.py"
    file.write_text(text)
    (tmp_path / "barriers.py").write_text(module)
    (tmp_path / "utils.py").write_text("raise SystemExit")
    with page_of(file, tmp_path) as page:
        assert page.get("/session")[1]["modules"] == ["barriers"]
        both = page.post("/kernels", {"text": f"{text}import gemm_kernels"})[1]["modules"]
        assert both == ["barriers", "gemm_kernels"]
        unopened = list(page.run(asked(text)))
        assert "barriers cannot be imported" in unopened[1]["title"]
        events = {event["event"]: event for event in page.run(asked(text, modules=["barriers", "../secret", "numpy"]))}
    verdict = events["verdict"]
    assert verdict["verdict"] == "deadlock"
    places = [verdict["findings"][0], *verdict["findings"][0]["related"]]
    assert "barriers.py:6" in [place["where"] for place in places]
    assert str(tmp_path) not in str(verdict)


def test_a_mistake_fails_the_build_at_its_line(page: Page, step4: str) -> None:
    events = list(page.run(asked(step4.replace("Tx.gemm_async", "Tx.nothing"))))
    failed = events[1]
    assert failed["event"] == "failed" and failed["what"] == "build" and failed["findings"][0]["line"] > 0
    assert events[-1]["event"] == "done"


@pytest.mark.parametrize("text", ["x = 1\ndef f(:", "x = '\0'", "(" * 1000])
def test_a_text_that_does_not_parse_reaches_no_process(page: Page, text: str) -> None:
    started, failed, done = page.run(asked(text))
    assert failed["kind"] == "parse" and failed["findings"][0]["title"].startswith("the text is not Python: ")
    assert failed["findings"][0] == page.post("/kernels", {"text": text})[1]["error"]


@pytest.mark.parametrize(("text", "kind"), [("while True: pass", "time"), ("x = bytearray(1 << 40)", "memory")])
def test_a_kernel_that_never_ends_or_takes_all_memory_leaves_the_server_usable(
    page: Page, step4: str, text: str, kind: str
) -> None:
    events = list(page.run(asked(text)))
    assert [event["kind"] for event in events if event["event"] == "failed"] == [kind]
    again = [event for event in page.run(asked(step4)) if event["event"] == "verdict"]
    assert again[0]["verdict"] == "ok"


def test_a_page_that_goes_away_ends_the_processes_of_its_run(page: Page, step4: str) -> None:
    page.get("/session")
    events = page.run(asked(step4, sizes={"m": 4096, "n": 4096, "k": 4096}))
    assert next(events)["event"] == "started"
    while next(events)["event"] != "progress":
        pass
    run = page.studio.runs.run(page.studio.runs._last)
    assert run is not None
    worker = run._simulation._held._item
    assert worker is not None and worker._child is not None
    child = psutil.Process(worker._child.pid)
    events.close()  # type: ignore[attr-defined]
    end = time.monotonic() + 10
    while child.is_running() and time.monotonic() < end:
        time.sleep(0.05)
    assert not child.is_running()


def test_a_third_run_ends_the_oldest(page: Page, step4: str) -> None:
    long = asked(step4, sizes={"m": 4096, "n": 4096, "k": 4096})
    first, second = page.run(long), page.run(long)
    assert next(first)["event"] == next(second)["event"] == "started"
    assert list(page.run(asked(step4)))[-1]["event"] == "done"
    assert "done" not in [event["event"] for event in first]
    second.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize("lock", LOCKS)
def test_without_a_lock_a_text_runs_only_when_asked(lock: str, tmp_path: Path, step4: str) -> None:
    sandbox = find_sandbox(bubblewrap=False, locks=tuple(each for each in LOCKS if each != lock))
    file = tmp_path / "gemm_kernels.py"
    file.write_text(step4)
    with page_of(file, tmp_path, sandbox) as page:
        session = page.get("/session")[1]
        assert session["automatic"] is False and session["missing"]
        status, answer = page.post("/run", asked(step4, asked=False))
        assert status == 409 and answer["error"].startswith("this text runs when you ask for it")
        assert [e["verdict"] for e in page.run(asked(step4)) if e["event"] == "verdict"] == ["ok"]


def test_with_all_locks_a_text_runs_unasked(page: Page, step4: str) -> None:
    if page.studio.missing:
        pytest.skip("this machine lacks a lock")
    assert [e["verdict"] for e in page.run(asked(step4, asked=False)) if e["event"] == "verdict"] == ["ok"]


@pytest.mark.parametrize("bad", [
    {"kernel": "a b"}, {"sizes": {"m": 0, "n": 1, "k": 1}}, {"sizes": 7}, {"sizes": {"m": 1 << 20, "n": 1, "k": 1}},
    {"gpu": "rtx"}, {"sms": 0}, {"sms": 10_000}, {"sms": True}, {"want": ["all"]}, {"constants": {"a b": 1}},
    {"constants": {"a": [1]}}, {"text": None},
])  # fmt: skip
def test_a_bad_field_gets_a_sentence(page: Page, step4: str, bad: dict[str, Any]) -> None:
    status, answer = page.post("/run", asked(step4) | bad)
    assert status == 400 and answer["error"]


# -- saving ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def own(tmp_path: Path) -> Any:
    file = tmp_path / "mine.py"
    file.write_bytes(b"x = 1\r\ny = 2\r\n")
    file.chmod(0o640)
    with page_of(file, tmp_path) as page:
        yield page, file


def test_saving_writes_the_file_whole_and_keeps_its_newlines_and_mode(own: tuple[Page, Path]) -> None:
    page, file = own
    session = page.get("/session")[1]
    assert session["text"] == "x = 1\ny = 2\n"
    status, answer = page.post("/save", {"text": "x = 3\n", "digest": session["digest"]})
    assert status == 200 and file.read_bytes() == b"x = 3\r\n"
    assert answer["digest"] == page.get("/session")[1]["digest"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert not list(file.parent.glob(".*.tmp"))


def test_a_file_that_was_changed_elsewhere_is_not_overwritten(own: tuple[Page, Path]) -> None:
    page, file = own
    digest = page.get("/session")[1]["digest"]
    file.write_text("z = 9\n")
    status, answer = page.post("/save", {"text": "x = 3\n", "digest": digest})
    assert status == 409 and answer["text"] == "z = 9\n" and file.read_text() == "z = 9\n"
    assert page.post("/save", {"text": "x = 3\n", "digest": answer["digest"]})[0] == 200


def test_no_field_of_a_request_names_a_file(own: tuple[Page, Path]) -> None:
    page, file = own
    digest = page.get("/session")[1]["digest"]
    body = {"text": "", "digest": digest, "file": "../other.py", "path": "/tmp/other.py"}
    assert page.post("/save", body)[0] == 200
    assert file.read_bytes() == b"" and not (file.parent.parent / "other.py").exists()


def test_a_file_that_cannot_be_written_is_said(own: tuple[Page, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    page, file = own
    digest = page.get("/session")[1]["digest"]

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tirx_mini.files._replace", refuse)
    status, answer = page.post("/save", {"text": "", "digest": digest})
    assert status == 500 and "cannot be written" in answer["error"] and file.read_bytes() != b""


def test_a_failure_of_the_server_is_an_answer_like_any_other(own: tuple[Page, Path], monkeypatch: Any) -> None:
    page, _ = own

    def fail() -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(page.studio, "session", fail)
    page.server._routes["GET", "/session"] = _in_thread(lambda _: page.studio.session())
    status, headers, body = page.request("GET", "/session")
    assert status == 500 and json.loads(body) == {"error": "the server failed: RuntimeError: no"}
    assert headers["x-content-type-options"] == "nosniff"


# -- opening -----------------------------------------------------------------------------------------------------------


def test_the_browser_is_led_through_a_file_that_nobody_else_may_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    seen: list[str] = []
    old = os.umask(0)
    try:
        assert open_page("http://127.0.0.1:1/#token=abc", lambda url: bool(seen.append(url)) or True)
    finally:
        os.umask(old)
    (file,) = tmp_path.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert seen == [file.as_uri()] and "abc" not in seen[0]
    assert '"http://127.0.0.1:1/#token=abc"' in file.read_text()


@pytest.mark.parametrize(("release", "display", "known", "found"), [
    ("6.1.0-generic", ":0", True, True), ("6.1.0-generic", "", True, False), ("6.1.0-generic", ":0", False, False),
    ("5.15.0-Microsoft-standard-WSL2", ":0", True, False),
])  # fmt: skip
def test_a_browser_is_opened_only_where_this_machine_shows_it(
    release: str, display: str, known: bool, found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On WSL the browser is another system's, which cannot read the file."""

    def get() -> None:
        if not known:
            raise webbrowser.Error("none")

    monkeypatch.setattr("platform.release", lambda: release)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(webbrowser, "get", get)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", display)
    assert has_browser() is found


def test_a_port_that_is_taken_is_said() -> None:
    with listening(0) as at, pytest.raises(PlayError, match="cannot be had"):
        listening(at.getsockname()[1])
