"""Findings as the page receives them: JSON objects with lines and columns from 1, and without paths."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from tirx_mini.diagnose import Finding
from tirx_mini.ir import Span
from tirx_mini.records import replace
from tirx_mini.report import WIDTH, finding_page, plain
from tirx_mini.saved import ELSEWHERE

Data = dict[str, Any]

_MOST_TEXT = 20_000
_PLACES = ("line", "column", "end_line", "end_column")


def finding_data(finding: Finding, file: str, consequence: bool = False) -> Data:
    """Return a finding. file: that of the editor; a place in a module beside it is its "where", as in "tiles.py:12".

    consequence: whether it follows from another finding.
    """
    notes = [(text, span) for text, span in finding.details.get("notes", ())]
    notes += [(str(role), role.span) for role in finding.details.get("stuck", ())]
    related = [{"line": _line(span, file), "where": _where(span, file), "text": text} for text, span in notes]
    return {
        "code": finding.code, "severity": finding.severity, **_place(finding.span, file),
        "where": _where(finding.span, file), "title": finding.message, "text": plain(finding_page(finding), WIDTH),
        "help": finding.details.get("hint") or "", "related": related, "edit": None,
        "rule": finding.about.rule, "happened": finding.happened, "consequence": consequence,
    }  # fmt: skip


def refusal_data(refusal: object, title: str, modules: Collection[str] = ()) -> Data:
    """Return what a sandboxed process says of a text as a finding; none of its fields is trusted.

    title: for a refusal without one. modules: the names of the files beside the text's.
    """
    given: Mapping[Any, Any] = refusal if isinstance(refusal, dict) else {}
    notes = given.get("notes")
    related = [
        {**_line_of(note[1], note[2], modules), "text": _text(note[0])}
        for note in (notes if isinstance(notes, list) else ())
        if isinstance(note, list) and len(note) == 3
    ]
    title = _text(given.get("title")) or title
    return {
        "code": _text(given.get("code")) or None, "severity": "error",
        **{name: _number(given.get(name)) for name in _PLACES},
        **_line_of(given.get("line"), given.get("file"), modules),
        "title": title, "text": _text(given.get("text")) or title, "help": _text(given.get("help")),
        "related": related, "edit": None, "rule": "", "happened": True, "consequence": False,
    }  # fmt: skip


def syntax_data(error: Exception) -> Data:
    """Return why a text is no Python as a finding; of a NUL, Python gives no place."""
    syntax = error if isinstance(error, SyntaxError) else SyntaxError(str(error))
    places = (syntax.lineno, syntax.offset, syntax.end_lineno or syntax.lineno, syntax.end_offset)
    title = f"the text is not Python: {syntax.msg}"
    return refusal_data({**dict(zip(_PLACES, places, strict=True)), "text": title}, title)


def _seen(span: Span, file: str) -> Span:
    """Return the user's place. In a header of a toolkit, which has a path, it is that of the call in the text."""
    user = span.user
    if not Path(user.file).is_absolute():
        return user
    called = next((each for each in span.chain() if each.file == file), None)
    return called or replace(user, file=Path(user.file).name)


def _place(span: Span | None, file: str) -> dict[str, int]:
    user = None if span is None else _seen(span, file)
    if user is None or user.file != file:
        return dict.fromkeys(_PLACES, 0)
    end = user.end_column + 1 if user.end_line else 0  # line information of a compiler names no end
    numbers = user.line, user.column + 1, user.end_line or user.line, end
    return dict(zip(_PLACES, numbers, strict=True))


def _where(span: Span | None, file: str) -> str:
    """Return the place of a span in a module, else ""."""
    user = None if span is None else _seen(span, file)
    return "" if user is None or user.file in (file, ELSEWHERE) else f"{user.file}:{user.line}"


def _line_of(line: object, file: object, modules: Collection[str]) -> Data:
    """Return a line as a place in the text, or in one of the modules."""
    number = _number(line)
    if isinstance(file, str) and file in modules:
        return {"line": 0, "where": f"{file}:{number}"}
    return {"line": number, "where": ""}


def _line(span: Span | None, file: str) -> int:
    user = None if span is None else _seen(span, file)
    return 0 if user is None or user.file != file else user.line


def _number(value: object) -> int:
    return value if type(value) is int and 0 <= value < 1 << 31 else 0


def _text(value: object) -> str:
    return value[:_MOST_TEXT] if isinstance(value, str) else ""
