"""Error pages for exceptions raised by a kernel's calls during parsing.

A function of this package that is called in a wrong way gets a sentence about the call. A function of the user keeps
its own exception, with the line that raised it.
"""

from __future__ import annotations

import ast
import functools
import inspect
import sysconfig
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from types import TracebackType
from typing import Any

from tirx_mini.ir import Buffer, Expr, Span, TirxError
from tirx_mini.wording import described

from .diagnostics import with_type
from .source import is_users, line_span

_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_PYTHON = ("builtins", "math", "numpy", "operator", "itertools", "functools")


def is_ours(function: Any) -> bool:
    """Return whether a callable belongs to this package: the language, its library or its layouts."""
    if isinstance(function, functools.partial):
        return is_ours(function.func)
    if hasattr(type(function), "of_library"):  # an inline function
        return function.of_library
    home = getattr(function, "__module__", None)
    return isinstance(home, str) and home.split(".")[0] == "tirx_mini"


def form_of(function: Callable[..., object], written: str) -> str | None:
    """Return the call ``written(parameters)``, or None for a function without an inspectable signature."""
    try:
        parameters = [p for p in inspect.signature(function).parameters.values() if p.name not in ("self", "span")]
    except (TypeError, ValueError):
        return None
    if parameters and all(p.kind in _VARIADIC and p.name in ("args", "kwargs") for p in parameters):
        return None
    shown = [_parameter(p) for p in parameters]
    keyword = next((i for i, p in enumerate(parameters) if p.kind is inspect.Parameter.KEYWORD_ONLY), None)
    if keyword is not None and not any(s.startswith("*") for s in shown[:keyword]):
        shown.insert(keyword, "*")
    return f"{written}({', '.join(shown)})"


def _parameter(parameter: inspect.Parameter) -> str:
    plain = parameter.replace(annotation=inspect.Parameter.empty)
    known = parameter.default is None or isinstance(parameter.default, (bool, int, float, str, tuple, Enum))
    if known or parameter.default is inspect.Parameter.empty:
        return str(plain)
    return f"{parameter.name}=…"


def signature_hint(function: Callable[..., object], written: str) -> str:
    """Return the hint that shows a function's signature."""
    form = form_of(function, written)
    return f"its signature is {form}" if form is not None else f"`help({written})` in Python describes it"


def mismatch(function: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]) -> str | None:
    """Return why the arguments do not match a function's parameters, as the end of a sentence, or None."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return unfitting(signature.parameters.values(), args, kwargs)
    return None


def unfitting(
    parameters: Iterable[inspect.Parameter], args: Sequence[object], kwargs: Mapping[str, object]
) -> str | None:
    """Return why arguments do not match given parameters, as the end of a sentence, or None."""
    known = {p.name: p for p in parameters}
    by_place = [p for p in known.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    kinds = {p.kind for p in known.values()}
    if len(args) > len(by_place) and inspect.Parameter.VAR_POSITIONAL not in kinds:
        return f"takes {len(by_place)} argument{'s' * (len(by_place) != 1)}, but {len(args)} are given"
    twice = next((p.name for p in by_place[: len(args)] if p.name in kwargs and p.kind is not p.POSITIONAL_ONLY), None)
    if twice is not None:
        return f"is given `{twice}` twice"
    unknown = next((name for name in kwargs if name not in known), None)
    if unknown is not None and inspect.Parameter.VAR_KEYWORD not in kinds:
        return f"has no parameter `{unknown}`"
    given = {*(p.name for p in by_place[: len(args)]), *kwargs}
    needed = (p for p in known.values() if p.default is p.empty and p.kind not in _VARIADIC)
    missing = ", ".join(f"`{p.name}`" for p in needed if p.name not in given)
    return f"is called without {missing}" if missing else None


def foreign(
    error: Exception,
    span: Span,
    called: object = None,
    written: str = "",
    args: Sequence[object] = (),
    kwargs: Mapping[str, object] | None = None,
) -> TirxError:
    """Return the error page at `span` for an exception of a call.

    called: the function, or None for what Python does by itself. written: how the kernel names it.
    """
    values = [*args, *(kwargs or {}).values()]
    runtime = next((value for value in values if isinstance(value, Expr)), None)
    home = getattr(called, "__module__", None) or type(called).__module__
    if runtime is not None and called is not None and home.split(".")[0] in _PYTHON:
        return _needs_python(written, runtime, span)
    if called is not None and is_ours(called) and _users_line(error.__traceback__) is None:
        return _refused(error, span, called, written, args, kwargs or {})
    place = _users_line(error.__traceback__)
    if called is not None and home in ("builtins", "typing") and isinstance(error, TypeError) and place is None:
        hint = f"Python evaluates `{written}` while the kernel is read, so it needs values that Python knows then"
        return TirxError(f"`{written}` cannot be called with {_listed(args, kwargs or {})}", span, hint)
    if callable(called) and isinstance(error, TypeError) and place is None:
        why = mismatch(called, args, kwargs or {})
        if why is not None:
            return TirxError(f"`{written}` {why}", span, signature_hint(called, written))
    ours = type(error).__module__.startswith("tirx_mini") and str(error)
    return TirxError(
        str(error) if ours else with_type(error),
        span,
        f"Python evaluates `{written}` while the kernel is read" if written else None,
        () if place is None else (("raised here", place),),
    )


def _refused(
    error: Exception, span: Span, function: Any, written: str, args: Sequence[object], kwargs: Mapping[str, object]
) -> TirxError:
    """Return the error page for a function of this package that fails on its arguments."""
    hint = signature_hint(function, written)
    why = mismatch(function, args, kwargs)
    if why is not None:
        return TirxError(f"`{written}` {why}", span, hint)
    if isinstance(error, (ValueError, TypeError)) and type(error).__module__.startswith("tirx_mini"):
        return TirxError(str(error), span, hint)
    return TirxError(f"`{written}` cannot be called with {_listed(args, kwargs)}", span, hint)


def _listed(args: Sequence[object], kwargs: Mapping[str, object]) -> str:
    given = [*map(described, args), *(f"{name}={described(value)}" for name, value in kwargs.items())]
    return ", ".join(given) or "no arguments"


@functools.cache
def _libraries() -> tuple[str, ...]:
    """Return the folders of Python's own modules and of installed packages."""
    return tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})


