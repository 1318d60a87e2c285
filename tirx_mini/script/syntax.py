"""Python syntax nodes: their handler methods, and their text in messages."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any


class Handlers(dict[type, Callable[..., Any] | None]):
    """The handler methods of an evaluator class by syntax node, or None for unsupported syntax."""

    def __init__(self, evaluator: type) -> None:
        self.evaluator = evaluator

    def __missing__(self, syntax: type) -> Callable[..., Any] | None:
        self[syntax] = getattr(self.evaluator, f"visit_{syntax.__name__}", None)
        return self[syntax]


def short(node: ast.AST) -> str:
    """Return the text of a node, truncated if it is long."""
    text = ast.unparse(node)
    return text if len(text) <= 60 else text[:57] + "…"


def describe(node: ast.AST) -> str:
    """Describe a node for error messages."""
    return f"`{ast.unparse(node)}`" if len(ast.unparse(node)) < 40 else f"this {type(node).__name__}"


def is_starred(node: ast.Tuple | ast.List) -> bool:
    """Return whether a display or target contains an unpacked part."""
    return any(isinstance(part, ast.Starred) for part in node.elts)


def reads(node: ast.expr, name: str) -> bool:
    """Return whether an expression reads a variable."""
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))
