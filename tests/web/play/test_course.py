"""Course mode: a failed run in four steps, hints, the quiz and drills."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from tests.browser import violations

from .fake import FakeServer
from .pages import done, text_of, type_text, until, wait_for
from .recorded import FINDING, PRODUCT, SIZES, TEXT, good

Play = Callable[..., Any]
Serve = Callable[..., FakeServer]

DRILL = {
    "id": "x1", "text": "def hgemm_v4(M, N, K):\n    a = 1\n    b = 2\n", "symptom": "On a GPU it hangs.",
    "kernel": "hgemm_v4", "sizes": {"m": 256, "n": 256, "k": 256}, "causes": ["one", "two", "three", "four"],
    "gpu": "h100", "sms": 4, "number": 2, "of": 3,
}  # fmt: skip
REVEALS = {
    1: {"sentence": "On a GPU the result is wrong.", "product": PRODUCT},
    3: {"findings": [{**FINDING, "help": "", "edit": None}]},
    4: {"help": "wait for tma2mma first", "findings": [FINDING]},
}


def sealed(request: Mapping[str, Any]) -> Iterator[Any]:
    """A failed run of course mode."""
    yield {"event": "started", "run": 7, "limits": {"build": 2, "simulate": 60}}
    yield {"event": "verdict", "verdict": "wrong", "title": "", "findings": [], "stages": 4}
    if "drill" in request:
        repaired = "b = 3" in request["text"]
        yield {"event": "drill", "repaired": repaired, "sentence": "It is repaired." if repaired else "It still fails."}
    yield {"event": "done", "seconds": 0.1}


def reveal(body: Mapping[str, Any]) -> tuple[int, Any]:
    if body["stage"] == 2:
        return 200, {"right": body["line"] == 3, "rule": "An MMA reads what a wait has guarded."}
    return 200, REVEALS[body["stage"]]


@pytest.fixture
def server(serve: Serve, timeline: str) -> FakeServer:
    """A server with the material of course mode, whose runs fail there."""
    server = serve(lambda request: sealed(request) if request["course"] else good(timeline, (FINDING,))(request))
    todos = [
        {"id": "4.1", "step": 4, "line": 2, "title": "load the tiles", "open": True},
        {"id": "5.1", "step": 5, "line": 0, "title": "of another step", "open": False},
    ]
    server.answers |= {
        "/course/reveal": reveal,
        "/course/todos": (200, {"todos": todos}),
        "/course/hint": lambda body: (200, {"text": f"hint {body['level']} of {body['todo']}"}),
        "/course/quiz": quiz,
        "/course/drill": (200, DRILL),
        "/course/drill/answer": lambda body: (
            200,
            {"right": False, "sentence": f"your cause {body['cause']} is not right"},
        ),
    }
    return server


def quiz(body: Mapping[str, Any]) -> tuple[int, Any]:
    if body["answer"] is None:
        return 200, {"question": f"How many for `bar{body['question']}`?", "unit": "arrivals", "count": 2}
    if not body["answer"].isdecimal():
        return 400, {"error": "Write a number, as in 128 or 1.5."}
    right = body["answer"] == "1000"
    said = "" if right else "A wait is not an arrival."
    reasons = ["A commit arrives once."]
    shown = {"figure": "1,000 arrivals", "measured": "1.23 arrivals"}
    return 200, {"right": right, **shown, "said": said, "reasons": reasons}


@pytest.fixture
def page(server: FakeServer, play: Play) -> Any:
    page = play(server)
    done(page)
    page.locator("#course").click()
    page.wait_for_selector(".reveals")
    return page


def test_outside_of_course_mode_everything_is_there(server: FakeServer, play: Play) -> None:
    page = play(server)
    done(page)
    assert "TX201" in page.locator("#pane-findings").inner_text()
    assert not page.locator("#tab-course").is_visible()


def test_a_failed_run_is_told_in_four_steps(server: FakeServer, page: Any) -> None:
    steps = page.locator(".reveals > li > button")
    assert "TX201" not in page.locator("body").inner_text() and page.locator(".cm-lint-marker").count() == 0
    assert [steps.nth(index).is_enabled() for index in range(4)] == [True, False, False, False]
    page.locator("#tab-product").click()
    assert "Course mode" in page.locator("#pane-product").inner_text()
    page.locator("#tab-findings").click()
    steps.nth(0).click()
    until(page, "On a GPU the result is wrong.", "#pane-findings")
    page.locator("#tab-product").click()
    assert "1 is wrong" in page.locator("#pane-product").inner_text()
    page.locator("#tab-findings").click()
    page.locator(".cm-line").nth(1).click()
    steps.nth(1).click()
    until(page, "Line 2 is not where it is broken.", "#pane-findings")
    page.locator(".cm-line").nth(2).click()
    assert steps.nth(1).inner_text() == "Mark line 3: it breaks the rule"
    steps.nth(1).click()
    until(page, "Line 3 is right.", "#pane-findings")
    steps.nth(2).click()
    page.wait_for_selector(".cm-lint-marker")
    assert "Help" not in page.locator(".findings").inner_text()
    steps.nth(3).click()
    until(page, "wait for tma2mma first", "#pane-findings")
    lines = [(body["stage"], body["line"]) for body in server.bodies("/course/reveal")]
    assert lines == [(1, None), (2, 2), (2, 3), (3, None), (4, None)]


def test_hints_open_one_after_another(server: FakeServer, page: Any) -> None:
    page.locator("#tab-course").click()
    page.wait_for_selector(".todos")
    assert page.locator(".todos > li").count() == 1
    for level in (1, 2, 3):
        page.get_by_role("button", name=f"Hint {level}").click()
        until(page, f"hint {level} of 4.1", ".todos")
    assert page.locator(".todos button:visible").all_inner_texts() == ["line 2"]


def test_the_quiz_asks_and_marks(server: FakeServer, page: Any) -> None:
    page.locator("#tab-course").click()
    answer, outcome = page.locator("#quiz-answer"), page.locator("#pane-course form").first
    for given, words in (("x", "Write a number"), ("4", "A wait is not an arrival."), ("1000", "Right")):
        answer.fill(given)
        page.keyboard.press("Enter")
        page.wait_for_function(
            "([node, words]) => node.innerText.includes(words)", arg=[outcome.element_handle(), words]
        )
    assert "A commit arrives once." in outcome.inner_text()
    assert "figure is 1,000 arrivals. Measured on a B200: 1.23 arrivals." in outcome.inner_text()
    assert outcome.locator("code").inner_text() == "bar0"
    page.get_by_role("button", name="Next question").click()
    until(page, "Question 2 of 2: How many for bar1?", "#pane-course")


def test_a_drill_takes_the_place_of_the_text_until_it_ends(server: FakeServer, page: Any) -> None:
    type_text(page, "# mine")
    page.locator("#tab-course").click()
    page.get_by_role("button", name="Deal a drill of step 4").click()
    until(page, "Drill 2 of 3: On a GPU it hangs.", "#pane-course")
    assert text_of(page) == DRILL["text"]
    wait_for(lambda: "drill" in server.bodies("/run")[-1])
    done(page)
    assert page.locator("#said").text_content() == ""
    run = server.bodies("/run")[-1]
    assert (run["drill"], run["course"], run["gpu"], run["sms"], run["sizes"]) == (
        "x1",
        True,
        "h100",
        4,
        DRILL["sizes"],
    )
    page.locator(".cm-line").nth(2).click()
    page.get_by_label("two").check()
    page.get_by_role("button", name="Answer").last.click()
    until(page, "Line 3: your cause 1 is not right.", "#pane-course form p[role=status]")
    assert server.bodies("/course/drill/answer") == [{"id": "x1", "line": 3, "cause": 1}]
    page.locator(".cm-line").nth(2).click()
    page.keyboard.press("End")
    page.keyboard.press("Backspace")
    until(page, "It still fails.", "#said")
    page.keyboard.type("3")
    until(page, "It is repaired.", "#said")
    page.keyboard.press("Control+s")
    until(page, "A drill is not saved", "#said")
    page.get_by_role("button", name="Back to my text").click()
    assert text_of(page) == f"{TEXT}# mine"
    wait_for(lambda: "drill" not in server.bodies("/run")[-1])
    last = server.bodies("/run")[-1]
    assert last["sizes"] == SIZES and last["gpu"] == "b200" and last["sms"] is None
    assert server.bodies("/save") == []


def test_what_is_missing_is_told(serve: Serve, play: Play) -> None:
    page = play(serve(course={"missing": "Course mode needs a checkout."}))
    page.locator("#course").click()
    until(page, "Course mode needs a checkout.", "#said")
    assert page.locator("#course").get_attribute("aria-pressed") == "false"
    assert not play(serve(course=False)).locator("#course").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_in_course_mode(server: FakeServer, play: Play, axe: str, scheme: str) -> None:
    page = play(server, color_scheme=scheme)
    page.locator("#course").click()
    page.wait_for_selector(".reveals")
    assert violations(page, axe) == []
    page.locator("#tab-course").click()
    page.wait_for_selector("#quiz-answer")
    assert violations(page, axe) == []
    page.get_by_role("button", name="Deal a drill of step 4").click()
    page.wait_for_selector(".cause")
    assert violations(page, axe) == []
