"""Module rewriting, operation by operation, and clean-ups shared by all levels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .build import Builder
from .core import Arg, Module, Op, OpKind, Region, Type, Value, flat

KEEP: Any = object()
"""What a rule returns for an operation that stays as it is."""

Rule = Callable[[Op, "Rewriter"], Any]
"""Emits what stands for an operation. Returns the values of its results (one, a sequence, None for none), or `KEEP`.

`rewriter[value]` is the new value for an old operand."""


class Rewriter(Builder):
    """Copies regions, applying a rule to each operation that has one.

    convert: the new type of a region's parameter, and of a result of a copied operation.
    """

    def __init__(
        self,
        rules: Mapping[OpKind, Rule] | None = None,
        convert: Callable[[Type], Type] | None = None,
        default: Rule | None = None,
    ) -> None:
        super().__init__()
        self.rules = rules or {}
        self.convert = convert or (lambda type: type)
        self.default = default
        self.env: dict[Value, Value] = {}

    def __getitem__(self, arg: Any) -> Any:
        """Return the new value or group for an old one; values from outside map to themselves."""
        if arg is None:
            return None
        if isinstance(arg, tuple):
            return tuple(self[a] for a in arg)
        return self.env.get(arg, arg)

    def bind(self, old: Sequence[Value], new: Sequence[Value]) -> None:
        """Map the values `old` to `new`, which inherit their name hints."""
        for before, after in zip(old, new, strict=True):
            self.env[before] = after
            after.hint = after.hint or before.hint

    def op(self, op: Op) -> None:
        """Rewrite one operation into the current block."""
        outer, self.span = self.span, op.span or self.span
        rule = self.rules.get(op.kind, self.default)
        made = KEEP if rule is None else rule(op, self)
        if made is KEEP:
            made = self.copy(op).results
        self.bind(op.results, (made,) if isinstance(made, Value) else tuple(made or ()))
        self.span = outer

    def copy(self, op: Op, kind: OpKind | None = None, **attrs: object) -> Op:
        """Append a copy with new operands and rewritten regions, optionally of another kind or with more attributes."""
        regions = tuple(self.region(region) for region in op.regions)
        results = tuple(Value(self.convert(v.type), v.hint) for v in op.results)
        args: tuple[Arg, ...] = tuple(self[a] for a in op.args)
        return self.add(
            Op(kind or op.kind, args, results, {**op.attrs, **attrs} if attrs else op.attrs, regions, op.span)
        )

    def region(self, region: Region, params: Sequence[Value] | None = None) -> Region:
        """Rewrite a region.

        params: its parameters, if the rule has made them; else copies with converted types.
        """
        new = tuple(params) if params is not None else tuple(Value(self.convert(p.type), p.hint) for p in region.params)
        self.bind(region.params, new)
        outer, self.ops = self.ops, []
        for op in region.ops:
            self.op(op)
        inner, self.ops = self.ops, outer
        return Region(new, tuple(inner))

    def module(self, module: Module) -> Module:
        return Module(module.name, self.region(Region((), module.ops)).ops)


def rewrite(
    module: Module,
    rules: Mapping[OpKind, Rule],
    convert: Callable[[Type], Type] | None = None,
    default: Rule | None = None,
) -> Module:
    """Rewrite a module by `rules` per operation kind; `default` applies to all other kinds.

    It is the module itself where there is nothing to do: no operation has a rule, and types stay as they are.
    """
    if convert is None and default is None and not any(op.kind in rules for op in module.walk()):
        return module
    return Rewriter(rules, convert, default).module(module)


def uses(region: Region | Module) -> dict[Value, list[Op]]:
    """Return the operations that use each value, in order; repeated uses are listed repeatedly."""
    found: dict[Value, list[Op]] = {}
    for op in region.walk():
        for value in flat(op.args):
            found.setdefault(value, []).append(op)
    return found


def remove_dead(module: Module) -> Module:
    """Remove pure operations with unused results."""
    used: set[Value] = set()
    return Module(module.name, _live(module.ops, used))


def _live(ops: tuple[Op, ...], used: set[Value]) -> tuple[Op, ...]:
    kept: list[Op] = []
    for op in reversed(ops):
        if op.kind.pure and not any(v in used for v in op.results):
            continue
        regions = tuple(Region(r.params, _live(r.ops, used)) for r in op.regions)
        used.update(flat(op.args))
        kept.append(Op(op.kind, op.args, op.results, op.attrs, regions, op.span) if regions else op)
    return tuple(reversed(kept))


def merge_equal(module: Module) -> Module:
    """Eliminate common subexpressions among pure operations in scope."""
    return _Merger().module(module)


class _Merger(Rewriter):
    """Merges equal operations. scopes: the pure operations of the current and enclosing regions."""

    def __init__(self) -> None:
        super().__init__(default=lambda op, rw: self.merged(op))
        self.scopes: list[dict[Any, tuple[Value, ...]]] = []

    def region(self, region: Region, params: Sequence[Value] | None = None) -> Region:
        self.scopes.append({})
        made = super().region(region, params)
        self.scopes.pop()
        return made

    def merged(self, op: Op) -> object:
        if op.regions or not op.kind.pure:
            return KEEP
        key = (op.kind, tuple(self[a] for a in op.args), _frozen(op.attrs), tuple(v.type for v in op.results))
        for scope in self.scopes:
            if key in scope:
                return scope[key]
        self.scopes[-1][key] = self.copy(op).results
        return self.scopes[-1][key]


def _frozen(value: Any) -> object:
    """Return a hashable form of attributes."""
    if isinstance(value, Mapping):
        return tuple(sorted((k, _frozen(v)) for k, v in value.items()))
    if isinstance(value, (list, tuple)):
        return tuple(_frozen(v) for v in value)
    if hasattr(value, "tobytes"):
        return (str(value.dtype), value.shape, value.tobytes())
    return value if not isinstance(value, float) else (value.hex(), "float")
