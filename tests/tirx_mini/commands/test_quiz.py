"""`quiz`: the reader's number first, then the figure; the predictions are kept beside the kernels."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tirx_mini.commands import run_command
from tirx_mini.course import Notes, NotesError


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def answers(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


def test_a_step_is_asked_question_by_question(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    answers(monkeypatch, "many\n1\none commit\n65,536\nfloat32\n100\n\n")
    assert run_command("quiz", ["1"]) == 1
    said = capsys.readouterr().out
    assert "Write a number" in said and "2 of 3 right" in said
    assert said.index("your number, in arrivals") < said.index("the simulator's figure is 1 arrival\n")
    assert "The tensor core idles during the launch" in " ".join(said.split())
    kept = json.loads(Path("tirx_notes.json").read_text(encoding="utf-8"))["quiz"]
    assert kept["1.1"] == {"answer": 1, "why": "one commit", "right": True}
    assert not kept["1.3"]["right"]


def test_an_answer_may_be_an_argument(capsys: pytest.CaptureFixture) -> None:
    assert run_command("quiz", ["4", "--question", "1", "--answer", "16384", "--why", "one tile"]) == 1
    assert "Two loads signal the barrier" in capsys.readouterr().out
    assert run_command("quiz", ["4", "--question", "1", "--answer", "32768"]) == 0
    assert Notes.read().predictions["4.1"]["right"] is True


def test_a_time_is_shown_beside_the_measured_one(capsys: pytest.CaptureFixture) -> None:
    run_command("quiz", ["4", "--question", "3", "--answer", "4"])
    said = " ".join(capsys.readouterr().out.split())
    assert "the simulator's figure is" in said and "The load and the MMA still take turns" in said


def test_the_ladder_for_hopper_has_questions_and_notes_of_its_own(capsys: pytest.CaptureFixture) -> None:
    assert run_command("quiz", ["1", "--gpu", "h100", "--question", "2", "--answer", "1"]) == 1
    assert "`wgmma` takes a warpgroup" in capsys.readouterr().out
    assert run_command("quiz", ["1", "--gpu", "h200", "--question", "2", "--answer", "4"]) == 0
    assert Notes.read().predictions["sm90 1.2"]["right"] is True and "1.2" not in Notes.read().predictions
    assert run_command("quiz", ["1", "--gpu", "h99"]) == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["1", "--question", "9"], "step 1 has the questions 1 to 3"),
        (["1", "--answer", "3"], "--question says which"),
        (["1", "--question", "1", "--answer", "nan"], "a finite number"),
    ],
)
def test_bad_input_is_one_sentence(arguments: list[str], said: str, capsys: pytest.CaptureFixture) -> None:
    assert run_command("quiz", arguments) == 2
    assert said in capsys.readouterr().out


def test_the_end_of_the_input_ends_the_quiz(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    answers(monkeypatch, "")
    assert run_command("quiz", ["2"]) == 2
    assert "No answer was read" in capsys.readouterr().out and not Path("tirx_notes.json").exists()


def test_answers_before_the_end_of_the_input_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch, "1\none commit\n")
    assert run_command("quiz", ["1"]) == 2
    assert Notes.read().predictions["1.1"] == {"answer": 1, "why": "one commit", "right": True}


def test_a_file_that_is_no_notes_is_left_alone(capsys: pytest.CaptureFixture) -> None:
    Path("tirx_notes.json").write_text("[]", encoding="utf-8")
    with pytest.raises(NotesError):
        Notes.read()
    assert run_command("quiz", ["1", "--question", "1", "--answer", "1"]) == 2
    assert "is not a file of notes" in capsys.readouterr().out
    assert Path("tirx_notes.json").read_text(encoding="utf-8") == "[]"
