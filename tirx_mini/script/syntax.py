"""The nodes of Python's syntax: the methods that handle them, and how messages show them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any


class Handlers(dict[type, Callable[..., Any] | None]):
    """The methods of a class of evaluators by the syntax that they handle; None for what is not supported."""

    def __init__(self, evaluator: type) -> None:
        self.evaluator = evaluator

    def __missing__(self, syntax: type) -> Callable[..., Any] | None:
        self[syntax] = getattr(self.evaluator, f"visit_{syntax.__name__}", None)
        return self[syntax]


def short(node: ast.AST) -> str:
    """The text of a node, cut off where it is long."""
    text = ast.unparse(node)
    return text if len(text) <= 60 else text[:57] + "…"


def describe(node: ast.AST) -> str:
    """A node as the messages of errors name it."""
    return f"`{ast.unparse(node)}`" if len(ast.unparse(node)) < 40 else f"this {type(node).__name__}"


def is_starred(node: ast.Tuple | ast.List) -> bool:
    """Return whether a part of a display or a target is unpacked."""
    return any(isinstance(part, ast.Starred) for part in node.elts)


def reads(node: ast.expr, name: str) -> bool:
    """Return whether an expression names a variable."""
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))
