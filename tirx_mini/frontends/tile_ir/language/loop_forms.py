"""Normalisation of loops for cuda_tile: no `return` inside, and no loop variable used after its loop."""

from __future__ import annotations

import ast
import copy
from functools import lru_cache

from .liveness import breaks, returns

_FLAG = "$returned"
"""Whether a loop ended by `return`. No program can name such a variable."""
RETURNED = "$value"
"""What a `return` inside a loop returns."""


@lru_cache(maxsize=256)
def with_plain_loops(node: ast.FunctionDef) -> ast.FunctionDef:
    """Return the function with normalised loops, or the function itself if nothing changes."""
    loops = [n for n in ast.walk(node) if isinstance(n, (ast.For, ast.While))]
    if not loops:
        return node
    leaves = any(returns(loop.body) for loop in loops)
    outliving = _outliving(node)
    if not leaves and not outliving:
        return node
    changed = copy.deepcopy(node)
    if outliving:
        for loop in ast.walk(changed):
            if isinstance(loop, ast.For) and isinstance(loop.target, ast.Name) and loop.target.id in outliving:
                _rename_target(loop, loop.target)
    if leaves:
        changed.body = _block(changed.body)
    return changed


# -- Loop variables ----------------------------------------------------------------------------------------------------


def _outliving(node: ast.FunctionDef) -> set[str]:
    """Return the loop variables that are defined before a loop and read after it."""
    loops = [n for n in ast.walk(node) if isinstance(n, ast.For) and isinstance(n.target, ast.Name)]
    targets = {id(loop.target) for loop in loops}
    arguments = node.args
    given = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    names = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
    given |= {n.id for n in names if isinstance(n.ctx, ast.Store) and id(n) not in targets}
    found: set[str] = set()
    for loop in loops:
        assert isinstance(loop.target, ast.Name)
        name = loop.target.id
        inside = {id(n) for part in loop.body for n in ast.walk(part)}
        read = any(n.id == name and isinstance(n.ctx, ast.Load) and id(n) not in inside for n in names)
        if read and name in given:
            found.add(name)
    return found


def _rename_target(loop: ast.For, target: ast.Name) -> None:
    """Rewrite ``for i in …:`` as ``for $i in …: i = $i``."""
    hidden = f"${target.id}"
    value = ast.copy_location(ast.Name(hidden, ast.Load()), target)
    loop.body = [ast.copy_location(ast.Assign([target], value), target), *loop.body]
    loop.target = ast.copy_location(ast.Name(hidden, ast.Store()), target)


# -- Returns -----------------------------------------------------------------------------------------------------------


def _block(statements: list[ast.stmt]) -> list[ast.stmt]:
    made: list[ast.stmt] = []
    for statement in statements:
        if isinstance(statement, ast.If):
            statement.body, statement.orelse = _block(statement.body), _block(statement.orelse)
        if isinstance(statement, (ast.For, ast.While)) and returns(statement.body):
            valued = any(r.value is not None for r in returns(statement.body))
            endless = _endless(statement)
            statement.body = _in_loop(_block(statement.body))
            made += [_flag(statement, False), statement, _after(statement, valued, endless)]
        else:
            made.append(statement)
    return made


def _in_loop(statements: list[ast.stmt]) -> list[ast.stmt]:
    """Rewrite `return` as `break` in a loop body whose inner loops are already rewritten."""
    made: list[ast.stmt] = []
    for statement in statements:
        if isinstance(statement, ast.Return):
            if statement.value is not None:
                made.append(_assign(statement, RETURNED, statement.value))
            made += [_flag(statement, True), ast.copy_location(ast.Break(), statement)]
            break
        if isinstance(statement, ast.If):
            statement.body, statement.orelse = _in_loop(statement.body), _in_loop(statement.orelse)
        made.append(statement)
    return made


def _endless(loop: ast.For | ast.While) -> bool:
    """Return whether a loop can be left only by `return`."""
    forever = isinstance(loop, ast.While) and isinstance(loop.test, ast.Constant) and bool(loop.test.value)
    return forever and not breaks(loop.body)


def _assign(place: ast.stmt, name: str, value: ast.expr) -> ast.stmt:
    target = ast.copy_location(ast.Name(name, ast.Store()), place)
    return ast.copy_location(ast.Assign([target], value), place)


def _flag(place: ast.stmt, value: bool) -> ast.stmt:
    return _assign(place, _FLAG, ast.copy_location(ast.Constant(value), place))


def _after(place: ast.stmt, valued: bool, endless: bool) -> ast.stmt:
    """Build the statements after a loop that return its result."""
    value = ast.copy_location(ast.Name(RETURNED, ast.Load()), place) if valued else None
    end = ast.copy_location(ast.Return(value), place)
    if endless:
        return end
    name = ast.copy_location(ast.Name(_FLAG, ast.Load()), place)
    return ast.copy_location(ast.If(name, [end], []), place)
