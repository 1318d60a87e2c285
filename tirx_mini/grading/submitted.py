"""The submission times of hand-ins, from a course system's table or from their files.

An unknown time is not guessed. A time without a zone is in the zone of the due date.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timezone, tzinfo
from pathlib import Path

from .entries import Entry, stem
from .handin import HandIn, HandInError, file_of
from .rules import Lateness
from .text import plain_line

OF_FILES = "mtime"
"""The argument in place of a table that selects the files' times."""
EXAMPLE = "2026-12-01T23:59:00Z"
_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:[.,]\d+)? ?(Z|UTC|[+-]\d\d:?\d\d)?", re.ASCII | re.IGNORECASE
)
_QUOTED = re.compile(r'"[^"]*"')
_NAMES, _TIMES = ("hand-in", "file", "name"), ("handed in", "submitted", "time")
"""The headers of the two columns that are read, by default the first two."""
_NO_FILE_IS_OLDER = datetime(2020, 1, 1, tzinfo=timezone.utc).timestamp()
"""The earliest credible time, since archives use 1970 or 1980 for a file without a stored time."""


class SubmittedError(ValueError):
    """The error for an unusable table of times; one sentence states the line and the fix."""


Times = Callable[[Entry, HandIn | None], float | None]
"""When an entry was handed in, in seconds since 1970; None if that is not known. The hand-in is None if it cannot
be read."""


def parse_time(text: str) -> datetime:
    """Parse `2026-12-01T23:59:00Z`, also without seconds, zone or T, but not a date alone. Raises `ValueError`."""
    match = _TIME.fullmatch(text.strip())
    try:
        if match is None:
            raise ValueError
        date, time, zone = match.groups()
        zone = "" if zone is None else "+00:00" if zone.upper() in ("Z", "UTC") else f"{zone[:3]}:{zone[-2:]}"
        return datetime.fromisoformat(f"{date}T{time}{zone}")
    except ValueError:
        raise ValueError(f"{text!r} is not a time; write it as {EXAMPLE}") from None


def seconds_of(time: datetime, rules: Lateness) -> float:
    """Return a time in seconds since 1970."""
    zone: tzinfo | None = rules.due.tzinfo if rules.due is not None else None
    return (time if time.tzinfo is not None else time.replace(tzinfo=zone or timezone.utc)).timestamp()


def own_time(handin: HandIn) -> float | None:
    """Return the hand-in's own time: its file's, in the tar, where its author can set it, or on the disk."""
    return _of_file(handin.modified)


def own_times(entry: Entry, handin: HandIn | None) -> float | None:
    """Return `own_time`, as a function of type `Times`."""
    return own_time(handin) if handin is not None else None


def times_of_files(entry: Entry, handin: HandIn | None) -> float | None:
    """Return the time of the submitted file, whatever its content, as a function of type `Times`."""
    try:
        return _of_file(file_of(entry.path).stat().st_mtime)
    except (HandInError, OSError):
        return None


def times_of_table(path: Path, entries: Sequence[Entry], rules: Lateness) -> tuple[Times, list[str]]:
    """Return the times in a CSV file, and its names without a hand-in. Raises `SubmittedError`.

    A row has a name and a time. The name is that of a file or folder, with or without its suffix, or the one in the
    column `hand-in` of grades.csv. An unknown time may be empty.
    """
    found: dict[str, float | None] = {}
    lines: dict[str, int] = {}
    unknown: list[str] = []
    names = _by_name(entries)
    for line, name, text in _rows(path):
        try:
            time = seconds_of(parse_time(text), rules) if text else None
        except (ValueError, OverflowError) as error:
            raise SubmittedError(f"{path}:{line}: {error}") from None
        written = unicodedata.normalize("NFC", name)
        entry = names.get(written) or names.get(written.removeprefix("'"))  # which grades.csv puts before some names
        if entry is None:
            unknown.append(name)
        elif entry.name in lines:
            first, name = lines[entry.name], plain_line(name)
            raise SubmittedError(f"{path}:{line}: {name} has a time in line {first}, too; leave one of them")
        else:
            found[entry.name], lines[entry.name] = time, line
    return lambda entry, handin: found.get(entry.name), unknown


def _of_file(modified: float | None) -> float | None:
    return modified if modified is not None and modified >= _NO_FILE_IS_OLDER else None


def _by_name(entries: Sequence[Entry]) -> Mapping[str, Entry]:
    """Return the entries by each of their unambiguous names."""
    found: defaultdict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        for name in {unicodedata.normalize("NFC", name) for name in (entry.name, entry.path.name, stem(entry.path))}:
            found[name].append(entry)
    return {name: these[0] for name, these in found.items() if len(these) == 1}


def _rows(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield the line, the name and the time of each row with a name and time."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SubmittedError(f"the table of times {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SubmittedError(f"{path} is not in UTF-8; save the table of times as CSV in UTF-8") from None
    first = _QUOTED.sub("", text.lstrip()).partition("\n")[0]
    delimiter = next((sign for sign in "\t;" if sign in first), ",")
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        columns: tuple[int, int] | None = None
        for row in rows:
            cells = [cell.strip() for cell in row]
            if not any(cells):
                continue
            if columns is None:
                columns = _columns(cells)
                if columns is not None:
                    continue
                columns = 0, 1
            if len(cells) <= max(columns):
                raise SubmittedError(f"{path}:{rows.line_num}: write a name and a time, as in ann,{EXAMPLE}")
            yield rows.line_num, cells[columns[0]], cells[columns[1]]
    except csv.Error as error:
        raise SubmittedError(f"{path}:{rows.line_num}: this is not CSV: {error}") from None


def _columns(header: Sequence[str]) -> tuple[int, int] | None:
    """Return the columns named by a first row, or the first two of another header; None for a row with a time."""
    words = [cell.casefold() for cell in header]
    name, time = (next((words.index(word) for word in known if word in words), None) for known in (_NAMES, _TIMES))
    if name is not None and time is not None:
        return name, time
    is_header = len(header) > 1 and header[1] and not any(sign.isdecimal() for sign in header[1])
    return (0, 1) if is_header else None
