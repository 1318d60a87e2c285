"""The source of a kernel: its syntax tree, lines and node spans."""

from __future__ import annotations
import __future__

import ast
import inspect
import linecache
import os
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from types import CodeType
from typing import Any

from tirx_mini.ir import Span, TirxError
from tirx_mini.records import dataclass, replace
from tirx_mini.resources import DATA
from tirx_mini.wording import a

from .stand_ins import filled, origin_of

_PACKAGE = str(Path(__file__).resolve().parent.parent)
_DATA = str(Path(_PACKAGE) / DATA)
_EXECUTED = "<string>"
"""What Python calls the file of every text that is executed, and of methods that `dataclass` generates."""
_DEEPEST = 300
_FUTURE = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)


@dataclass(frozen=True, eq=False)
class FunctionSource:
    """The source of a function.

    line_shift: the offset from a node's line number to the line in the file.
    library: whether the text belongs to tirx_mini, so that reports show the line of the caller.
    """

    file: str
    node: ast.FunctionDef
    line_shift: int
    library: bool

    def span(self, node: Any, inlined_at: Span | None = None) -> Span:
        """Return the span of a node of this function, inlined at `inlined_at`.

        A node that stands for a `...` has the lines of its own file, inlined at the `...`: reports show that line.
        """
        origin = origin_of(node)
        if origin is not None:
            dots = self.span(origin.dots, inlined_at)
            end = node.end_lineno or node.lineno
            return Span(origin.file, node.lineno, node.col_offset, end, node.end_col_offset or 0, dots, library=True)
        shift = self.line_shift
        return Span(
            self.file,
            node.lineno + shift,
            node.col_offset,
            (node.end_lineno or node.lineno) + shift,
            node.end_col_offset or 0,
            inlined_at,
            self.library,
        )

    def line(self, number: int, inlined_at: Span | None = None) -> Span:
        """Return the span of a whole line of the file."""
        return replace(line_span(self.file, number), inlined_at=inlined_at, library=self.library)

    def nested(self, node: ast.FunctionDef) -> FunctionSource:
        """Return the source of a function defined inside this one."""
        return FunctionSource(self.file, node, self.line_shift, self.library)

    def comment(self, node: ast.stmt) -> tuple[int, str] | None:
        """Return the comment on or just above a statement's line as (line, text), or None."""
        if origin_of(node) is not None:
            return None
        line = node.lineno + self.line_shift
        after = linecache.getline(self.file, line)[node.end_col_offset or 0 :].strip()
        if after.startswith("#"):
            return line, after.lstrip("#").strip()
        block: list[str] = []
        above = line - 1
        while above > 0 and not linecache.getline(self.file, above).strip():
            above -= 1
        while above > 0 and linecache.getline(self.file, above).strip().startswith("#"):
            block.insert(0, linecache.getline(self.file, above).strip().lstrip("#").strip())
            above -= 1
        return (above + 1, "\n".join(block)) if block else None


def line_span(file: str, number: int) -> Span:
    """Return the span of a whole line."""
    text = linecache.getline(file, number).rstrip()
    return Span(file, number, len(text) - len(text.lstrip()), number, len(text))


def in_package(file: str) -> bool:
    """Return whether `file` is a module of tirx_mini, excluding the bundled reference kernels."""
    return file.startswith(_PACKAGE + os.sep) and not file.startswith(_DATA + os.sep)


def is_source(code: CodeType) -> bool:
    """Return whether the lines that Python has for the file of `code` are its actual source.

    `<string>` names every executed text, and from Python 3.13 `linecache` has the program of `python -c` under that
    name, whichever text `code` is from: there the text must compile to `code`.
    """
    file = code.co_filename
    if not file.startswith("<"):
        return True
    lines = linecache.getlines(file)
    return bool(lines) and (file != _EXECUTED or _compiles_to("".join(lines), code))


@lru_cache(maxsize=32)
def _compiles_to(text: str, code: CodeType) -> bool:
    try:
        parts = [compile(text, code.co_filename, "exec", code.co_flags & _FUTURE, dont_inherit=True)]
    except (SyntaxError, ValueError):
        return False
    while parts:
        part = parts.pop()
        if part == code:
            return True
        parts.extend(const for const in part.co_consts if isinstance(const, CodeType))
    return False


def caller_span() -> Span | None:
    """Return the current line of the user's code."""
    frame = inspect.currentframe()
    while frame is not None and not is_users(frame.f_code):
        frame = frame.f_back
    return None if frame is None else line_span(frame.f_code.co_filename, frame.f_lineno)


def is_users(code: CodeType) -> bool:
    """Return whether `code` is the user's, with visible source lines."""
    return not in_package(code.co_filename) and is_source(code)


