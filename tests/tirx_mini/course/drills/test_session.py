"""A session deals the open drill, else the first unrepaired one, and overwrites no file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tirx_mini.course import DRILLS, Notes, NotesError, Session, answered, session, write_new
from tirx_mini.course.drills import REPAIRED, SHOWN

SEVENTH = tuple(drill for drill in DRILLS["sm100"] if drill.step == 7)


def dealt(notes: Notes) -> Session:
    opened = session(SEVENTH, notes)
    assert write_new(opened)
    return opened


def test_the_first_is_dealt_and_stays_open(tmp_path: Path) -> None:
    notes = Notes.read(tmp_path)
    opened = dealt(notes)
    assert opened.number == 1 and opened.path == tmp_path / "drill07.py" and not opened.answered
    again = session(SEVENTH, answered(opened, 5, 2).noted(notes))
    assert (again.dealt, again.line, again.cause) == (opened.dealt, 5, 2)
    assert not again.changed and not write_new(again)


def test_the_next_is_dealt_beside_the_files_that_are_there(tmp_path: Path) -> None:
    notes = Notes.read(tmp_path)
    opened = dealt(notes)
    following = dealt(opened.noted(notes, REPAIRED))
    assert following.number == 2 and following.path.name == "drill07_2.py"


def test_one_that_was_shown_comes_again_under_other_names(tmp_path: Path) -> None:
    notes = Notes.read(tmp_path)
    opened = dealt(notes)
    again = dealt(opened.noted(notes, SHOWN))
    assert again.number == 1 and again.dealt.seed == opened.dealt.seed + 1
    assert again.dealt.text != opened.dealt.text


def test_after_the_last_the_first_comes_again(tmp_path: Path) -> None:
    notes = Notes.read(tmp_path)
    for _ in SEVENTH:
        notes = dealt(notes).noted(notes, REPAIRED)
    assert (dealt(notes).number, session(SEVENTH, notes, seed=9).dealt.seed) == (1, 9)


def test_a_file_of_hopper_has_a_name_of_its_own(tmp_path: Path) -> None:
    drills = tuple(drill for drill in DRILLS["sm90"] if drill.step == 7)
    assert session(drills, Notes.read(tmp_path)).path.name == "drill07_sm90.py"


def test_a_line_next_to_the_mistake_counts(tmp_path: Path) -> None:
    opened = session(SEVENTH, Notes.read(tmp_path))
    last = max(opened.dealt.lines)
    right = [answered(opened, line, 1).right_line for line in (last, last + 1, last + 2)]
    assert right == [True, True, False]
    causes = [answered(opened, 1, cause).right_cause for cause in range(1, 5)]
    assert causes.count(True) == 1 and causes[opened.dealt.right - 1]


def test_the_marks_are_noted_at_the_end(tmp_path: Path) -> None:
    notes = Notes.read(tmp_path)
    opened = session(SEVENTH, notes)
    given = answered(opened, opened.dealt.lines[0], opened.dealt.right % 4 + 1)
    (note,) = given.noted(notes, REPAIRED).drills.values()
    assert note["right line"] is True and note["right cause"] is False
    (note,) = given.noted(notes).drills.values()
    assert "right line" not in note


def test_a_note_without_a_seed_is_refused(tmp_path: Path) -> None:
    notes = Notes.read(tmp_path).with_drill("sm100 7 lanes", {"state": "open"})
    with pytest.raises(NotesError, match="remove that entry"):
        session(SEVENTH, notes)
