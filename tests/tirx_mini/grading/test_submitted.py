"""When hand-ins were handed in: tables as teachers have them, the times of files, and what is not known."""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from tirx_mini.grading import (
    Class,
    Entry,
    Graded,
    HandIn,
    Lateness,
    Outcome,
    StepResult,
    SubmittedError,
    grades_csv,
    own_times,
    parse_time,
    seconds_of,
    times_of_files,
    times_of_table,
)

DUE = Lateness(datetime(2026, 12, 1, 12, 0, tzinfo=timezone(timedelta(hours=-5))), 0.1, 3)
NOON = datetime(2026, 12, 1, 12, 0, tzinfo=timezone.utc).timestamp()
HOUR = 3600.0


@pytest.mark.parametrize(
    "text",
    [
        "2026-12-01T12:00:00Z", "2026-12-01 12:00Z", "2026-12-01T12:00:00.123456789Z", "2026-12-01 12:00:00 UTC",
        "2026-12-01T14:00:00+02:00", "2026-12-01 07:00:00 -0500", " 2026-12-01t12:00:00z ",
    ],
)  # fmt: skip
def test_a_time_as_course_systems_write_it(text: str) -> None:
    assert seconds_of(parse_time(text), DUE) == NOON


@pytest.mark.parametrize(
    "text", ["yesterday", "", "2026-12-01", "01/12/2026 12:00", "2026-13-01T12:00Z", "2026-12-01T25:00Z", "1764590400"]
)
def test_other_texts_are_no_times(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time; write it as 2026-12-01T23:59:00Z"):
        parse_time(text)


def test_a_time_without_a_zone_is_one_of_the_zone_of_the_due_date() -> None:
    time = parse_time("2026-12-01T12:00:00")
    assert seconds_of(time, DUE) == NOON + 5 * HOUR and seconds_of(time, Lateness()) == NOON


ENTRIES = [
    Entry("ann", Path("class/ann.py")),
    Entry("smith_1_handin", Path("class/smith_1_handin.tar")),
    Entry("zo_-0123456789ab", Path("class/zoë.tar.gz")),
    Entry("bob.py", Path("class/bob.py")),
    Entry("bob.tar", Path("class/bob.tar")),
]


def table(folder: Path, text: str) -> dict[str, float | None]:
    path = folder / "times.csv"
    path.write_text(text, encoding="utf-8")
    times, unknown = times_of_table(path, ENTRIES, DUE)
    assert not unknown
    return {entry.name: time for entry in ENTRIES if (time := times(entry, None)) is not None}


@pytest.mark.parametrize("row", ["ann", "ann.py", '"ann"'])
def test_a_row_names_a_file_with_or_without_its_suffix(tmp_path: Path, row: str) -> None:
    assert table(tmp_path, f"{row},2026-12-01T12:00:00Z\n") == {"ann": NOON}


@pytest.mark.parametrize("row", ["zoë", "zoe\u0308", "zoë.tar.gz", "zo_-0123456789ab"])
def test_a_row_names_a_file_in_any_writing_of_its_letters(tmp_path: Path, row: str) -> None:
    assert table(tmp_path, f"{row},2026-12-01T12:00:00Z\n") == {"zo_-0123456789ab": NOON}


@pytest.mark.parametrize(
    "text",
    [
        "name,time\nann,2026-12-01T12:00Z\n",
        "\ufeffStudent;Submission time\r\nann;2026-12-01 12:00Z\r\n",
        "ann\t2026-12-01T12:00Z\textra\n\n",
        '"Handed in","Score","hand-in"\n2026-12-01T12:00Z,5,ann\n',
        'Name;Time\n"ann";"2026-12-01T12:00Z"\nbob.tar;\n',
    ],
)
def test_headers_columns_and_separators_as_they_come(tmp_path: Path, text: str) -> None:
    assert table(tmp_path, text) == {"ann": NOON}


def test_the_table_of_grades_can_be_given_back(tmp_path: Path) -> None:
    handed_in = {"ann": NOON, "bob.py": None, "@sum": NOON + HOUR}
    step = StepResult(1, 5.0, 5.0, ())
    outcomes = {name: Outcome(Graded(name, "", "sim", "", (step,), 5.0, 5.0)) for name in handed_in}
    path = tmp_path / "grades.csv"
    path.write_text(grades_csv(Class(outcomes, {}, (), {}, handed_in), [1]), encoding="utf-8")
    entries = [*ENTRIES, Entry("@sum", Path("class/@sum.py"))]
    times, unknown = times_of_table(path, entries, DUE)
    assert not unknown and {entry.name: times(entry, None) for entry in entries if entry.name in handed_in} == handed_in


def test_names_that_no_hand_in_has_or_several_have_are_given_back(tmp_path: Path) -> None:
    path = tmp_path / "times.csv"
    path.write_text("anna,2026-12-01T12:00Z\nbob,2026-12-01T12:00Z\nbob.py,2026-12-01T13:00Z\n", encoding="utf-8")
    times, unknown = times_of_table(path, ENTRIES, DUE)
    assert unknown == ["anna", "bob"]
    assert [times(entry, None) for entry in ENTRIES] == [None, None, None, NOON + HOUR, None]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"ann,2026-12-01T12:00Z\nann.py,2026-12-01T13:00Z\n",
         r"times.csv:2: ann.py has a time in line 1, too; leave one of them"),
        (b"name,time\nann,1/12/2026\n", r"times.csv:2: '1/12/2026' is not a time; write it as"),
        (b"ann\n", r"times.csv:1: write a name and a time, as in ann,2026-12-01T23:59:00Z"),
        (b"ann,2026-12-01T12:00Z\n\xff\n", r"is not in UTF-8; save the table of times as CSV in UTF-8"),
        (b'ann,2026-12-01T12:00Z\n"' + b"x" * 200_000 + b'",y\n', r"times.csv:2: this is not CSV: field larger than"),
    ],
)  # fmt: skip
def test_a_table_that_cannot_be_used_is_one_sentence(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "times.csv"
    path.write_bytes(data)
    with pytest.raises(SubmittedError, match=said) as error:
        times_of_table(path, ENTRIES, DUE)
    assert "\n" not in str(error.value)


def test_a_table_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    for path in (tmp_path / "none.csv", tmp_path):
        with pytest.raises(SubmittedError, match=r"the table of times .* cannot be read: "):
            times_of_table(path, ENTRIES, DUE)


def test_the_times_of_files_are_those_of_the_archives_and_not_of_what_is_in_them(tmp_path: Path) -> None:
    (tmp_path / "ann").mkdir()
    path = tmp_path / "ann" / "handin.tar"
    path.touch()
    os.utime(path, (NOON, NOON))
    handin = HandIn("handin.tar", "gemm_kernels.py", "", NOON - HOUR)
    for entry in (Entry("ann", tmp_path / "ann"), Entry("ann", path)):
        assert times_of_files(entry, handin) == NOON and own_times(entry, handin) == NOON - HOUR


def test_the_time_of_a_file_that_an_archive_did_not_store_is_not_known(tmp_path: Path) -> None:
    """1970 of tars and of reproducible archives, 1980 of ZIP archives."""
    path = tmp_path / "ann.py"
    path.touch()
    for seconds in (0, 1, 315_532_800):
        os.utime(path, (seconds, seconds))
        assert times_of_files(Entry("ann", path), None) is None
        assert own_times(Entry("ann", path), HandIn("ann.py", "gemm_kernels.py", "", seconds)) is None
    assert own_times(Entry("ann", path), None) is None
    assert times_of_files(Entry("bob", tmp_path / "bob"), None) is None
