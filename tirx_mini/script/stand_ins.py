"""Statements that stand for a `...` of a kernel while it is read: a check fills open TODOs with them."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from tirx_mini.records import dataclass


@dataclass(frozen=True, eq=False)
class StandIn:
    """Statements for one `...`. file: of the text that they are from."""

    file: str
    statements: Sequence[ast.stmt]


@dataclass(frozen=True, eq=False)
class Origin:
    """The place of a statement that stands for another. file: of its own text. dots: the `...` that it stands for."""

    file: str
    dots: ast.expr


_CURRENT: ContextVar[tuple[str, Mapping[int, StandIn]] | None] = ContextVar("standing_in", default=None)


@contextmanager
def standing_in(file: str, by_line: Mapping[int, StandIn]) -> Iterator[None]:
    """A context in which functions of `file` are read with statements for the `...` at these lines."""
    token = _CURRENT.set((file, by_line))
    try:
        yield
    finally:
        _CURRENT.reset(token)


def origin_of(node: ast.AST) -> Origin | None:
    """The place of a node that stands for another one, or None for a node of the file itself."""
    return getattr(node, "origin", None)


def filled(file: str, node: ast.FunctionDef, line_shift: int) -> ast.FunctionDef:
    """`node`, with the statements that stand for each `...` in it. line_shift: from its line numbers to the file's."""
    current = _CURRENT.get()
    if current is None or current[0] != file or not current[1]:
        return node
    found = _Filling(current[1], line_shift).visit(copy.deepcopy(node))
    assert isinstance(found, ast.FunctionDef)
    return found


class _Filling(ast.NodeTransformer):
    def __init__(self, by_line: Mapping[int, StandIn], line_shift: int) -> None:
        self.by_line, self.line_shift = by_line, line_shift

    def visit_Expr(self, node: ast.Expr) -> ast.AST | list[ast.stmt]:
        stand_in = self.by_line.get(node.lineno + self.line_shift)
        if stand_in is None or not (isinstance(node.value, ast.Constant) and node.value.value is Ellipsis):
            return node
        statements = copy.deepcopy(list(stand_in.statements))
        origin = Origin(stand_in.file, node.value)
        for statement in statements:
            for inner in ast.walk(statement):
                inner.origin = origin  # type: ignore[attr-defined]
        return statements
