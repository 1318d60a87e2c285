"""The kernels in a text, found in its syntax tree; the text is not executed."""

from __future__ import annotations

import ast
from typing import Any

from tirx_mini.course import STEPS, constants_of, lines_of_constants, todos_in

_SIZE = 512
"""The size at which a kernel is shown first."""
_PARAMETERS = 3
NO_PYTHON = (SyntaxError, ValueError, RecursionError, MemoryError)
"""The errors of `ast.parse`: for a mistake, a NUL, and a nesting too deep for the parser or the walk."""


def kernels_in(text: str) -> list[dict[str, Any]]:
    """Return the kernels and factories of a text, in order. Raises `SyntaxError`, and `ValueError` for a NUL."""
    tree = ast.parse(text)
    todos = todos_in(text)
    return [_described(node, todos) for node in tree.body if isinstance(node, ast.FunctionDef) and _makes_kernel(node)]


def constants_in(text: str, function: str) -> dict[str, dict[str, Any]]:
    """Return the constants that a function reads, with their values and lines."""
    tree = ast.parse(text)
    lines = lines_of_constants(tree, function)
    return {name: {"value": value, "line": lines[name]} for name, value in constants_of(tree, function).items()}


def _described(node: ast.FunctionDef, todos: Any) -> dict[str, Any]:
    number = step_number(node.name)
    step = STEPS.get(number or 0)
    sizes = None
    if not _is_kernel(node) and len(_required(node)) == _PARAMETERS:
        shape = step.shape(_SIZE) if step is not None else (_SIZE,) * 3
        sizes = dict(zip("mnk", shape, strict=True))
    open_todos = any(todo.open for todo in todos.get(number, ())) if step is not None else _is_open(node)
    return {
        "name": node.name, "step": number if step is not None else None, "line": node.lineno,
        "title": step.title if step is not None else node.name, "written": not open_todos, "sizes": sizes,
        "free": step.free if step is not None else "MNK" if sizes else "",
    }  # fmt: skip


def step_number(name: str) -> int | None:
    """Return the step of a factory, 7 for "hgemm_v7", if there is such a step."""
    prefix, _, digits = name.partition("hgemm_v")
    return int(digits) if not prefix and digits.isdecimal() and int(digits) in STEPS else None


def _makes_kernel(node: ast.FunctionDef) -> bool:
    """Return whether a function is a kernel, or a factory: it defines one, or has the name of a step."""
    inner = any(isinstance(each, ast.FunctionDef) and _is_kernel(each) for each in ast.walk(node))
    return inner or step_number(node.name) is not None


def _is_kernel(node: ast.FunctionDef) -> bool:
    names = {getattr(part, "attr", getattr(part, "id", "")) for each in node.decorator_list for part in ast.walk(each)}
    return "prim_func" in names


def _required(node: ast.FunctionDef) -> list[ast.arg]:
    positional = [*node.args.posonlyargs, *node.args.args]
    return positional[: len(positional) - len(node.args.defaults)]


def _is_open(node: ast.FunctionDef) -> bool:
    """Return whether a `...` stands for a statement."""
    statements = (each.value for each in ast.walk(node) if isinstance(each, ast.Expr))
    return any(isinstance(value, ast.Constant) and value.value is ... for value in statements)
