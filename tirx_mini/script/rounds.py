"""Checks on compile-time values in kernel loops.

The body of a loop is read only once, so its iterations can pass values on only through storage.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence


def read_before_assigned(statements: Sequence[ast.stmt], name: str) -> ast.Name | None:
    """Return a read of `name` before its assignment, which would see the previous iteration's value."""
    for access in (access for node in statements for access in _accesses(node, name)):
        return access if isinstance(access.ctx, ast.Load) else None
    return None


def _accesses(node: ast.AST, name: str) -> Iterator[ast.Name]:
    """Yield the accesses to `name`, in execution order."""
    if isinstance(node, ast.Name):
        if node.id == name:
            yield node
    elif isinstance(node, (ast.FunctionDef, ast.Lambda)):
        return  # executed where the function is called
    elif isinstance(node, ast.AugAssign):
        if isinstance(node.target, ast.Name) and node.target.id == name:
            yield ast.copy_location(ast.Name(name, ast.Load()), node.target)
        yield from _accesses(node.value, name)
        yield from _accesses(node.target, name)
    elif isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for part in (node.value, *targets):
            if part is not None:
                yield from _accesses(part, name)
    elif isinstance(node, ast.For):
        for part in (node.iter, node.target, *node.body):
            yield from _accesses(part, name)
    else:
        for child in ast.iter_child_nodes(node):
            yield from _accesses(child, name)
