"""Visitors of the IR.

`Mutator` rebuilds a tree bottom-up and shares unchanged nodes; a pass subclasses it and overrides
``visit_<ClassName>``. `substitute` replaces variables and buffers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from operator import is_
from typing import Any, ClassVar

from .buffer import Buffer, Range
from .expr import Expr, Var
from .func import PrimFunc
from .span import TirxError
from .stmt import Seq, Stmt, seq
from .walk import FIELDS, NAMES, SHAPES

_set = object.__setattr__


class _Visitors(dict[type, Callable[[Any, Any], Any]]):
    """The visitor methods of a mutator class by node class: ``visit_<ClassName>``, or `Mutator.rebuild`."""

    def __init__(self, mutator: type[Mutator]) -> None:
        self.mutator = mutator

    def __missing__(self, cls: type) -> Callable[[Any, Any], Any]:
        self[cls] = getattr(self.mutator, f"visit_{cls.__name__}", None) or self.mutator.rebuild
        return self[cls]


def _altered(node: Any, changed: Mapping[str, Any]) -> Any:
    """Replace fields as `dataclasses.replace` does, without running the constructor."""
    copy = object.__new__(type(node))
    for name in NAMES[type(node)]:
        _set(copy, name, changed[name] if name in changed else getattr(node, name))
    return copy


class Mutator:
    """Rebuilds expressions and statements. Unchanged nodes are shared and spans are kept."""

    visitors: ClassVar[_Visitors]
    """What is done with nodes of each class, found once for a class of mutators."""

    def expr(self, node: Expr) -> Expr:
        return self.visitors[type(node)](self, node)

    def stmt(self, node: Stmt) -> Stmt:
        return self.visitors[type(node)](self, node)

    def buffer(self, buffer: Buffer) -> Buffer:
        """Map the use of a buffer; override this method to replace buffers."""
        return buffer

    def func(self, func: PrimFunc) -> PrimFunc:
        return func.with_body(self.stmt(func.body))

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.visitors = _Visitors(cls)

    def located(self, node: Stmt) -> Stmt:
        """Visit a statement, which becomes the location of errors without one."""
        try:
            return self.stmt(node)
        except TirxError as error:
            raise error.at(node.span) from None

    def rebuild(self, node: Any) -> Any:
        """Return `node` with all children visited."""
        if isinstance(node, Seq):
            stmts = [self.located(each) for each in node.stmts]
            return node if all(map(is_, stmts, node.stmts)) else seq(*stmts, span=node.span)
        changed = {}
        for name in FIELDS[type(node)]:
            old = getattr(node, name)
            new = self.expr(old) if SHAPES[type(old)] == "expr" else self.field(old)
            if new is not old:
                changed[name] = new
        return _altered(node, changed) if changed else node

    def field(self, value: Any) -> Any:
        shape = SHAPES[type(value)]
        if shape == "expr":
            return self.expr(value)
        if shape == "stmt":
            return self.stmt(value)
        if shape == "buffer":
            return self.buffer(value)
        if shape == "range":
            start, extent = self.expr(value.start), self.expr(value.extent)
            return value if start is value.start and extent is value.extent else Range(start, extent)
        if shape == "tuple":
            items = [self.field(each) for each in value]
            return value if all(map(is_, items, value)) else tuple(items)
        return value


Mutator.visitors = _Visitors(Mutator)


class _Substitute(Mutator):
    def __init__(self, variables: Mapping[Var, Expr], buffers: Mapping[Buffer, Buffer]) -> None:
        self.variables, self.buffers = variables, buffers

    def visit_Var(self, node: Var) -> Expr:
        return self.variables.get(node, node)

    def buffer(self, buffer: Buffer) -> Buffer:
        return self.buffers.get(buffer, buffer)


class _Rewrite(Mutator):
    def __init__(self, fn: Callable[[Expr], Expr]) -> None:
        self.fn = fn

    def expr(self, node: Expr) -> Expr:
        return self.fn(self.rebuild(node))


def substitute(node: Any, variables: Mapping[Var, Expr], buffers: Mapping[Buffer, Buffer] | None = None) -> Any:
    """Substitute variables (and buffers) in `node`."""
    return _Substitute(variables, buffers or {}).field(node)


def rewrite(node: Any, fn: Callable[[Expr], Expr]) -> Any:
    """Apply `fn` to every expression in `node`, children first."""

    return _Rewrite(fn).field(node)


def structural_equal(a: Any, b: Any, given: Mapping[Any, Any] | None = None) -> bool:
    """Return whether two trees are structurally equal.

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
        own = ("span", "name") if isinstance(a, (Var, Buffer)) else ("span", "written", "spelling", "tile_writes")
        names = (f.name for f in fields(a) if f.name not in own)
        return all(_equal(getattr(a, n), getattr(b, n), forth, back) for n in names)
    return bool(a == b)
