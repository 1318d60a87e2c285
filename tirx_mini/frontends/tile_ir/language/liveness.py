"""Liveness analysis: the variables that loops must carry and branches must merge."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from functools import lru_cache

from tirx_mini.records import dataclass

Loop = ast.For | ast.While
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)

Names = frozenset[str]
NONE: Names = frozenset()


@dataclass
class Liveness:
    """The live variables of one function.

    header: for each loop, the names that an iteration or the code after the loop may read.
    after: for each `if`, the names that the code after it may read.
    """

    header: dict[ast.stmt, Names] = field(default_factory=dict)
    after: dict[ast.stmt, Names] = field(default_factory=dict)


@lru_cache(maxsize=256)
def liveness(node: ast.FunctionDef | ast.Lambda) -> Liveness:
    """Compute the live variables of a function; a name that a nested function reads is live everywhere."""
    found = Liveness()
    if isinstance(node, ast.FunctionDef):
        captured = frozenset(
            name
            for inner in _nested(node)
            for name in _reads(inner.body if isinstance(inner.body, list) else [inner.body])
        )
        _Analysis(found, captured).block(node.body, captured)
    return found


def assigned(statements: Iterable[ast.stmt]) -> dict[str, ast.AST]:
    """Return the names that statements assign, outside nested functions, each with its first assignment."""
    names: dict[str, ast.AST] = {}
    for node in _own_nodes(statements):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.setdefault(node.id, node)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.setdefault(node.name, node)
    return names


def exits(statements: Iterable[ast.stmt]) -> bool:
    """Return whether statements may leave their block, by return or by break or continue of an enclosing loop."""
    for node in statements:
        if isinstance(node, (ast.Return, ast.Break, ast.Continue)):
            return True
        if isinstance(node, ast.If) and (exits(node.body) or exits(node.orelse)):
            return True
        if isinstance(node, ast.With) and exits(node.body):
            return True
        if isinstance(node, (ast.For, ast.While)) and returns(node.body):
            return True
    return False


def returns(statements: Iterable[ast.stmt]) -> list[ast.Return]:
    """Return the `return` statements outside nested functions."""
    return [node for node in _own_nodes(statements) if isinstance(node, ast.Return)]


def breaks(statements: Iterable[ast.stmt]) -> bool:
    """Return whether a loop body contains a `break` of that loop."""
    for node in statements:
        if isinstance(node, ast.Break):
            return True
        if isinstance(node, ast.If) and (breaks(node.body) or breaks(node.orelse)):
            return True
    return False


def _own_nodes(statements: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Yield all nodes of statements, without the bodies of nested functions."""
    for node in statements:
        yield node
        if not isinstance(node, _FUNCTIONS):
            yield from _own_nodes(ast.iter_child_nodes(node))


def _nested(node: ast.AST) -> Iterator[ast.FunctionDef | ast.Lambda]:
    for inner in ast.walk(node):
        if inner is not node and isinstance(inner, (ast.FunctionDef, ast.Lambda)):
            yield inner


def _reads(nodes: Iterable[ast.AST]) -> Names:
    return frozenset(
        n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
    )


def _stores(nodes: Iterable[ast.AST]) -> Names:
    return frozenset(
        n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    )


@dataclass
class _Analysis:
    """Backward dataflow analysis of structured statements, iterated to a fixed point on loops."""

    found: Liveness
    captured: Names
    loops: list[tuple[Names, Names]] = field(default_factory=list)
    """For each enclosing loop, what is live at its header and after it."""

    def block(self, statements: Sequence[ast.stmt], out: Names) -> Names:
        for statement in reversed(statements):
            out = self.statement(statement, out)
        return out

    def statement(self, node: ast.stmt, out: Names) -> Names:
        if isinstance(node, (ast.For, ast.While)):
            return self.loop(node, out)
        if isinstance(node, ast.If):
            self.found.after[node] = self.found.after.get(node, NONE) | out
            return self.block(node.body, out) | self.block(node.orelse, out) | _reads([node.test])
        if isinstance(node, ast.With):
            targets = [item.optional_vars for item in node.items if item.optional_vars is not None]
            inside = self.block(node.body, out) - _stores(targets)
            return inside | _reads([item.context_expr for item in node.items]) | self.captured
        if isinstance(node, ast.Return):
            return _reads([node]) | self.captured
        if isinstance(node, (ast.Break, ast.Continue)) and self.loops:
            header, after = self.loops[-1]
            return after if isinstance(node, ast.Break) else header
        if isinstance(node, ast.Assign):
            return (out - _stores(node.targets)) | _reads([node]) | self.captured
        if isinstance(node, ast.AugAssign):
            return out | _reads([node]) | _stores([node.target])
        if isinstance(node, ast.AnnAssign):
            return (out - _stores([node.target])) | _reads([node]) | self.captured
        if isinstance(node, ast.FunctionDef):
            return (out - {node.name}) | self.captured
        return out | _reads([node])

    def loop(self, node: Loop, out: Names) -> Names:
        test = _reads([node.test]) if isinstance(node, ast.While) else NONE
        targets = _stores([node.target]) if isinstance(node, ast.For) else NONE
        header = out | test
        while True:
            self.loops.append((header, out))
            again = header | (self.block(node.body, header) - targets)
            self.loops.pop()
            if again == header:
                break
            header = again
        self.found.header[node] = self.found.header.get(node, NONE) | header
        return header | (_reads([node.iter]) if isinstance(node, ast.For) else NONE)
