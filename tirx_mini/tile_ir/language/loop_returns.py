"""`return` inside a loop, as a `break` and a test after the loop: cuda_tile's loops have no other early end."""

from __future__ import annotations

import ast
import copy
from functools import lru_cache

from .liveness import returns

_FLAG = "$returned"
"""A variable that no program can name."""


@lru_cache(maxsize=256)
def without_loop_returns(node: ast.FunctionDef) -> ast.FunctionDef:
    """The function itself, or a copy in which no loop contains a `return`.

    One with a value stays: it has no value to break with before the first iteration.
    """
    inside = [r for loop in ast.walk(node) if isinstance(loop, (ast.For, ast.While)) for r in returns(loop.body)]
    if not inside or any(r.value is not None for r in inside):
        return node
    changed = copy.deepcopy(node)
    changed.body = _block(changed.body)
    return changed


def _block(statements: list[ast.stmt]) -> list[ast.stmt]:
    made: list[ast.stmt] = []
    for statement in statements:
        if isinstance(statement, ast.If):
            statement.body, statement.orelse = _block(statement.body), _block(statement.orelse)
        if isinstance(statement, (ast.For, ast.While)) and returns(statement.body):
            statement.body = _in_loop(_block(statement.body))
            made += [_assign(statement, False), statement, _test(statement)]
        else:
            made.append(statement)
    return made


def _in_loop(statements: list[ast.stmt]) -> list[ast.stmt]:
    """The body of a loop with `break` in place of `return`; inner loops have none left, but tests after them."""
    made: list[ast.stmt] = []
    for statement in statements:
        if isinstance(statement, ast.Return):
            made += [_assign(statement, True), ast.copy_location(ast.Break(), statement)]
            break
        if isinstance(statement, ast.If):
            statement.body, statement.orelse = _in_loop(statement.body), _in_loop(statement.orelse)
        made.append(statement)
    return made


def _assign(place: ast.stmt, value: bool) -> ast.stmt:
    name = ast.copy_location(ast.Name(_FLAG, ast.Store()), place)
    return ast.copy_location(ast.Assign([name], ast.copy_location(ast.Constant(value), place)), place)


def _test(place: ast.stmt) -> ast.stmt:
    name = ast.copy_location(ast.Name(_FLAG, ast.Load()), place)
    return ast.copy_location(ast.If(name, [ast.copy_location(ast.Return(None), place)], []), place)
