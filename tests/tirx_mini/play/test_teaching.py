"""Course mode tells in four steps, and hints, quizzes and drills are those of the commands."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.tirx_mini.play.serving import Page, page_of
from tirx_mini.course import DRILLS, QUESTIONS, deal
from tirx_mini.resources import resource

STUDENT = resource("gemm_kernels.py").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("course")
    file = folder / "gemm_kernels.py"
    file.write_text(STUDENT, encoding="utf-8")
    with page_of(file, tmp_path_factory.mktemp("processes")) as page:
        yield page


def ran(page: Page, **body: Any) -> dict[str, Any]:
    found = {event["event"]: event for event in page.run({"kernel": "f", "asked": True, **body})}
    assert "failed" not in found, found["failed"]
    return found


def notes(page: Page) -> dict[str, Any]:
    return json.loads((page.studio.source.path.parent / "tirx_notes.json").read_text())


def test_a_mistake_is_told_in_four_steps(course: Page, step4: str) -> None:
    text = step4.replace("TMA_BYTES = (BLK_M * BLK_K", "TMA_BYTES = (BLK_M * BLK_N")
    sizes = {"m": 128, "n": 128, "k": 128}
    events = ran(course, text=text, kernel="hgemm_v4", sizes=sizes, course=True)
    assert events["verdict"] | {"verdict": "wrong", "stages": 4, "findings": []} == events["verdict"]
    assert "TX106" not in str({name: event for name, event in events.items() if name != "timeline"})
    number = events["started"]["run"]

    def told(stage: int, **more: Any) -> Any:
        return course.post("/course/reveal", {"run": number, "stage": stage, **more})[1]

    first = told(1)
    assert first["sentence"] == "it hangs: the launch does not end" and first["product"]["tiles"] == [[2]]
    second = told(2, line=1)
    assert second["right"] is False and second["rule"]
    third = told(3)["findings"][0]
    assert third["code"] == "TX106" and third["line"] and third["help"] == "" and "help:" not in third["text"]
    assert told(2, line=third["line"])["right"] is True
    fourth = told(4)
    assert fourth["help"] and fourth["help"] not in json.dumps(third)


def test_a_run_outside_of_course_mode_conceals_nothing(course: Page, step4: str) -> None:
    number = ran(course, text=step4, kernel="hgemm_v4", sizes={"m": 128, "n": 128, "k": 128})["started"]["run"]
    for run in (number, 10_000, None, "1"):
        assert course.post("/course/reveal", {"run": run, "stage": 1})[0] == 404


def test_todos_have_their_lines_and_states(course: Page) -> None:
    todos = course.post("/course/todos", {"text": STUDENT})[1]["todos"]
    first = todos[0]
    assert first["id"] == "1.1" and first["open"] and "TODO" in STUDENT.splitlines()[first["line"] - 1]
    filled = re.sub(r"(?m)^( +)\.\.\.$", r"\1pass", STUDENT, count=1)
    assert not course.post("/course/todos", {"text": filled})[1]["todos"][0]["open"]


def test_hints_tell_more_at_each_level(course: Page) -> None:
    texts = [course.post("/course/hint", {"text": STUDENT, "todo": "4.1", "level": level})[1] for level in (1, 2, 3)]
    assert len({each["text"] for each in texts}) == 3
    assert [each["code"] for each in texts] == [False, False, True]
    assert "](" not in texts[0]["text"]
    assert course.post("/course/hint", {"text": STUDENT, "todo": "4.99", "level": 1})[0] == 404
    assert course.post("/course/hint", {"text": STUDENT, "todo": "../../x", "level": 1})[0] == 400
    assert course.post("/course/hint", {"text": STUDENT, "todo": "4.1", "level": 4})[0] == 400


def test_a_quiz_asks_then_marks_and_keeps_the_answer(course: Page) -> None:
    asked = course.post("/course/quiz", {"step": 1, "question": 0, "answer": None})[1]
    first = QUESTIONS["sm100"][1][0]
    assert asked == {"question": first.asked, "unit": first.unit, "count": len(QUESTIONS["sm100"][1])}
    answer = {"step": 1, "question": 0, "answer": f" {first.figure():,} ", "why": "because"}
    mark = course.post("/course/quiz", answer)[1]
    assert mark["right"] is True and mark["reasons"] and mark["figure"] == "1 arrival"
    assert notes(course)["quiz"]["1.1"]["why"] == "because"
    assert course.post("/course/quiz", {**answer, "answer": "-1"})[1]["right"] is False
    for bad in ("x", "nan", "", 7):
        assert course.post("/course/quiz", {**answer, "answer": bad})[0] == 400
    assert course.post("/course/quiz", {"step": 1, "question": 99})[0] == 400


def test_a_file_for_hopper_has_the_questions_of_its_ladder(tmp_path: Path) -> None:
    file = tmp_path / "kernels_sm90.py"
    file.write_text(resource("gemm_kernels_sm90.py").read_text(encoding="utf-8"), encoding="utf-8")
    with page_of(file, tmp_path) as page:
        asked = page.post("/course/quiz", {"step": 1, "question": 0, "answer": None})[1]
    assert asked["question"] == QUESTIONS["sm90"][1][0].asked != QUESTIONS["sm100"][1][0].asked


def test_a_drill_is_dealt_answered_and_repaired(course: Page) -> None:
    drill = course.post("/course/drill", {"step": 4, "seed": 3})[1]
    dealt = deal(next(each for each in DRILLS["sm100"] if each.step == 4), 3)
    assert drill["text"] == dealt.text and drill["causes"] == list(dealt.causes)
    assert set(drill) == {
        "id", "text", "kernel", "symptom", "sizes", "sms", "gpu", "causes", "number", "of",
    } and dealt.reason not in json.dumps(drill)  # fmt: skip
    answer = {"id": drill["id"], "line": dealt.lines[0], "cause": dealt.right - 1}
    marks = course.post("/course/drill/answer", answer)[1]
    assert marks["right"] is True
    wrong = course.post("/course/drill/answer", {**answer, "cause": dealt.right % 4})[1]
    assert wrong["right"] is False and wrong["sentence"].startswith("your line is right and your cause is not right;")

    broken = ran(course, text=drill["text"], kernel=drill["kernel"], drill=drill["id"])
    assert broken["verdict"]["stages"] == 4 and broken["verdict"]["findings"] == []
    assert broken["drill"]["repaired"] is False and "reason" not in broken["drill"]
    repaired = ran(course, text=dealt.repaired, kernel=drill["kernel"], drill=drill["id"])
    assert repaired["drill"]["repaired"] is True and repaired["drill"]["reason"] == dealt.reason
    (note,) = notes(course)["drills"].values()
    assert note["state"] == "repaired" and note["right line"] is True
    assert not list(course.studio.source.path.parent.glob("drill*.py"))


def test_a_drill_that_is_not_open_is_said(course: Page, step4: str) -> None:
    for path, body in (("/run", {"text": step4, "kernel": "f", "asked": True, "drill": "x"}),
                       ("/course/drill/answer", {"id": "x", "line": 1, "cause": 0})):  # fmt: skip
        status, answer = course.post(path, body)
        assert status == 404 and "no longer open" in answer["error"]


def test_without_the_courses_material_a_sentence_says_so(
    course: Page, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tirx_mini.play.filling.resource", lambda name: tmp_path / name)
    assert "references" in course.get("/session")[1]["course"]["missing"]
    assert course.post("/course/drill", {"step": 4, "seed": 0})[0] == 404
    assert course.post("/course/todos", {"text": STUDENT})[0] == 404