def check_function(function: Any, decorator: str, wraps: bool = False) -> None:
    """Raise `TirxError` for an object that `decorator` cannot parse: a lambda, a wrapper or a non-function.

    wraps: whether a function that wraps another is read itself.
    """
    code = getattr(function, "__code__", None)
    inner = function
    while hasattr(inner, "__wrapped__") and not wraps:
        inner = inner.__wrapped__
    if inner is not function and hasattr(inner, "__code__"):
        around = "" if code is None else f" in {Path(code.co_filename).name}, line {code.co_firstlineno}"
        raise TirxError(
            f"`{inner.__name__}` is wrapped by another function{around}, so {decorator} cannot read its statements",
            line_span(inner.__code__.co_filename, inner.__code__.co_firstlineno),
            f"write {decorator} directly above `def {inner.__name__}`, below the other decorators",
        )
    if not isinstance(code, CodeType):
        named = "a class" if isinstance(function, type) else a(type(function).__name__)
        raise TirxError(
            f"{decorator} expects a function, but {named} was given", caller_span(), "write it above a `def`"
        )
    if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        place = line_span(code.co_filename, code.co_firstlineno) if is_source(code) else None
        raise TirxError(f"{decorator} cannot read an `async` function", place, "write a plain `def`")
    if code.co_name == "<lambda>":
        raise TirxError(
            f"{decorator} cannot read a lambda, which has no statements",
            line_span(code.co_filename, code.co_firstlineno) if is_source(code) else None,
            "write it as a function with `def`",
        )


def source_of(function: Callable[..., object]) -> FunctionSource:
    """Return the source of a Python function. Raises `TirxError` if it is unavailable."""
    code = function.__code__
    if not is_source(code):
        raise _unreadable(code, code.co_filename)
    source = _source_of(code, code.co_filename)
    node = filled(source.file, source.node, source.line_shift)
    return source if node is source.node else replace(source, node=node)


@lru_cache(maxsize=128)
def _source_of(code: CodeType, file: str) -> FunctionSource:
    linecache.checkcache(file)
    lines = linecache.getlines(file)
    first = code.co_firstlineno
    try:
        node = _function(lines, code) if first <= len(lines) else None
    except RecursionError:
        message = f"`{code.co_name}` has an expression or statements that are nested too deeply to be read"
        raise TirxError(message, line_span(file, first), "divide the expression into several statements") from None
    if node is not None:
        source = FunctionSource(file, node, first - 2, in_package(file))
        deep = _too_deep(node)
        if deep is not None:
            message = f"more than {_DEEPEST} levels of syntax are nested in one another here"
            raise TirxError(message, source.span(deep), "divide the expression or the branches into several statements")
        return source
    if Path(file).is_file():
        raise TirxError(
            f"the source of `{code.co_name}` in {file}, line {first}, has changed since it was loaded",
            hint="reload the file",
        )
    raise _unreadable(code, file)


def _too_deep(function: ast.FunctionDef) -> ast.stmt | None:
    """Return the innermost statement around syntax that is too deep for recursion, or None."""
    stack: list[tuple[ast.AST, int, ast.stmt]] = [(function, 0, function)]
    while stack:
        node, depth, statement = stack.pop()
        if depth > _DEEPEST:
            return statement
        inner = node if isinstance(node, ast.stmt) else statement
        stack += [(child, depth + 1, inner) for child in ast.iter_child_nodes(node)]
    return None


def _unreadable(code: CodeType, file: str) -> TirxError:
    return TirxError(
        f"cannot read the source of `{code.co_name}` from {file}",
        hint="write the kernel in a file, or pass its text to tirx_mini.script.from_source",
    )


def _function(lines: list[str], code: CodeType) -> ast.FunctionDef | None:
    """Return the function of `code` in `lines`, or None if the lines belong to another text.

    The file may have changed since it was loaded.
    """
    first = code.co_firstlineno
    indent = _indent(lines[first - 1])
    for end in _ends(lines, code, indent):
        node = _parse(lines[first - 1 : end], indent)
        if node is not None:
            return node if _defines(node, code) else None
    return None


def _defines(node: ast.FunctionDef, code: CodeType) -> bool:
    """Return whether `node` has the name and parameters of `code`, allowing for mangled private names."""
    written = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    loaded = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    same_parameters = len(written) == len(loaded) and all(map(str.endswith, loaded, written))
    return node.name == code.co_name and same_parameters


def _ends(lines: list[str], code: CodeType, indent: int) -> Iterator[int]:
    """Yield the line numbers at which the function may end, nearest first.

    The code object only records lines with instructions. The last statement may continue after them, and placeholders
    that compile to nothing may follow.
    """
    end = _last_line(code)
    while end < len(lines):
        text = lines[end].strip()
        if text and not text.startswith("#") and _indent(lines[end]) <= indent:
            yield end
        end += 1
    yield end


def _last_line(code: CodeType) -> int:
    last = max((line for _, _, line in code.co_lines() if line is not None), default=code.co_firstlineno)
    return max([last, *(_last_line(const) for const in code.co_consts if isinstance(const, CodeType))])


def _parse(lines: list[str], indent: int) -> ast.FunctionDef | None:
    """Return the function in `lines`, or None if the last statement is incomplete."""
    head = "if True:\n" if indent else "\n"
    try:
        module = ast.parse(head + "".join(lines))
    except SyntaxError:
        return None
    body = module.body[0].body if indent and isinstance(module.body[0], ast.If) else module.body
    return body[0] if body and isinstance(body[0], ast.FunctionDef) else None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
