"""The reason that no kernel was built, with its place in the text."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tirx_mini.ir import Span

MOST_NOTES = 20

Place = Mapping[str, "str | int"]
"""The name of a file, and lines and columns."""


def refusal_of(error: BaseException, text: str, file: str, modules: Collection[str] = ()) -> dict[str, Any]:
    """Return a refusal as JSON types: its text, title, code and help, and its place, whose lines are 0 without one.

    text: the whole page. file: the text's. modules: the files beside it. An error of the language has a page; any other
    exception has the innermost line of these files in its traceback. Its author may be the hand-in's, so that no
    attribute of it is trusted.
    """
    files = (file, *modules)
    page = getattr(error, "diagnostic", None)
    if type(error).__module__ == "tirx_mini.ir.span" and page is not None:
        notes = [(said, *_line(span, files)) for said, span in page.notes[:MOST_NOTES]]
        found = {"title": page.message, "code": page.code, "help": page.hint or "", "notes": notes}
        return {"text": text, **found, **_place(page.span, files)}
    syntax = error.__cause__ if isinstance(error.__cause__, SyntaxError) else None
    title = text.strip().splitlines()[-1] if text.strip() else type(error).__name__
    found = {"text": text, "title": title, "code": "", "help": "", "notes": []}
    if syntax is not None:
        return {**found, "title": f"the text is not Python: {syntax.msg}", **_of_syntax(syntax, files)}
    where, line = innermost_place(error, files)
    return {**found, **_lines(_name(where, files), line)}


def _lines(file: str, line: int, column: int = 0, end_line: int = 0, end_column: int = 0) -> Place:
    place = {"line": line, "column": column, "end_line": end_line or line, "end_column": end_column}
    return {"file": file, **place}


def _name(file: str, files: Sequence[str]) -> str:
    """Return the name of one of the files, relative to the folder of the first one; "" for ""."""
    return Path(file).relative_to(Path(files[0]).parent).as_posix() if file else ""


def _place(span: Span | None, files: Sequence[str]) -> Place:
    if span is None or span.user.file not in files:
        return _lines("", 0)
    user = span.user
    return _lines(_name(user.file, files), user.line, user.column + 1, user.end_line, user.end_column + 1)


def _line(span: Span | None, files: Sequence[str]) -> tuple[int, str]:
    """Return the line of a span, and its file's name."""
    if span is None or span.user.file not in files:
        return 0, ""
    return span.user.line, _name(span.user.file, files)


def _of_syntax(error: SyntaxError, files: Sequence[str]) -> Place:
    file = error.filename if error.filename in files else ""
    return _lines(_name(str(file), files), *(value if type(value) is int and value > 0 else 0 for value in (
        error.lineno, error.offset, error.end_lineno, error.end_offset
    )))  # fmt: skip


def innermost_line(error: BaseException, file: str) -> int:
    """Return the innermost line of a file in the traceback of an exception, or 0."""
    return innermost_place(error, (file,))[1]


def innermost_place(error: BaseException, files: Collection[str]) -> tuple[str, int]:
    """Return the file and the line of the innermost frame of these files in a traceback, or ("", 0)."""
    place, trace = ("", 0), error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        place = (file, trace.tb_lineno) if file in files else place
        trace = trace.tb_next
    return place
