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


class _Readers(dict[type, Callable[[Any], tuple[Any, ...]] | None]):
    """The getter of a node class's fields, or None if it has none."""

    def __missing__(self, cls: type) -> Callable[[Any], tuple[Any, ...]] | None:
        names = FIELDS[cls]
        self[cls] = attrgetter(*names) if len(names) > 1 else _reader(*names) if names else None
        return self[cls]


def _reader(name: str) -> Callable[[Any], tuple[Any, ...]]:
    return lambda node: (getattr(node, name),)


NAMES, FIELDS, SHAPES = _Names(), _Fields(), _Shapes()
_BODIES = _Bodies()
_READERS = _Readers()
_NODES, _MANY = frozenset(("expr", "stmt")), frozenset(("tuple", "range"))


def children(node: Node) -> list[Node]:
    """Return the direct child expressions and statements of a node, excluding those inside buffers."""
    found: list[Node] = []
    read = _READERS[type(node)]
    for value in () if read is None else read(node):
        shape = SHAPES[type(value)]
        if shape in _NODES:
            found.append(value)
        elif shape in _MANY:
            _gather(value, shape, found)
    return found


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
        if _READERS[type(top)] is not None:
            below = children(top)
            below.reverse()
            stack += below
