"""Replacement statements for the `...` of a kernel, with which a check fills open TODOs."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from tirx_mini.records import dataclass


@dataclass(frozen=True, eq=False)
class StandIn:
    """The statements that replace one `...`. file: the file of their text."""

    file: str
    statements: Sequence[ast.stmt]


@dataclass(frozen=True, eq=False)
class Origin:
    """The origin of a replacement statement. file: the file of its own text. dots: the `...` that it replaces."""

    file: str
    dots: ast.expr


_CURRENT: ContextVar[tuple[str, Mapping[int, StandIn]] | None] = ContextVar("standing_in", default=None)


@contextmanager
def standing_in(file: str, by_line: Mapping[int, StandIn]) -> Iterator[None]:
    """Parse functions of `file` with replacement statements for the `...` at the given lines."""
    token = _CURRENT.set((file, by_line))
    try:
        yield
    finally:
        _CURRENT.reset(token)


def origin_of(node: ast.AST) -> Origin | None:
    """Return the origin of a replacement node, or None for a node of the file itself."""
    return getattr(node, "origin", None)


def filled(file: str, node: ast.FunctionDef, line_shift: int) -> ast.FunctionDef:
    """Replace each `...` in `node` by its statements. line_shift: the offset of its line numbers in the file."""
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
