"""A class as CSV: a row for each hand-in, real names, times, and no cell that a spreadsheet computes."""

from __future__ import annotations

import csv
import io
from datetime import datetime, timezone

import pytest

from tirx_mini.grading import Class, Graded, Late, Likeness, Outcome, StepResult, alike_csv, grades_csv

TIME = datetime(2026, 12, 1, 22, 59, tzinfo=timezone.utc).timestamp()


def graded(problem: str = "", late: Late | None = None) -> Outcome:
    step = StepResult(1, 5.0, 4.5, ())
    return Outcome(Graded("x.py", "ab12", "sim", "B200", (step,), 4.5, 5.0, late=late, problem=problem))


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_a_row_has_all_that_is_known() -> None:
    late, unknown = Late(2, 0.2, "late"), Late(None, 0.0, "not known")
    outcomes = {"ann": graded(), "bob": graded(late=late), "cyd": graded("no\n  file", unknown)}
    files = {"ann": "ann.py", "bob": "Bob B.tar", "cyd": "cyd.py", "dee": "Dée.py"}
    times = {"ann": TIME, "bob": TIME, "cyd": None, "dee": None}
    found = rows(grades_csv(Class(outcomes, {"dee": "MemoryError: none"}, (), files, times), [1, 2]))
    assert found[0] == {
        "hand-in": "ann", "file": "ann.py", "score": "4.5", "of": "5", "step 1": "4.5", "step 2": "",
        "handed in": "2026-12-01T22:59:00Z", "days late": "", "problem": "", "sha256": "ab12",
    }  # fmt: skip
    assert [row["days late"] for row in found] == ["", "2", "unknown", ""]
    assert [row["handed in"] for row in found[2:]] == ["", ""]
    assert found[2]["problem"] == "no file"
    assert (found[3]["file"], found[3]["problem"]) == ("Dée.py", "not graded: MemoryError: none")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Zoë Müller_123_assignsubmission_file_", "Zoë Müller_123_assignsubmission_file_"),
        ("李雷 (2).py", "李雷 (2).py"),
        ("می\u200cخواهم.tar", "می\u200cخواهم.tar"),
        ("a\nb\x1b[31m.py", "a\\nb\\x1b[31m.py"),
        ("txt\u202eyp.py", "txt\\u202eyp.py"),
        ("caf\udce9.py", "caf\\xe9.py"),
    ],
)
def test_a_name_is_kept_but_for_what_nobody_sees(name: str, shown: str) -> None:
    text = grades_csv(Class({"x": graded()}, {}, (), {"x": name}), [])
    assert rows(text)[0]["file"] == shown and text.encode()


@pytest.mark.parametrize("sign", "=+-@＝＋－＠﹦﹢﹣﹫\t\r\n")
@pytest.mark.parametrize("before", ["", " ", "\u200b", "\xa0 "])
def test_no_cell_is_a_formula(sign: str, before: str) -> None:
    text = f"{before}{sign}cmd|' /C calc'!A0"
    found = Class({"x": graded(problem=text)}, {text: text}, (), {"x": text, text: text})
    for cell in [cell for row in csv.reader(io.StringIO(grades_csv(found, [1]))) for cell in row]:
        assert not cell.strip(" \u200b\xa0").startswith(tuple("=+-@＝＋－＠﹦﹢﹣﹫\t\r\n"))


def test_no_cell_has_a_formula_behind_the_separator_of_another_country() -> None:
    text = grades_csv(Class({"x": graded("a;=1+1;\u3000＝2")}, {}, (), {"x": "b\t=3;+4.py"}), [])
    assert "a;'=1+1;'\u3000＝2" in text or "a;'=1+1;' ＝2" in text
    assert rows(text)[0]["file"] == "b\\t=3;'+4.py"


def test_alike_hand_ins_have_their_real_names_too() -> None:
    pair = Likeness("zo_-01", "bob", 0.5, ((3, 0.5),), same_file=False)
    (row,) = rows(alike_csv([pair], {"zo_-01": "zoë.py", "bob": "bob.py"}))
    assert list(row.values()) == ["zo_-01", "bob", "0.50", "", "3:0.50", "zoë.py", "bob.py"]
