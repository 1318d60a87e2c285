"""Errors of the front end: suggestions, unfilled TODOs and exceptions in user code."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterable, Sequence
from types import TracebackType

from tirx_mini.ir import Span, TirxError
from tirx_mini.layout import LayoutError
from tirx_mini.pytorch import how_to_install, is_missing
from tirx_mini.records import replace

from .cuda_names import cuda_spelling
from .refused import refusal
from .source import caller_span, in_package, is_source, is_users, line_span


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """Return a hint that lists the candidates closest to `name`, or None."""
    known = [c for c in candidates if not c.startswith("_")]
    folded = {c.lower(): c for c in known}
    near = [folded[name.lower()]] if name.lower() in folded else difflib.get_close_matches(name, known, n=2, cutoff=0.6)
    return f"did you mean {' or '.join(f'`{n}`' for n in near)}?" if near else None


class UnknownName(TirxError, AttributeError):
    """An unknown name of the language, which is also an `AttributeError` so that `hasattr` works."""


def unknown(owner: str, name: str, hint: str | None) -> UnknownName:
    """Return the error for an unknown attribute of `owner`, at the user's line that accesses it.

    For a name of TVM's dialect that the language does not have, it says why, and what to use; for a name of CUDA C++,
    how a kernel spells it.
    """
    spelling = cuda_spelling(name)
    if spelling is not None:
        return UnknownName(f"`{owner}` has no attribute `{name}`", caller_span(), spelling.hint(), kind="unknown-name")
    refused = refusal(f"{owner}.{name}".removeprefix("Tx."))
    if refused is not None:
        message = f"`{owner}.{name}` of TVM is not supported: {refused.why}"
        return UnknownName(message, caller_span(), refused.instead, kind="not-modelled")
    return UnknownName(f"`{owner}` has no attribute `{name}`", caller_span(), hint, kind="unknown-name")


def todo_error(text: str | None, span: Span) -> TirxError:
    """Return the error for an unfilled part of a skeleton."""
    if text:
        return TirxError(f"TODO at line {span.line} is not filled in: {text}", span, kind="todo")
    return TirxError(
        f"line {span.line} is a placeholder: this part of the kernel is not written yet",
        span,
        "replace it with the missing statements",
        kind="todo",
    )


def explained(error: Exception) -> TirxError | None:
    """Return the error page for an exception in the Python code around a kernel, at the line that raised it.

    None for an exception that is clear by itself (a factory's `ValueError` about a shape, Python's `SyntaxError`), and
    for a failure inside tirx_mini.
    """
    if isinstance(error, TirxError):
        return error.at(origin(error.__traceback__))
    if isinstance(error, NotImplementedError):
        return _unfilled(error)
    if isinstance(error, LayoutError):
        return TirxError(str(error), origin(error.__traceback__))
    place = None if isinstance(error, (ValueError, SyntaxError)) else _own_line(error.__traceback__)
    if place is None:
        return None
    if is_missing(error):
        return TirxError("this import needs PyTorch, which is not installed", place, how_to_install())
    return TirxError(with_type(error), place)


def _own_line(traceback: TracebackType | None) -> Span | None:
    """Return the innermost line of the kernel's file, or None if tirx_mini raised the exception itself."""
    file, place = None, None
    while traceback is not None:
        name = traceback.tb_frame.f_code.co_filename
        if in_package(name):
            if file is not None:
                return None
        elif is_source(traceback.tb_frame.f_code):
            file = file or name
            place = line_span(file, traceback.tb_lineno) if name == file else place
        traceback = traceback.tb_next
    return place


def _unfilled(error: NotImplementedError) -> TirxError:
    """Return the error for a kernel factory that raises `NotImplementedError`, at the raising line."""
    place = origin(error.__traceback__)
    text = str(error).strip()
    message = text.removeprefix("TODO").lstrip(": ") or "this kernel is not written yet"
    if place is None:
        return TirxError(f"TODO is not filled in: {message}", kind="todo")
    return TirxError(f"TODO at line {place.line} is not filled in: {message}", place, kind="todo")


def with_type(error: Exception) -> str:
    """Return the text of a Python exception for messages."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def placed(error: TirxError, span: Span) -> TirxError:
    """Move an error to the `span` of the operation, since its operands may come from elsewhere."""
    error.diagnostic = replace(error.diagnostic, span=span)
    return error


def origin(traceback: TracebackType | None) -> Span | None:
    """Return the innermost line of the traceback outside tirx_mini."""
    place = None
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if is_users(traceback.tb_frame.f_code):
            place = line_span(file, traceback.tb_lineno)
        traceback = traceback.tb_next
    return place


def keyword_of(node: ast.stmt) -> str:
    """Return the keyword of a statement that kernels do not support."""
    return {
        "Try": "try",
        "ClassDef": "class",
        "Match": "match",
        "Global": "global",
        "AsyncFor": "async for",
        "AsyncWith": "async with",
        "AsyncFunctionDef": "async def",
        "TryStar": "try",
    }.get(type(node).__name__, "this")


def first_sentence(lines: Sequence[str]) -> str:
    """Return the first sentence of a TODO comment."""
    text = " ".join(" ".join(lines).split())
    text = text[text.index("TODO") + len("TODO") :].lstrip(" :-–—.")
    return re.split(r"(?<=[^.][.:])\s", text)[0].rstrip(":")
