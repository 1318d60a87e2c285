"""In play as in `check`, the reference's code stands for open TODOs once one is filled in, and no page shows it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.tirx_mini.course.test_filling import written
from tests.tirx_mini.play.serving import Page, page_of

SIZES = {"m": 128, "n": 128, "k": 64}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("filling")
    with page_of(written(folder, "sm100", 1, [1, 2, 3, 4, 6, 7]), folder) as page:
        yield page


def ran(page: Page, text: str, kernel: str = "hgemm_v1", **more: Any) -> dict[str, Any]:
    asked = {"text": text, "kernel": kernel, "sizes": SIZES, "asked": True, **more}
    return {event.get("stage", event["event"]): event for event in page.run(asked)}


def text_of(page: Page) -> str:
    return page.get("/session")[1]["text"]


def test_a_step_that_is_begun_is_judged_so_far(page: Page) -> None:
    events = ran(page, text_of(page), want=["findings", "timeline", "tir", "cuda"])
    verdict = events["verdict"]
    assert verdict["verdict"] == "ok" and verdict["title"].startswith("hgemm_v1: ok so far: 6 of 7 yours")
    assert verdict["notes"][0].startswith("step 1: 6 of 7 yours; the reference's code stands for TODO 5 (line ")
    for stage in ("tir", "cuda"):
        assert "items" not in events[stage] and "6 of 7 yours" in events[stage]["missing"]
    assert "try_wait" not in str({name: event for name, event in events.items() if name != "timeline"})


def test_a_finding_in_code_that_stands_for_a_todo_names_the_todo(page: Page) -> None:
    text = text_of(page).replace("init(mma_bar.ptr_to([0]), 1)", "init(mma_bar.ptr_to([0]), 2)", 1)
    verdict = ran(page, text)["verdict"]
    assert verdict["verdict"] == "deadlock" and "deadlock so far: 6 of 7 yours" in verdict["title"]
    first = verdict["findings"][0]
    lines = text.splitlines()
    assert lines[first["line"] - 1].strip() == "..."
    assert "is TODO 5, for which the reference's code stands" in str(first["related"])
    assert "try_wait(mma_bar" not in str(verdict) and "kernels_ref" not in str(verdict)


def test_code_that_stands_for_a_todo_and_does_not_build_names_the_todo(page: Page) -> None:
    text = text_of(page).replace("phase_mma", "phase_of_mma")
    failed = ran(page, text)["failed"]
    assert failed["findings"][0]["related"][-1]["text"].endswith("is TODO 5, for which the reference's code stands")
    assert "try_wait(mma_bar" not in str(failed)


def test_course_mode_tells_of_a_filled_step_what_a_gpu_shows(page: Page) -> None:
    text = text_of(page).replace("init(mma_bar.ptr_to([0]), 1)", "init(mma_bar.ptr_to([0]), 2)", 1)
    events = ran(page, text, course=True)
    revealed = page.post("/course/reveal", {"run": events["started"]["run"], "stage": 4})[1]
    assert events["verdict"]["stages"] == 4 and "is TODO 5" in str(revealed["findings"])


def test_a_step_that_is_not_begun_is_open(page: Page) -> None:
    assert ran(page, text_of(page), "hgemm_v4")["failed"]["findings"][0]["code"] == "TX402"


def test_without_filling_in_an_open_todo_is_said(tmp_path: Path) -> None:
    with page_of(written(tmp_path, "sm100", 1, [1]), tmp_path, fill=False) as page:
        assert ran(page, text_of(page))["failed"]["findings"][0]["code"] == "TX402"