def _users_line(traceback: TracebackType | None) -> Span | None:
    """Return the innermost line of the user's own code, outside this package and all libraries."""
    place = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if is_users(code) and not code.co_filename.startswith(_libraries()):
            place = line_span(code.co_filename, traceback.tb_lineno)
        traceback = traceback.tb_next
    return place


def _needs_python(written: str, value: Expr, span: Span) -> TirxError:
    """Return the error page for a NumPy or standard-library function applied to a run-time value."""
    return TirxError(
        f"{written}() is a function of Python, but its argument is only known when the kernel runs",
        span,
        f"use an operator or a function of the language, such as Tx.max or Tx.cast; call {written}() outside the "
        "kernel for values that are known there",
        ((f"the argument is `{value!r}`", value.span),),
    )


def undefined(symbol: str, operands: Sequence[object], span: Span) -> TirxError:
    """Return the error page for an operator that the operands do not support."""
    whole = next((value for value in operands if isinstance(value, Buffer)), None)
    if whole is not None:
        hint = f"use an element, {whole.name}[…], or a tile primitive such as Tx.copy"
        return TirxError(f"`{symbol}` needs values, but {whole.name} is a whole buffer", span, hint)
    message = f"`{symbol}` is not defined for {' and '.join(map(described, operands))}"
    return TirxError(message, span, "it needs numbers, elements such as A[i, j], or variables of the kernel")


def unfound(owner: object, key: object, error: Exception, shown: str, span: Span) -> TirxError | None:
    """Return the error page for a missing element of a Python container, or None for other objects."""
    if not isinstance(owner, (list, tuple, str, range, bytes, dict)):
        return None
    kind = type(owner).__name__
    if isinstance(owner, dict):
        keys = ", ".join(map(described, list(owner)[:12])) or "none"
        return TirxError(f"`{shown}` has no key {described(key)} (KeyError)", span, f"its keys are {keys}")
    if isinstance(error, IndexError):
        message = f"`{shown}` is a {kind} of {len(owner)}, which has no element {described(key)} (IndexError)"
        return TirxError(message, span, "count from 0, or from the end with negative numbers")
    message = f"`{shown}` is a {kind}, which is not indexed by {described(key)}"
    return TirxError(message, span, "index it with an integer or a slice")


def not_indexed(owner: object, shown: str, span: Span) -> TirxError:
    """Return the error page for indexing an object without elements."""
    if hasattr(owner, "depth") and hasattr(owner, "ptr_to"):
        hint = f"write `{shown}.ptr_to([stage])` for a pointer to the barrier of a stage"
    elif callable(owner):
        hint = f"call it: `{shown}(…)`"
    else:
        hint = f"use `{shown}` without the brackets, or one of its attributes"
    return TirxError(f"`{shown}` is {described(owner)}, which cannot be indexed", span, hint)


def not_assigned(owner: object, shown: str, span: Span) -> TirxError:
    """Return the error page for assigning to an element of an object without elements."""
    message = f"cannot assign to an element of `{shown}`, which is {described(owner)}"
    return TirxError(message, span, "assign to an element of a buffer, a list or a dict")


def not_callable(value: object, shown: str, span: Span) -> TirxError:
    """Return the page for a call of a value that is not callable."""
    hint = f"write `{shown}` without the parentheses"
    return TirxError(f"`{shown}` is {described(value)} and cannot be called", span, hint)


def not_iterable(value: object, span: Span) -> TirxError:
    """Return the error page for a loop over a non-iterable value."""
    kind = f", a value of {value.dtype}," if isinstance(value, Expr) else ""
    message = f"cannot iterate over {described(value)}{kind} at compile time"
    return TirxError(message, span, "iterate over range(…), Tx.serial(…), a tuple, a list or a dict")


def argument_about(
    value: object, node: ast.expr, args: Sequence[object], kwargs: Mapping[str, object]
) -> ast.expr | None:
    """Return the syntax of the only argument with this value, or None if there is not exactly one."""
    if value is None or not isinstance(node, ast.Call) or any(isinstance(arg, ast.Starred) for arg in node.args):
        return None
    found = [place for place, arg in zip(node.args, args, strict=False) if arg is value]
    found += [k.value for k in node.keywords if k.arg is not None and kwargs.get(k.arg) is value]
    return found[0] if len(found) == 1 else None
