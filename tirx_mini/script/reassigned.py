"""Static analysis of reassignments: names of a kernel that are assigned more than once.

A name that is assigned once names a value. A name that is assigned again is a variable, from its first assignment on.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum

from tirx_mini.records import dataclass


class Again(Enum):
    """The location of a further assignment to a name: in the same function, or only in nested functions."""

    HERE = "here"
    INSIDE_FUNCTIONS = "inside functions"


@dataclass(frozen=True)
class _Event:
    """An assignment or deletion of a name.

    branches: the arms of the `if` statements around it, as (id of the statement, whether the test holds).
    repeated: whether a `while` statement is around it.
    in_function: whether it belongs to a function that is defined among the statements.
    """

    node: ast.Name
    branches: tuple[tuple[int, bool], ...] = ()
    repeated: bool = False
    in_function: bool = False
    deletes: bool = False

    def excludes(self, other: _Event) -> bool:
        """Return whether two events lie in different arms of one `if`, so that at most one is executed."""
        arms = dict(self.branches)
        return any(arms.get(statement, arm) is not arm for statement, arm in other.branches)


class Assignments:
    """The assignments in a block, including those in nested blocks and functions."""

    def __init__(self, statements: Sequence[ast.stmt]) -> None:
        self._events: dict[str, list[_Event]] = {}
        for event in _events(statements, _Event(ast.Name(""))):
            self._events.setdefault(event.node.id, []).append(event)

    def again(self, first: ast.Name) -> Again | None:
        """Return the location of a further assignment to the name that `first` assigns, or None."""
        events = self._events.get(first.id, [])
        start = next((i for i, event in enumerate(events) if event.node is first), None)
        if start is None:
            return None
        own = events[start]
        if own.repeated:
            return Again.HERE
        for event in events[start + 1 :]:
            if event.deletes:
                break
            if not event.in_function and not event.excludes(own):
                return Again.HERE
        return Again.INSIDE_FUNCTIONS if any(event.in_function for event in events if event is not own) else None


def _events(statements: Sequence[ast.stmt], around: _Event) -> Iterator[_Event]:
    for node in statements:
        if isinstance(node, ast.If):
            for arm, body in ((True, node.body), (False, node.orelse)):
                yield from _events(body, _inside(around, branches=(*around.branches, (id(node), arm))))
        elif isinstance(node, ast.FunctionDef):
            yield from _of_function(node, around)
        elif isinstance(node, (ast.For, ast.While, ast.With)):
            inner = _inside(around, repeated=True) if isinstance(node, ast.While) else around
            yield from _events(node.body, inner)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            yield _inside(around, node=node.target)
        elif isinstance(node, ast.Delete):
            names = [target for target in node.targets if isinstance(target, ast.Name)]
            yield from (_inside(around, node=name, deletes=True) for name in names)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                yield from (_inside(around, node=name) for name in _assigned(target, node.value))


def _inside(
    around: _Event,
    *,
    node: ast.Name | None = None,
    branches: tuple[tuple[int, bool], ...] | None = None,
    repeated: bool = False,
    deletes: bool = False,
) -> _Event:
    return _Event(
        node or around.node,
        around.branches if branches is None else branches,
        around.repeated or repeated,
        around.in_function,
        deletes,
    )


def _of_function(node: ast.FunctionDef, around: _Event) -> Iterator[_Event]:
    """Yield a function's assignments to nonlocal names, excluding its parameters and own variables."""
    arguments = node.args
    every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
    own = {argument.arg for argument in every if argument is not None}
    own |= set(_declared(node.body))
    inner = _Event(around.node, around.branches, around.repeated, in_function=True)
    yield from (event for event in _events(node.body, inner) if event.node.id not in own and not event.deletes)


def _declared(statements: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the names that annotated assignments declare, including those in nested blocks."""
    for node in statements:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        elif not isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr, ast.Return)):
            yield from _declared(child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr))


def _assigned(target: ast.expr, value: ast.expr | None) -> Iterator[ast.Name]:
    """Yield the names to which an assignment stores; a ``Tx.meta_var(…)`` alias is not stored."""
    if isinstance(target, ast.Name):
        if value is None or not is_alias(value):
            yield target
    elif isinstance(target, (ast.Tuple, ast.List)):
        parts = target.elts
        given: Sequence[ast.expr | None] = [value] * len(parts)
        if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(parts):
            given = value.elts
        for part, each in zip(parts, given, strict=True):
            yield from _assigned(part.value if isinstance(part, ast.Starred) else part, each)


def is_alias(value: ast.expr) -> bool:
    """Return whether a value is written as ``Tx.meta_var(…)``, or as a conditional of such values."""
    if isinstance(value, ast.IfExp):
        return is_alias(value.body) and is_alias(value.orelse)
    if not isinstance(value, ast.Call):
        return False
    name = value.func.attr if isinstance(value.func, ast.Attribute) else getattr(value.func, "id", "")
    return name.endswith("meta_var")
