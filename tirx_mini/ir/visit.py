"""Visitors of the IR.

`Mutator` rebuilds a tree bottom-up and shares unchanged nodes; a pass subclasses it and overrides
``visit_<ClassName>``. `walk` yields every node, parents first. `substitute` replaces variables and buffers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from functools import cache
from typing import Any

from .buffer import Buffer, Range
from .expr import Const, Expr, Str, Var
from .func import PrimFunc
from .stmt import Seq, Stmt, seq

Node = Expr | Stmt

_PLAIN = frozenset(
    "span dtype name op attrs kind kinds parent scope lanes step parallel unroll extents preferred message written "
    "spelling path thread".split()
)
"""Fields that never hold nodes."""


@cache
def child_fields(cls: type) -> tuple[str, ...]:
    """The fields of a node class that may hold nodes, buffers or tuples of them."""
    names = (f.name for f in fields(cls) if f.name not in _PLAIN)
    return tuple(name for name in names if name != "value" or cls not in (Const, Str))


def children(node: Node) -> list[Node]:
    """The direct child expressions and statements of a node, not including those inside buffers."""
    found: list[Node] = []
    for name in child_fields(type(node)):
        _gather(getattr(node, name), found)
    return found


def _gather(value: Any, found: list[Node]) -> None:
    """Append the nodes that a field holds. Nearly all of the time of a walk is spent here."""
    if isinstance(value, (Expr, Stmt)):
        found.append(value)
    elif isinstance(value, tuple):  # operands, or the (name, value) pairs of options
        for item in value:
            _gather(item, found)
    elif isinstance(value, Range):
        found.append(value.start)
        found.append(value.extent)


def walk(node: Node) -> Iterator[Node]:
    """`node` and all its descendants, parents before children, in program order."""
    stack: list[Node] = [node]
    while stack:
        top = stack.pop()
        yield top
        below = children(top)
        below.reverse()
        stack += below


class Mutator:
    """Rebuilds expressions and statements. Unchanged nodes are shared and spans are kept."""

    def expr(self, node: Expr) -> Expr:
        return self._dispatch(node)

    def stmt(self, node: Stmt) -> Stmt:
        return self._dispatch(node)

    def buffer(self, buffer: Buffer) -> Buffer:
        """Called for every use of a buffer. Override it to replace buffers."""
        return buffer

    def func(self, func: PrimFunc) -> PrimFunc:
        return func.with_body(self.stmt(func.body))

    def _dispatch(self, node: Any) -> Any:
        method = getattr(self, f"visit_{type(node).__name__}", None)
        return method(node) if method else self.rebuild(node)

    def rebuild(self, node: Any) -> Any:
        """`node` with all children visited."""
        if isinstance(node, Seq):
            stmts = tuple(self.stmt(s) for s in node.stmts)
            same = all(a is b for a, b in zip(stmts, node.stmts, strict=True))
            return node if same else seq(*stmts, span=node.span)
        changed = {}
        for name in child_fields(type(node)):
            old = getattr(node, name)
            new = self.field(old)
            if new is not old:
                changed[name] = new
        return replace(node, **changed) if changed else node

    def field(self, value: Any) -> Any:
        if isinstance(value, Stmt):
            return self.stmt(value)
        if isinstance(value, Expr):
            return self.expr(value)
        if isinstance(value, Buffer):
            return self.buffer(value)
        if isinstance(value, Range):
            start, extent = self.expr(value.start), self.expr(value.extent)
            return value if start is value.start and extent is value.extent else Range(start, extent)
        if isinstance(value, tuple):
            items = tuple(self.field(v) for v in value)
            return value if all(a is b for a, b in zip(items, value, strict=True)) else items
        return value


class _Substitute(Mutator):
    def __init__(self, variables: Mapping[Var, Expr], buffers: Mapping[Buffer, Buffer]) -> None:
        self.variables, self.buffers = variables, buffers

    def visit_Var(self, node: Var) -> Expr:
        return self.variables.get(node, node)

    def buffer(self, buffer: Buffer) -> Buffer:
        return self.buffers.get(buffer, buffer)


def substitute(node: Any, variables: Mapping[Var, Expr], buffers: Mapping[Buffer, Buffer] | None = None) -> Any:
    """`node` with its variables (and buffers) replaced."""
    return _Substitute(variables, buffers or {}).field(node)


def rewrite(node: Any, fn: Callable[[Expr], Expr]) -> Any:
    """`node` with `fn` applied to every expression, children first."""

    class Rewrite(Mutator):
        def expr(self, node: Expr) -> Expr:
            return fn(self.rebuild(node))

    return Rewrite().field(node)


def structural_equal(a: Any, b: Any, given: Mapping[Any, Any] | None = None) -> bool:
    """Whether two trees mean the same.

    Spans and spellings do not matter, nor do the identities and names of variables and buffers.

    given: variables or buffers of `a` that must correspond to the given ones of `b`.
    """
    forth = dict(given or {})
    return (a is b and not forth) or _equal(a, b, forth, {there: here for here, there in forth.items()})


def _equal(a: Any, b: Any, forth: dict[Any, Any], back: dict[Any, Any]) -> bool:
    """Compare recursively. `forth` maps the variables and buffers of `a` to those of `b`; `back` is its inverse."""
    if type(a) is not type(b):
        return False
    if isinstance(a, (Var, Buffer)):
        if a in forth or b in back:
            return forth.get(a) is b and back.get(b) is a
        forth[a], back[b] = b, a
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_equal(a[key], b[key], forth, back) for key in a)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(_equal(x, y, forth, back) for x, y in zip(a, b, strict=True))
    if isinstance(a, (Expr, Stmt, Buffer, Range, PrimFunc)) or hasattr(type(a), "__dataclass_fields__"):
        own = ("span", "name") if isinstance(a, (Var, Buffer)) else ("span", "written", "spelling")
        names = (f.name for f in fields(a) if f.name not in own)
        return all(_equal(getattr(a, n), getattr(b, n), forth, back) for n in names)
    return bool(a == b)
