"""Traversal of the IR: `walk` yields every node of a tree in pre-order, `children` the direct ones.

`statements` yields the statements alone, which are a small part of a tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields
from operator import attrgetter
from typing import Any

from .buffer import Buffer, Range
from .expr import Const, Expr, Str
from .stmt import Stmt

Node = Expr | Stmt

_PLAIN = frozenset(
    "span dtype name op attrs kind kinds parent scope lanes step parallel unroll extents preferred message written "
    "spelling path thread".split()
)
"""Fields that never hold nodes."""


class _Names(dict[type, tuple[str, ...]]):
    """The names of all fields, by node class."""

    def __missing__(self, cls: type) -> tuple[str, ...]:
        self[cls] = tuple(f.name for f in fields(cls))
        return self[cls]


class _Fields(dict[type, tuple[str, ...]]):
    """The names of fields that may hold nodes, buffers or tuples of them, by node class."""

    def __missing__(self, cls: type) -> tuple[str, ...]:
        names = (f.name for f in fields(cls) if f.name not in _PLAIN)
        self[cls] = tuple(name for name in names if name != "value" or cls not in (Const, Str))
        return self[cls]


class _Bodies(dict[type, tuple[str, ...]]):
    """The names of fields that hold statements, by class of statement."""

    def __missing__(self, cls: type) -> tuple[str, ...]:
        self[cls] = tuple(f.name for f in fields(cls) if "Stmt" in str(f.type))
        return self[cls]


class _Shapes(dict[type, str]):
    """The role of a class for visitors: "expr", "stmt", "tuple", "range", "buffer" or "none"."""

    def __missing__(self, cls: type) -> str:
        bases = ((Expr, "expr"), (Stmt, "stmt"), (tuple, "tuple"), (Range, "range"), (Buffer, "buffer"))
        self[cls] = next((shape for base, shape in bases if issubclass(cls, base)), "none")
        return self[cls]


class _Readers(dict[type, Callable[[Any], list[Node]] | None]):
    """The function that returns the direct children of a node, by its class; None if the class has none."""

    def __missing__(self, cls: type) -> Callable[[Any], list[Node]] | None:
        types = {f.name: str(f.type) for f in fields(cls) if f.name in FIELDS[cls] and str(f.type) != "Buffer"}
        get = _getter(*types)
        if not types:
            self[cls] = None
        elif all(each in ("Expr", "Stmt", "Var", "Call") for each in types.values()):
            self[cls] = (lambda node: [get(node)]) if len(types) == 1 else (lambda node: list(get(node)))
        elif list(types.values()) in (["tuple[Expr, ...]"], ["tuple[Stmt, ...]"]):
            self[cls] = lambda node: list(get(node))
        else:
            self[cls] = lambda node: _nodes_in(get(node) if len(types) > 1 else (get(node),))
        return self[cls]


def _getter(*names: str) -> Callable[[Any], Any]:
    """Return the function that reads one attribute, or a tuple of several."""
    return attrgetter(*names or ("__class__",))


def _nodes_in(values: tuple[Any, ...]) -> list[Node]:
    """Return the nodes among the values of a node's fields, in tuples, and in ranges."""
    found: list[Node] = []
    for value in values:
        shape = SHAPES[type(value)]
        if shape in _NODES:
            found.append(value)
        elif shape in _MANY:
            _gather(value, shape, found)
    return found


NAMES, FIELDS, SHAPES = _Names(), _Fields(), _Shapes()
_BODIES = _Bodies()
_READERS = _Readers()
_NODES, _MANY = frozenset(("expr", "stmt")), frozenset(("tuple", "range"))


def children(node: Node) -> list[Node]:
    """Return the direct child expressions and statements of a node, excluding those inside buffers."""
    read = _READERS[type(node)]
    return [] if read is None else read(node)


def _gather(value: Any, shape: str, found: list[Node]) -> None:
    """Append the nodes in a tuple (operands, or (name, value) pairs of options) or in a range."""
    if shape == "range":
        found += (value.start, value.extent)
        return
    for item in value:
        shape = SHAPES[type(item)]
        if shape in _NODES:
            found.append(item)
        elif shape in _MANY:
            _gather(item, shape, found)


def statements(stmt: Stmt) -> Iterator[Stmt]:
    """Yield `stmt` and all statements in it in pre-order."""
    stack = [stmt]
    while stack:
        top = stack.pop()
        yield top
        stack += reversed(inner_statements(top))


def inner_statements(stmt: Stmt) -> list[Stmt]:
    """Return the direct child statements of a statement."""
    found: list[Stmt] = []
    for name in _BODIES[type(stmt)]:
        value = getattr(stmt, name)
        if isinstance(value, Stmt):
            found.append(value)
        elif value is not None:
            found += value
    return found


def walk(node: Node) -> Iterator[Node]:
    """Yield `node` and all its descendants in pre-order."""
    stack: list[Node] = [node]
    pop = stack.pop
    while stack:
        top = pop()
        yield top
        read = _READERS[type(top)]
        if read is not None:
            stack += read(top)[::-1]
