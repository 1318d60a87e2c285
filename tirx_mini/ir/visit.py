"""Visitors of the IR.

`Mutator` rebuilds a tree bottom-up and shares unchanged nodes; a pass subclasses it and overrides
``visit_<ClassName>``. `substitute` replaces variables and buffers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields
from operator import is_
from typing import Any, ClassVar, TypeVar, overload

from tirx_mini.narrowing import is_dict, is_tuple

from .buffer import Buffer, Range
from .expr import Expr, Var
from .func import PrimFunc
from .span import TirxError
from .stmt import Seq, Stmt, seq
from .walk import FIELDS, NAMES, SHAPES

_T = TypeVar("_T")
_Variables = Mapping[Var, Expr]
_Buffers = Mapping[Buffer, Buffer]
_set = object.__setattr__


class _Visitors(dict[type, Callable[[Any, Any], Any]]):
    """The visitor methods of a mutator class by node class: ``visit_<ClassName>``, or `Mutator.rebuild`."""

    def __init__(self, mutator: type[Mutator]) -> None:
        self.mutator = mutator

    def __missing__(self, cls: type) -> Callable[[Any, Any], Any]:
        self[cls] = getattr(self.mutator, f"visit_{cls.__name__}", None) or self.mutator.rebuild
        return self[cls]


def _altered(node: _T, changed: Mapping[str, object]) -> _T:
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

    @overload
    def rebuild(self, node: Seq) -> Stmt: ...
    @overload
    def rebuild(self, node: _T) -> _T: ...
    def rebuild(self, node: object) -> object:
        """Return `node` with all children visited."""
        if isinstance(node, Seq):
            stmts = [self.located(each) for each in node.stmts]
            return node if all(map(is_, stmts, node.stmts)) else seq(*stmts, span=node.span)
        changed: dict[str, object] = {}
        for name in FIELDS[type(node)]:
            old = getattr(node, name)
            new = self.expr(old) if SHAPES[type(old)] == "expr" else self.field(old)
            if new is not old:
                changed[name] = new
        return _altered(node, changed) if changed else node

    def field(self, value: _T) -> _T:
        """Return the value of a field of a node, with every node in it visited."""
        made: Any = value
        shape = SHAPES[type(value)]
        if shape == "expr":
            made = self.expr(made)
        elif shape == "stmt":
            made = self.stmt(made)
        elif shape == "buffer":
            made = self.buffer(made)
        elif shape == "range":
            start, extent = self.expr(made.start), self.expr(made.extent)
            made = made if start is made.start and extent is made.extent else Range(start, extent)
        elif shape == "tuple":
            items = [self.field(each) for each in made]
            made = made if all(map(is_, items, made)) else tuple(items)
        return made


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


@overload
def substitute(node: Expr, variables: _Variables, buffers: _Buffers | None = None) -> Expr: ...
@overload
def substitute(node: Seq, variables: _Variables, buffers: _Buffers | None = None) -> Stmt: ...
@overload
def substitute(node: _T, variables: _Variables, buffers: _Buffers | None = None) -> _T: ...
def substitute(node: object, variables: _Variables, buffers: _Buffers | None = None) -> object:
    """Substitute variables (and buffers) in `node`."""
    return _Substitute(variables, buffers or {}).field(node)


@overload
def rewrite(node: Expr, fn: Callable[[Expr], Expr]) -> Expr: ...
@overload
def rewrite(node: Seq, fn: Callable[[Expr], Expr]) -> Stmt: ...
@overload
def rewrite(node: _T, fn: Callable[[Expr], Expr]) -> _T: ...
def rewrite(node: object, fn: Callable[[Expr], Expr]) -> object:
    """Apply `fn` to every expression in `node`, children first."""

    return _Rewrite(fn).field(node)


def structural_equal(a: object, b: object, given: Mapping[Hashable, Hashable] | None = None) -> bool:
    """Return whether two trees are structurally equal.

    Spans and spellings do not matter, nor do the identities and names of variables and buffers.

    given: variables or buffers of `a` that must correspond to the given ones of `b`.
    """
    forth = dict(given or {})
    return (a is b and not forth) or _equal(a, b, forth, {there: here for here, there in forth.items()})


def _equal(a: object, b: object, forth: dict[Hashable, Hashable], back: dict[Hashable, Hashable]) -> bool:
    """Compare recursively. `forth` maps the variables and buffers of `a` to those of `b`; `back` is its inverse."""
    if type(a) is not type(b):
        return False
    if isinstance(a, (Var, Buffer)):
        if a in forth or b in back:
            return forth.get(a) is b and back.get(b) is a
        forth[a], back[b] = b, a
    if is_dict(a) and is_dict(b):
        return a.keys() == b.keys() and all(_equal(a[key], b[key], forth, back) for key in a)
    if is_tuple(a) and is_tuple(b):
        return len(a) == len(b) and all(_equal(x, y, forth, back) for x, y in zip(a, b, strict=True))
    node: Any = a
    if hasattr(node.__class__, "__dataclass_fields__"):
        own = ("span", "name") if isinstance(a, (Var, Buffer)) else ("span", "written", "spelling", "tile_writes")
        names = (f.name for f in fields(node) if f.name not in own)
        return all(_equal(getattr(node, n), getattr(b, n), forth, back) for n in names)
    return bool(a == b)
