"""Tables of a class for a spreadsheet, without formulas in any cell, whatever a student wrote."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from types import MappingProxyType

from .classroom import Class
from .results import Late, points_text
from .similar import Likeness
from .text import shown_name

_SIGNS = "=+\\-@＝＋－＠﹦﹢﹣﹫⁺⁻⁼₊₋₌"
"""The characters that begin a formula, with their full-width, small, raised and lowered forms."""
_BLANK = r"[\s\u200b-\u200f\u2060\ufeff\"']*"
_FORMULA = re.compile(rf"(?:^|(?<=[;\t]))(?={_BLANK}[{_SIGNS}])|^(?={_BLANK}\t)")
"""The position where a formula may begin: at a cell's start, or after a cell separator of some locales."""
_NO_FILES: Mapping[str, str] = MappingProxyType({})


def grades_csv(found: Class, steps: Sequence[int]) -> str:
    """Return a row for each hand-in: its score, the steps' scores, the submission time, and the reason if ungraded."""
    of_steps = [f"step {step}" for step in steps]
    rows: list[list[str]] = [
        ["hand-in", "file", "score", "of", *of_steps, "handed in", "days late", "problem", "sha256"]
    ]
    for name, outcome in found.outcomes.items():
        graded = outcome.graded
        scores = {step.step: _number(step.score) for step in graded.steps}
        row = [name, _file(name, found.files), _number(graded.score), points_text(graded.total)]
        row += [*(scores.get(step, "") for step in steps), _time(found.times.get(name)), _days(graded.late)]
        why = f"not graded: {graded.why_not}" if graded.not_graded else graded.problem
        rows.append([*row, " ".join(why.split()), graded.digest])
    for name, error in found.failed.items():
        time = _time(found.times.get(name))
        rows.append([name, _file(name, found.files), *[""] * (len(steps) + 2), time, "", f"not graded: {error}", ""])
    return _csv(rows)


def alike_csv(alike: Sequence[Likeness], files: Mapping[str, str] = _NO_FILES) -> str:
    """Return a row for each pair of similar hand-ins. files: the submitted files, by name."""
    rows = [["hand-in", "and", "share", "same file", "steps", "file", "and file"]]
    for pair in alike:
        steps = " ".join(f"{step}:{share:.2f}" for step, share in pair.steps)
        row = [pair.first, pair.second, f"{pair.share:.2f}", "yes" if pair.same_file else "", steps]
        rows.append([*row, _file(pair.first, files), _file(pair.second, files)])
    return _csv(rows)


def _number(points: float | None) -> str:
    return "" if points is None else points_text(points)


def _file(name: str, files: Mapping[str, str]) -> str:
    return shown_name(files.get(name, name))


def _time(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%dT%H:%M:%SZ}"


def _days(late: Late | None) -> str:
    if late is None:
        return ""
    return str(late.days) if late.days is not None else "unknown"


def _csv(rows: Sequence[Sequence[str]]) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([list(map(_cell, row)) for row in rows])
    return stream.getvalue()


def _cell(text: str) -> str:
    """Return the text as a line, with an apostrophe before a formula's beginning."""
    return _FORMULA.sub("'", re.sub(r"[\r\n]+", " ", text))
