"""The reason that no kernel was built, with its place in the text."""

from __future__ import annotations

from typing import Any

MOST_NOTES = 20


def refusal_of(error: BaseException, text: str, file: str) -> dict[str, Any]:
    """Return a refusal as JSON types: its text, title, code and help, and its lines, which are 0 without a place.

    text: the whole page. file: the text's. An error of the language has a page; any other exception has the innermost
    line of the file in its traceback. Its author may be the hand-in's, so that no attribute of it is trusted.
    """
    page = getattr(error, "diagnostic", None)
    if type(error).__module__ == "tirx_mini.ir.span" and page is not None:
        notes = [(said, _line(span, file)) for said, span in page.notes[:MOST_NOTES]]
        found = {"title": page.message, "code": page.code, "help": page.hint or "", "notes": notes}
        return {"text": text, **found, **_place(page.span, file)}
    syntax = error.__cause__ if isinstance(error.__cause__, SyntaxError) else None
    title = text.strip().splitlines()[-1] if text.strip() else type(error).__name__
    found = {"text": text, "title": title, "code": "", "help": "", "notes": []}
    if syntax is not None:
        return {**found, "title": f"the text is not Python: {syntax.msg}", **_of_syntax(syntax)}
    return {**found, **_lines(innermost_line(error, file))}


def _lines(line: int, column: int = 0, end_line: int = 0, end_column: int = 0) -> dict[str, int]:
    return {"line": line, "column": column, "end_line": end_line or line, "end_column": end_column}


def _place(span: Any, file: str) -> dict[str, int]:
    if span is None or span.user.file != file:
        return _lines(0)
    user = span.user
    return _lines(user.line, user.column + 1, user.end_line, user.end_column + 1)


def _line(span: Any, file: str) -> int:
    return span.user.line if span is not None and span.user.file == file else 0


def _of_syntax(error: SyntaxError) -> dict[str, int]:
    return _lines(*(value if type(value) is int and value > 0 else 0 for value in (
        error.lineno, error.offset, error.end_lineno, error.end_offset
    )))  # fmt: skip


def innermost_line(error: BaseException, file: str) -> int:
    """Return the innermost line of a file in the traceback of an exception, or 0."""
    line, trace = 0, error.__traceback__
    while trace is not None:
        line = trace.tb_lineno if trace.tb_frame.f_code.co_filename == file else line
        trace = trace.tb_next
    return line
