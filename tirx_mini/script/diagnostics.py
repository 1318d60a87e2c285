"""Errors of the front end: suggestions, unfilled TODOs, exceptions in user code."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable
from dataclasses import replace
from types import TracebackType
from typing import Any

from tirx_mini.ir import Expr, Span, TirxError
from tirx_mini.layout import LayoutError

from .source import in_package, line_span


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """A hint that lists the candidates closest to `name`, or None."""
    known = [c for c in candidates if not c.startswith("_")]
    folded = {c.lower(): c for c in known}
    near = [folded[name.lower()]] if name.lower() in folded else difflib.get_close_matches(name, known, n=2, cutoff=0.6)
    return f"did you mean {' or '.join(f'`{n}`' for n in near)}?" if near else None


def signature_of(function: Callable[..., Any]) -> str | None:
    """``name(parameters)`` of a function, or None where Python has no signature for it."""
    name = getattr(function, "__qualname__", type(function).__name__)
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    shown = [str(p.replace(annotation=inspect.Parameter.empty)) for p in parameters if p.name != "self"]
    keyword = next((i for i, p in enumerate(parameters) if p.kind is inspect.Parameter.KEYWORD_ONLY), None)
    if keyword is not None and not any(s.startswith("*") for s in shown[:keyword]):
        shown.insert(keyword, "*")
    return f"{name}({', '.join(shown)})"


class UnknownName(TirxError, AttributeError):
    """An unknown name of the language. It is also an `AttributeError`, so that `hasattr` works."""


def unknown(owner: str, name: str, hint: str | None) -> UnknownName:
    """The error for an unknown attribute of `owner`, at the user's line that accesses it."""
    return UnknownName(f"`{owner}` has no attribute `{name}`", caller_span(), hint, kind="unknown-name")


def caller_span() -> Span | None:
    """The current line of the user's code."""
    frame = inspect.currentframe()
    while frame is not None and in_package(frame.f_code.co_filename):
        frame = frame.f_back
    return None if frame is None else line_span(frame.f_code.co_filename, frame.f_lineno)


def todo_error(text: str | None, span: Span) -> TirxError:
    """The error for a part of a skeleton that is not filled in."""
    if text:
        return TirxError(f"TODO at line {span.line} is not filled in: {text}", span, kind="todo")
    return TirxError(
        f"line {span.line} is a placeholder: this part of the kernel is not written yet",
        span,
        "replace it with the missing statements",
        kind="todo",
    )


def explained(error: Exception) -> TirxError | None:
    """The error page for an exception in the Python code around a kernel, at the line that raised it.

    None for an exception that is clear by itself (a factory's `ValueError` about a shape, Python's `SyntaxError`), and
    for a failure inside tirx_mini.
    """
    if isinstance(error, TirxError):
        return error
    if isinstance(error, NotImplementedError):
        return _unfilled(error)
    if isinstance(error, LayoutError):
        return TirxError(str(error), origin(error.__traceback__))
    place = None if isinstance(error, (ValueError, SyntaxError)) else _own_line(error.__traceback__)
    return None if place is None else TirxError(_with_type(error), place)


def _own_line(traceback: TracebackType | None) -> Span | None:
    """The innermost line of the kernel's file; None if the exception was raised inside tirx_mini."""
    file, place = None, None
    while traceback is not None:
        name = traceback.tb_frame.f_code.co_filename
        if in_package(name):
            if file is not None:
                return None
        elif not name.startswith("<frozen"):
            file = file or name
            place = line_span(file, traceback.tb_lineno) if name == file else place
        traceback = traceback.tb_next
    return place


def _unfilled(error: NotImplementedError) -> TirxError:
    """The error for a kernel factory that raises `NotImplementedError`, at the line that raises it."""
    place = origin(error.__traceback__)
    text = str(error).strip()
    message = text.removeprefix("TODO").lstrip(": ") or "this kernel is not written yet"
    if place is None:
        return TirxError(f"TODO is not filled in: {message}", kind="todo")
    return TirxError(f"TODO at line {place.line} is not filled in: {message}", place, kind="todo")


def foreign(error: Exception, function: Any, span: Span, args: Iterable[Any] = ()) -> TirxError:
    """The error for an exception in a Python function that a kernel calls with `args`, at the line of the call."""
    runtime = next((arg for arg in args if isinstance(arg, Expr)), None)
    home = getattr(function, "__module__", None) or type(function).__module__
    if runtime is not None and function is not None and home.split(".")[0] in ("builtins", "math", "numpy"):
        return _needs_python(function, runtime, span)
    direct = error.__traceback__ is not None and error.__traceback__.tb_next is None
    if isinstance(error, TypeError) and direct and function is not None:
        signature = signature_of(function)
        return TirxError(str(error), span, f"its signature is {signature}" if signature else None)
    message = str(error) if type(error).__module__.startswith("tirx_mini") and str(error) else _with_type(error)
    place = origin(error.__traceback__)
    return TirxError(message, span, notes=() if place is None else (("raised here", place),))


def _needs_python(function: Any, value: Expr, span: Span) -> TirxError:
    """The error for a function of NumPy or of Python's library that is given a value of the kernel."""
    name = getattr(function, "__name__", type(function).__name__)
    return TirxError(
        f"{name}() is a function of Python, but its argument is only known when the kernel runs",
        span,
        f"use an operator or a function of the language, such as Tx.max or Tx.cast; call {name}() outside the kernel "
        "for values that are known there",
        ((f"the argument is `{value!r}`", value.span),),
    )


def _with_type(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def placed(error: TirxError, span: Span) -> TirxError:
    """The error, moved to the `span` of the operation; the operands may have been written elsewhere."""
    error.diagnostic = replace(error.diagnostic, span=span)
    return error


def origin(traceback: TracebackType | None) -> Span | None:
    """The innermost line of the traceback outside tirx_mini."""
    place = None
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if not in_package(file) and not file.startswith("<frozen"):
            place = line_span(file, traceback.tb_lineno)
        traceback = traceback.tb_next
    return place
