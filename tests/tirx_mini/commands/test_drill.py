"""`drill`: the symptom first, then the answer, then the repair, and the report at the end."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tirx_mini.commands import run_command
from tirx_mini.course.drills import DRILLS, Dealt, deal

FIRST = deal(DRILLS["sm100"][0], 0)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO(""))


def drill(capsys: pytest.CaptureFixture, *arguments: str) -> tuple[int, str]:
    status = run_command("drill", list(arguments))
    return status, " ".join(capsys.readouterr().out.split())


def answer(dealt: Dealt) -> list[str]:
    return ["--line", str(dealt.lines[0]), "--cause", str(dealt.right)]


def test_a_drill_from_the_symptom_to_the_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"first\n{FIRST.lines[0]}\n9\n{FIRST.right}\n"))
    status, said = drill(capsys, "1")
    assert status == 1 and "Step 1, drill 1 of 3: drill01.py" in said
    assert "of D is wrong" in said and "Write a number from 1 to 4." in said
    assert all(cause in said for cause in FIRST.causes)
    assert "TX501" not in said and "not right" not in said
    assert Path("drill01.py").read_text(encoding="utf-8") == FIRST.text

    status, said = drill(capsys, "1")
    assert status == 1 and "as it was dealt: repair it" in said

    Path("drill01.py").write_text(FIRST.text.replace("lane_id * 4 + warp_id", "lane_id * 4"), encoding="utf-8")
    status, said = drill(capsys, "1")
    assert status == 1 and "not repaired: the kernel still fails" in said and "TX501" not in said

    Path("drill01.py").write_text(FIRST.repaired, encoding="utf-8")
    status, said = drill(capsys, "1")
    assert status == 0 and "repaired" in said and "TX501" in said and FIRST.reason in said
    assert f"your line {FIRST.lines[0]}: right" in said and f"your cause {FIRST.right}: right" in said
    notes = json.loads(Path("tirx_notes.json").read_text(encoding="utf-8"))["drills"]["sm100 1 rows"]
    assert notes["state"] == "repaired" and notes["right line"] and notes["right cause"]

    status, said = drill(capsys, "1", "--line", "1", "--cause", "1")
    assert "drill 2 of 3: drill01_2.py" in said
    assert Path("drill01.py").read_text(encoding="utf-8") == FIRST.repaired


def test_a_file_of_the_reader_is_not_overwritten(capsys: pytest.CaptureFixture) -> None:
    Path("drill01.py").write_text("mine\n", encoding="utf-8")
    assert "drill01_2.py" in drill(capsys, "1", *answer(FIRST))[1]
    assert Path("drill01.py").read_text(encoding="utf-8") == "mine\n"


def test_a_file_that_is_gone_is_dealt_again(capsys: pytest.CaptureFixture) -> None:
    drill(capsys, "1", *answer(FIRST))
    Path("drill01.py").unlink()
    assert "was gone, and is dealt again" in drill(capsys, "1")[1]
    assert Path("drill01.py").read_text(encoding="utf-8") == FIRST.text


def test_without_an_answer_it_stays_open(capsys: pytest.CaptureFixture) -> None:
    status, said = drill(capsys, "1")
    assert status == 2 and "No answer was read" in said
    assert "drill 1 of 3: drill01.py" in drill(capsys, "1", *answer(FIRST))[1]


def test_who_gives_up_sees_the_mistake_and_gets_it_again_later(capsys: pytest.CaptureFixture) -> None:
    status, said = drill(capsys, "1", "--show")
    assert status == 1 and "TX501" in said and f"in line {FIRST.lines[0]}" in said
    assert "drill 1 of 3: drill01_2.py" in drill(capsys, "1", *answer(FIRST))[1]


def test_a_list_has_the_states_and_deals_nothing(capsys: pytest.CaptureFixture) -> None:
    drill(capsys, "1", *answer(FIRST))
    Path("drill01.py").write_text(FIRST.repaired, encoding="utf-8")
    drill(capsys, "1")
    status, said = drill(capsys, "1", "--list")
    assert status == 0
    assert said == "1 repaired, drill01.py, line right, cause right 2 not dealt yet 3 not dealt yet"
    assert not Path("drill01_2.py").exists()


def test_a_syntax_error_in_the_repair_is_one_sentence(capsys: pytest.CaptureFixture) -> None:
    drill(capsys, "1", *answer(FIRST))
    Path("drill01.py").write_text("def\n", encoding="utf-8")
    status, said = drill(capsys, "1")
    assert status == 2 and "drill01.py:1: invalid syntax" in said


def test_the_ladder_for_hopper_has_its_own(capsys: pytest.CaptureFixture) -> None:
    assert "drill01_sm90.py" in drill(capsys, "1", "--gpu", "h100", "--line", "1", "--cause", "1")[1]
    assert "wgmma" in Path("drill01_sm90.py").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["1", "--line", "3"], "give both"),
        (["1", "--line", "3", "--cause", "5"], "a number from 1 to 4"),
        (["1", "--line", "999", "--cause", "1"], "drill01.py has"),
        (["1", "--gpu", "v100"], "v100"),
    ],
)
def test_bad_input_is_one_sentence(arguments: list[str], said: str, capsys: pytest.CaptureFixture) -> None:
    status, page = drill(capsys, *arguments)
    assert status == 2 and said in page


def test_a_missing_reference_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.setattr("tirx_mini.course.hints.resource", Path)
    status, said = drill(capsys, "1")
    assert status == 2 and "there is no reference of step 1" in said and not Path("drill01.py").exists()
