"""When a text runs, what supersedes it, and what is shown of an earlier one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from .fake import FakeServer
from .pages import BASE, done, stop_clock, type_text, until, wait_for
from .recorded import BOUND, FINDING, KERNEL, SIZES, TEXT, good

Play = Callable[..., Any]
Serve = Callable[..., FakeServer]


def test_the_first_run_asks_for_what_the_session_offers(serve: Serve, play: Play) -> None:
    server = serve()
    page = play(server)
    done(page)
    assert page.title() == "gemm_kernels.py – tirx play"
    assert server.bodies("/run") == [{
        "text": TEXT, "kernel": "hgemm_v4", "constants": {}, "sizes": SIZES, "gpu": "b200", "sms": None,
        "modules": [], "course": False, "want": BASE, "asked": False,
    }]  # fmt: skip
    assert page.locator("#verdict").inner_text() == "ok The product is right."
    assert page.locator("#pane-findings").inner_text() == "Nothing is wrong."


def test_the_token_leaves_the_address_and_survives_a_reload(serve: Serve, play: Play) -> None:
    server = serve()
    page = play(server)
    assert page.url == f"{server.origin}/"
    page.reload()
    done(page)
    page.evaluate("() => sessionStorage.clear()")
    page.reload()
    until(page, "The server does not accept the token")


def test_a_run_starts_150_ms_after_the_last_key_and_supersedes_the_one_before(
    serve: Serve, play: Play, timeline: str
) -> None:
    server = serve(good(timeline, pause=30.0))
    page = play(server, fresh=True)
    until(page, "Simulating.")
    stop_clock(page)
    type_text(page, "# one")
    page.clock.run_for(140)
    assert len(server.bodies("/run")) == 1
    page.clock.run_for(20)
    wait_for(lambda: server.cut == 1 and len(server.bodies("/run")) == 2)
    assert [body["text"] for body in server.bodies("/run")] == [TEXT, f"{TEXT}# one"]
    assert page.locator("#progress").get_attribute("value") == "0.3"


def test_the_bound_completes_the_times_of_the_verdict(serve: Serve, play: Play) -> None:
    def run(request: Mapping[str, Any]) -> Iterator[Any]:
        yield {"event": "started", "run": 7, "limits": {"build": 2, "simulate": 60}}
        yield {"event": "verdict", "verdict": "ok", "title": "ring: ok, 7 µs", "time": "7 µs", "findings": []}
        yield {**BOUND, "time": "7 µs ($& by itself)"}
        yield {"event": "done", "seconds": 0.1}

    page = play(serve(run))
    done(page)
    assert page.locator("#verdict").inner_text() == "ok ring: ok, 7 µs ($& by itself)"


def test_without_a_timeline_the_verdict_stays(serve: Serve, play: Play) -> None:
    def run(request: Mapping[str, Any]) -> Iterator[Any]:
        yield {"event": "started", "run": 7, "limits": {"build": 2, "simulate": 60}}
        yield {"event": "verdict", "verdict": "ok", "title": "ring: ok", "findings": []}
        yield {"event": "failed", "what": "timeline", "kind": "memory", "title": "it is too large", "text": ""}
        yield {"event": "done", "seconds": 0.1}

    page = play(serve(run))
    done(page)
    assert page.locator("#verdict").inner_text() == "ok ring: ok"
    page.locator("#tab-timeline").click()
    assert page.locator("#pane-timeline").inner_text() == "There is no timeline: it is too large"


def test_results_of_an_earlier_text_stay_and_are_grey(serve: Serve, play: Play, timeline: str) -> None:
    runs = iter([good(timeline, (FINDING,)), good(timeline, pause=30.0)])
    page = play(serve(lambda request: next(runs)(request)))
    done(page)
    assert not page.locator("#stale").is_visible()
    type_text(page, "# more")
    until(page, "Simulating.")
    assert page.locator("#stale").is_visible()
    assert "TX201" in page.locator("#pane-findings").inner_text()
    assert page.locator("#pane-findings").evaluate("(pane) => getComputedStyle(pane).filter") == "grayscale(1)"


def test_a_failure_shows_its_finding_and_keeps_the_last_good_timeline(serve: Serve, play: Play, timeline: str) -> None:
    def broken(request: Mapping[str, Any]) -> Iterator[Any]:
        yield {"event": "started", "run": 8, "limits": {"build": 2, "simulate": 60}}
        finding = {**FINDING, "code": "TX402", "title": "<img src=x onerror=alert(1)>", "edit": None}
        yield {"event": "failed", "what": "build", "title": "It cannot be built.", "text": "", "findings": [finding]}
        yield {"event": "done", "seconds": 0.1}

    runs = iter([good(timeline), broken])
    page = play(serve(lambda request: next(runs)(request)))
    page.locator("#tab-timeline").click()
    page.wait_for_selector("#labels button")
    done(page)
    type_text(page, "# more")
    until(page, "cannot be built", "#verdict")
    assert page.locator("#labels button").count() > 0 and page.locator("#stale").is_visible()
    page.locator("#tab-findings").click()
    assert not page.locator("#stale").is_visible()
    assert "error[TX402] <img src=x onerror=alert(1)>" in page.locator("#pane-findings").inner_text()
    assert page.locator("img").count() == 0


def test_a_text_that_does_not_parse_is_marked_only_after_a_second(serve: Serve, play: Play, timeline: str) -> None:
    def unparsed(request: Mapping[str, Any]) -> Iterator[Any]:
        finding = {**FINDING, "code": None, "title": "a bracket is open"}
        yield {"event": "failed", "what": "parse", "title": "It does not parse.", "text": "", "findings": [finding]}
        yield {"event": "done", "seconds": 0.01}

    runs = iter([good(timeline, (FINDING,)), unparsed, unparsed])
    server = serve(lambda request: next(runs)(request))
    server.answers["/kernels"] = (200, {"error": {**FINDING, "code": None, "title": "a bracket is open"}})
    page = play(server, fresh=True)
    done(page)
    stop_clock(page)
    type_text(page, "(")
    page.clock.run_for(900)
    until(page, "does not parse yet")
    assert "TX201" in page.locator("#pane-findings").inner_text()
    page.clock.run_for(100)
    until(page, "a bracket is open", "#pane-findings")
    page.clock.resume()
    page.keyboard.press("Control+Enter")
    until(page, "It does not parse.", "#verdict")


def test_without_locks_nothing_runs_until_control_enter(serve: Serve, play: Play) -> None:
    server = serve(automatic=False, missing=["Landlock is missing."])
    page = play(server)
    until(page, "Ctrl+Enter runs the text. Landlock is missing.")
    type_text(page, "# more")
    page.locator("#gpu").select_option("h100")
    page.locator("#tab-cuda").click()
    page.wait_for_timeout(300)
    assert server.bodies("/run") == []
    page.locator(".cm-content").focus()
    page.keyboard.press("Control+Enter")
    done(page)
    page.locator("#tab-tir").click()  # of a text that has run
    until(page, "def ring", "#pane-tir")
    assert [body["want"] for body in server.bodies("/run")] == [[*BASE, "cuda"], ["tir"]]
    assert all(body["asked"] for body in server.bodies("/run"))


def test_a_choice_runs_anew(serve: Serve, play: Play) -> None:
    server = serve()
    page = play(server)
    done(page)
    page.locator("#kernel").select_option("hgemm_v5")
    wait_for(lambda: server.bodies("/run")[-1]["kernel"] == "hgemm_v5")
    page.locator("#sms").fill("4")
    page.keyboard.press("Tab")
    wait_for(lambda: server.bodies("/run")[-1]["sms"] == 4)
    page.locator("#size-k").fill("0")
    page.keyboard.press("Tab")
    until(page, "whole numbers above 0")
    last = server.bodies("/run")[-1]
    assert last["kernel"] == "hgemm_v5" and last["sizes"] == {"m": 1024, "n": 1024, "k": 1024}


def test_the_command_names_the_kernel_that_is_shown_first(serve: Serve, play: Play) -> None:
    server = serve(kernel="hgemm_v5", gpus=[{"name": "b200", "title": "B200", "sms": 148}])
    page = play(server)
    done(page)
    assert server.bodies("/run")[0]["kernel"] == "hgemm_v5" and server.bodies("/run")[0]["sizes"]["m"] == 1024
    assert page.locator("#sms").get_attribute("placeholder") == "148"


def test_only_the_sizes_that_a_kernel_lets_one_choose_can_be_changed(serve: Serve, play: Play) -> None:
    kernels = [
        {"name": "fixed", "step": None, "title": "fixed", "written": True, "sizes": None, "free": ""},
        {"name": "hgemm_v2", "step": 2, "title": "a K loop", "written": True, "sizes": SIZES, "free": "K"},
    ]
    server = serve(kernels=kernels)
    page = play(server)
    done(page)
    assert [page.locator(f"#size-{axis}").is_enabled() for axis in "mnk"] == [False, False, True]
    page.locator("#kernel").select_option("fixed")
    done(page)
    wait_for(lambda: len(server.bodies("/run")) == 2)
    assert server.bodies("/run")[1]["sizes"] is None
    assert [page.locator(f"#size-{axis}").is_enabled() for axis in "mnk"] == [False, False, False]


def test_modules_beside_the_file_are_listed_and_sent(serve: Serve, play: Play) -> None:
    server = serve(modules=["tiles"])
    page = play(server, fresh=True)
    done(page)
    assert page.locator("#modules").inner_text() == "Imported from beside the file: tiles.py"
    stop_clock(page)
    server.answers["/kernels"] = (200, {"kernels": server.session["kernels"], "modules": ["tiles", "rings"]})
    type_text(page, "# more")
    page.clock.run_for(200)
    wait_for(lambda: len(server.bodies("/run")) == 2)
    page.clock.run_for(1000)
    wait_for(lambda: len(server.bodies("/run")) == 3)
    assert [body["modules"] for body in server.bodies("/run")] == [["tiles"], ["tiles"], ["tiles", "rings"]]
    assert "tiles.py, rings.py" in page.locator("#modules").inner_text()


def test_kernels_of_the_text_are_offered_a_second_after_the_last_key(serve: Serve, play: Play) -> None:
    server = serve()
    kernel = {"name": "mine", "step": None, "title": "", "written": True, "sizes": SIZES}
    server.answers["/kernels"] = (200, {"kernels": [kernel]})
    page = play(server)
    done(page)
    type_text(page, "# more")
    page.wait_for_function("() => document.querySelector('#kernel').value === 'mine'")
    assert server.bodies("/kernels") == [{"text": f"{TEXT}# more"}]


def test_a_server_that_is_gone_is_told(serve: Serve, play: Play) -> None:
    server = serve()
    page = play(server, refused="net::ERR_CONNECTION_REFUSED")
    done(page)
    server.close()
    page.locator("#run").click()
    until(page, "The server does not answer: start `tirx play` again.")
    page.locator("#tab-product").click()
    assert "1 is wrong" in page.locator("#pane-product").inner_text()


@pytest.mark.parametrize("pane", ["timeline", "bound", "product"])
def test_a_run_without_it_says_so(serve: Serve, play: Play, pane: str) -> None:
    def hangs(request: Mapping[str, Any]) -> Iterator[Any]:
        yield {"event": "started", "run": 8, "limits": {"build": 2, "simulate": 60}}
        yield {"event": "verdict", "verdict": "deadlock", "title": "It hangs.", "findings": []}
        yield {"event": "done", "seconds": 0.1}

    page = play(serve(hangs))
    done(page)
    page.locator(f"#tab-{pane}").click()
    assert page.locator(f"#pane-{pane}").inner_text().startswith("This run has no ")


def test_the_kernel_text_is_the_timelines_source(serve: Serve, play: Play) -> None:
    page = play(serve())
    page.locator("#tab-timeline").click()
    page.wait_for_selector("#labels button")
    line = KERNEL.splitlines().index("    Tx.gemm_async(tmem, Asmem[stage, :, :], Bsmem[stage, :, :])")
    page.locator(".cm-line").nth(line).click()
    until(page, "intervals of line 3 are marked", "#live")
    page.locator("#labels button", has_text="TMA").first.click()
    assert "Tx.copy_async" in page.locator(".cm-line.pointed").inner_text()


def test_the_view_of_the_timeline_outlives_a_run(serve: Serve, play: Play) -> None:
    page = play(serve())
    page.locator("#tab-timeline").click()
    page.wait_for_selector("#labels button")
    page.locator("#zoom-all").click()
    page.wait_for_function("() => document.querySelector('#seen').textContent.includes('the kernel')")
    type_text(page, "# more")
    page.wait_for_selector("#stale:visible", state="hidden")
    done(page)
    assert "the kernel" in page.locator("#seen").inner_text()
