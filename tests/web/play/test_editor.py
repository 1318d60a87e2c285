"""The editor: findings at their lines, keys, edits of the help, and saving."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .fake import FakeServer
from .pages import done, text_of, type_text, until, wait_for
from .recorded import FINDING, TEXT, good

Play = Callable[..., Any]
Serve = Callable[..., FakeServer]


def test_findings_are_in_the_gutter_at_their_lines(serve: Serve, play: Play, timeline: str) -> None:
    page = play(serve(good(timeline, (FINDING, {**FINDING, "line": None, "severity": "warning"}))))
    done(page)
    marker = page.locator(".cm-lint-marker")
    assert marker.count() == 1
    line = page.locator(".cm-lineNumbers .cm-gutterElement", has_text="3").bounding_box()
    assert abs(marker.bounding_box()["y"] - line["y"]) < 10
    assert page.locator(".cm-lintRange-error").inner_text() == "Tx.gemm_async"
    assert page.locator(".findings > li").count() == 2


def test_findings_that_follow_from_others_are_folded(serve: Serve, play: Play, timeline: str) -> None:
    findings = (FINDING, {**FINDING, "consequence": True, "title": "a consequence"}, {**FINDING, "happened": False})
    page = play(serve(good(timeline, findings)))
    done(page)
    names = page.locator(".findings .finding-title:visible b").all_inner_texts()
    assert names == ["error[TX201]", "possible error[TX201]"]
    page.get_by_text("1 finding that follows from these").click()
    assert page.get_by_text("a consequence").is_visible()


def test_a_finding_goes_to_its_line_and_f8_to_the_next_one(serve: Serve, play: Play, timeline: str) -> None:
    page = play(serve(good(timeline, (FINDING,))))
    done(page)
    page.locator(".finding-title button").click()
    assert page.locator(".cm-activeLine").inner_text().strip().startswith("Tx.gemm_async")
    page.locator(".related button").click()
    assert page.locator(".cm-activeLine").inner_text().strip().startswith("Tx.copy_async")
    page.keyboard.press("F8")
    assert page.locator(".cm-activeLine").inner_text().strip().startswith("Tx.gemm_async")


def test_the_helps_edit_is_made_at_its_line_only_if_that_is_unchanged(serve: Serve, play: Play, timeline: str) -> None:
    page = play(serve(good(timeline, (FINDING,))))
    done(page)
    page.locator(".edit button").click()
    assert text_of(page).splitlines()[2] == "    tma2mma.wait(stage, phase)"
    page.wait_for_selector("#stale", state="hidden")
    done(page)
    page.locator(".edit button").click()
    until(page, "Line 3 has changed", "#said")


def test_a_key_makes_the_edit_of_its_line_as_one_change(serve: Serve, play: Play, timeline: str) -> None:
    page = play(serve(good(timeline, (FINDING,))))
    done(page)
    type_text(page, "#")
    page.wait_for_selector("#stale", state="hidden")
    done(page)
    page.keyboard.press("Control+.")
    assert text_of(page) == f"{TEXT}#"  # the line of the cursor has no edit
    page.locator(".finding-title button").click()
    page.keyboard.press("Control+.")
    assert text_of(page).splitlines()[2] == "    tma2mma.wait(stage, phase)"
    page.keyboard.press("Control+z")
    assert text_of(page) == f"{TEXT}#"


def test_a_finding_in_a_module_names_its_file_and_marks_no_line(serve: Serve, play: Play, timeline: str) -> None:
    place = {"line": 0, "column": 0, "end_line": 0, "end_column": 0, "where": "tiles.py:12", "edit": None}
    related = [{"line": 0, "where": "rings.py:7", "text": "the copy"}]
    page = play(serve(good(timeline, ({**FINDING, **place, "related": related},))))
    done(page)
    assert page.locator(".findings .where").all_inner_texts() == ["tiles.py:12", "rings.py:7"]
    assert page.locator(".cm-lint-marker").count() == 0 and page.locator("#pane-findings .to-line").count() == 0


def test_tab_indents_only_after_enter_and_escape_leaves(serve: Serve, play: Play) -> None:
    page = play(serve())
    done(page)
    focused = "() => document.activeElement.id || document.activeElement.className"
    page.locator("#help-open").focus()
    page.keyboard.press("Tab")
    assert "cm-content" in page.evaluate(focused)
    page.keyboard.press("Tab")
    assert "cm-content" not in page.evaluate(focused)
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    assert text_of(page) == TEXT
    page.keyboard.press("Tab")
    assert text_of(page).startswith("    def ring")
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert "cm-content" not in page.evaluate(focused)
    assert text_of(page) == f"    {TEXT}"


def test_control_s_saves_with_the_digest_that_the_page_last_saw(serve: Serve, play: Play) -> None:
    server = serve()
    server.answers["/save"] = (200, {"digest": "d1"})
    page = play(server)
    type_text(page, "# one")
    page.keyboard.press("Control+s")
    until(page, "gemm_kernels.py is saved.", "#said")
    page.keyboard.press("Control+s")
    page.wait_for_timeout(100)
    assert server.bodies("/save") == [{"text": f"{TEXT}# one", "digest": digest} for digest in ("d0", "d1")]


def conflict(server: FakeServer, play: Play) -> Any:
    """A page whose file has changed on disk, with the question open."""
    disk = TEXT.replace("64", "32")
    server.answers["/save"] = lambda body: (
        (409, {"digest": "d9", "text": disk}) if body["digest"] == "d0" else (200, {"digest": "d10"})
    )
    page = play(server)
    done(page)
    type_text(page, "# mine")
    page.keyboard.press("Control+s")
    page.wait_for_selector("#conflict[open]")
    return page


def test_a_file_that_changed_on_disk_is_shown_as_a_difference(serve: Serve, play: Play) -> None:
    server = serve()
    page = conflict(server, play)
    assert page.locator("#conflict .removed code").all_text_contents() == ["    BLK_K = 32", ""]
    assert page.locator("#conflict .added code").all_text_contents() == ["    BLK_K = 64", "# mine"]
    page.keyboard.press("Escape")
    until(page, "gemm_kernels.py is not saved.", "#said")
    assert len(server.bodies("/save")) == 1


def test_after_the_difference_the_reader_writes_the_file(serve: Serve, play: Play) -> None:
    server = serve()
    page = conflict(server, play)
    page.locator("#conflict-write").click()
    until(page, "gemm_kernels.py is saved.", "#said")
    assert server.bodies("/save")[-1] == {"text": f"{TEXT}# mine", "digest": "d9"}


def test_after_the_difference_the_reader_takes_the_files_text(serve: Serve, play: Play) -> None:
    server = serve()
    page = conflict(server, play)
    page.locator("#conflict-take").click()
    until(page, "BLK_K = 32", ".cm-content")
    wait_for(lambda: server.bodies("/run")[-1]["text"] == TEXT.replace("64", "32"))
    assert len(server.bodies("/save")) == 1


def test_export_keeps_what_the_server_makes_of_the_run(serve: Serve, play: Play) -> None:
    server = serve()
    server.answers["/export"] = (200, {"a": "page"})
    page = play(server)
    done(page)
    with page.expect_download() as download:
        page.locator("#export").click()
    assert download.value.suggested_filename == "gemm_kernels.html"
    assert server.bodies("/export") == [{"run": 7}]
