"""A grade as text, as HTML, and as Gradescope and Autolab read it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from tests.browser import violations
from tirx_mini.course import STEPS
from tirx_mini.grading import PARTS, Graded, Late, Part, StepResult, autolab, grade_html, grade_page, gradescope
from tirx_mini.report import plain

PAGE = (
    "error[TX207]: the MMA reads what <b>nothing</b> has written, and the sentence goes on\n"
    "   --> gemm_kernels.py:319:25\n    |\n319 |     Tx.gemm_async(\n    |     ^^^^^^^^^^^^^^"
)
RIGHT = tuple(Part(name, True, 1.0, f"{name} is fine") for name in PARTS)
WRONG = (
    Part("correctness", False, 0.0, "at 256x384x512: error[TX207]: the MMA reads what nothing has written", (PAGE,)),
    Part("performance", None, 0.0, "31.5 µs; the time of a wrong kernel does not count"),
    Part("implementation", False, 0.0, "at M = N = 8192, K = 1024, the grid has 4,096 CTAs, and a B200 holds 444"),
)
UNWRITTEN = (
    Part("correctness", False, 0.0, "step 5 is not written yet"),
    *(Part(name, None, 0.0, "there is no kernel") for name in PARTS[1:]),
)
COMMAND = "python -m tirx_mini check gemm_kernels.py:hgemm_v4 --shape 256,384,512"
GRADE = Graded(
    "handin.tar", "ab" * 32, "sim", "B200",
    (
        StepResult(3, 10.0, 10.0, RIGHT),
        StepResult(4, 10.0, 0.0, WRONG, "a step scores only if it is right", COMMAND),
        StepResult(5, 10.0, 0.0, UNWRITTEN, reproduce="python -m tirx_mini check gemm_kernels.py:hgemm_v5"),
    ),
    9.0, 30.0, Late(1, 0.1, "handed in late: 10% of the score is lost"), ("nothing limits the network here",),
    log="hello\n", seconds=12.5,
)  # fmt: skip
UNREADABLE = replace(GRADE, digest="", gpu="", problem="handin.tar has no gemm_kernels.py", late=None, log="", notes=())


def test_the_page_fits_80_columns_and_says_all() -> None:
    text = plain(grade_page(GRADE))
    assert max(map(len, text.splitlines())) <= 80
    assert text.startswith("handin.tar, on a modelled B200: 9 of 30 points\n")
    for said in (
        "correctness: fails at 256x384x512", "319 |     Tx.gemm_async(", "<b>nothing</b>", COMMAND, "hello",
        "note: nothing limits the network here", "10% of the score is lost", "a step scores only if it is right",
        "   5  pipeline  not written",
    ):  # fmt: skip
        assert said in text
    assert "hgemm_v5" not in text, "what is not written needs no command"


LOST = tuple(Part(name, None, 0.0, "not graded: the judge's process ended by SIGKILL", lost=True) for name in PARTS)
NOT_GRADED = replace(GRADE, steps=(*GRADE.steps, StepResult(6, 10.0, None, LOST)), score=None)


def test_what_is_not_graded_has_no_score_anywhere() -> None:
    text = plain(grade_page(NOT_GRADED))
    assert max(map(len, text.splitlines())) <= 80
    assert text.startswith("handin.tar, on a modelled B200: not graded in step 6\n")
    assert "The grader failed, so there is no score yet; step 6: the judge's process" in text
    assert re.search(r"(?m)^   6 .*\?  10$", text), text
    page = grade_html(NOT_GRADED)
    assert "<h1>handin.tar: not graded</h1>" in page and "Step 6, persistent: not graded" in page
    results = gradescope(NOT_GRADED)
    assert "score" not in results and not any("score" in test for test in results["tests"])
    assert "step 6: the judge's process ended by SIGKILL" in results["output"]
    scores = json.loads(autolab(NOT_GRADED).splitlines()[-1])["scores"]
    assert set(scores) == {"Step 3", "Step 4", "Step 5"}


def test_a_line_says_what_each_step_earned() -> None:
    lines = plain(grade_page(GRADE)).splitlines()
    assert [line.split() for line in lines if re.match(r" +[345] ", line)] == [
        "3 tiling yes yes yes 10 10".split(), "4 TMA no – no 0 10".split(), "5 pipeline not written 0 10".split(),
    ]  # fmt: skip


def test_a_file_that_cannot_be_graded_is_said_once() -> None:
    text = plain(grade_page(UNREADABLE))
    assert text.startswith("handin.tar: 9 of 30 points\n") and text.count("has no gemm_kernels.py") == 1
    assert "319 |" not in text


def test_html_is_one_page_without_scripts_whose_text_is_text() -> None:
    page = grade_html(GRADE)
    assert "<script" not in page and "http" not in page and "<b>nothing</b>" not in page
    assert "&lt;b&gt;nothing&lt;/b&gt;" in page and COMMAND in page and page.count("<details>") == 1


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("grade", [GRADE, UNREADABLE], ids=["grade", "unreadable"])
def test_html_is_legible_to_all(browser: Any, axe: str, grade: Graded, width: int, theme: str) -> None:
    page = browser.new_page(viewport={"width": width, "height": 720}, color_scheme=theme)
    try:
        page.set_content(grade_html(grade))
        page.evaluate("() => document.querySelectorAll('details').forEach(each => each.open = true)")
        assert violations(page, axe) == []
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    finally:
        page.close()


def test_gradescope_has_a_test_for_each_step() -> None:
    """The fields are those of Gradescope's specification of results.json."""
    results = json.loads(json.dumps(gradescope(GRADE)))
    assert results["score"] == 9.0 and results["execution_time"] == 12
    assert [test["score"] for test in results["tests"]] == [10, 0, 0]
    assert [test["status"] for test in results["tests"]] == ["passed", "failed", "failed"]
    assert results["tests"][1]["name"] == f"Step 4: {STEPS[4].title}"
    assert PAGE in results["tests"][1]["output"] and COMMAND in results["tests"][1]["output"]
    assert "10% of the score is lost" in results["output"] and "nothing limits the network" in results["output"]
    known = "score execution_time output output_format test_output_format test_name_format visibility stdout_visibility"
    known += " extra_data tests leaderboard"
    assert results.keys() <= set(known.split())
    assert Graded.from_dict(results["extra_data"]["grade"]) == GRADE


def test_autolab_reads_the_last_two_lines() -> None:
    *page, feedback, scores = autolab(GRADE).splitlines()
    assert json.loads(scores) == {"scores": {"Step 3": 9.0, "Step 4": 0.0, "Step 5": 0.0}}
    told = json.loads(feedback)
    assert told["_presentation"] == "semantic" and told["stages"] == ["Step 3", "Step 4", "Step 5"]
    assert told["Step 3"]["Correctness"] == {"passed": True}
    assert told["Step 4"]["Performance"]["hint"].startswith("31.5 µs")
    assert not any(line.startswith("{") for line in page)
