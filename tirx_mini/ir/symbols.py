"""Symbolic extents: argument shapes known only when the kernel is called, ``T.match_buffer(a, (n, 128))``.

A kernel that has some is a family of kernels. `symbols` names what tells them apart, and `specialised` gives the one
for certain values, before it is lowered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tirx_mini.records import replace

from .arith import simplify
from .buffer import Buffer, Range, Region
from .expr import Binary, Const, Expr, Var, as_expr, binary, const, int_value
from .func import PrimFunc, specialise
from .span import TirxError
from .stmt import ScopeIds, Stmt
from .visit import Mutator
from .walk import walk


def symbols(func: PrimFunc) -> tuple[Var, ...]:
    """Return the variables in the arguments' shapes, in order; scalar parameters may be among them."""
    extents = (extent for param in func.params if isinstance(param, Buffer) for extent in param.shape)
    parts = (part for extent in extents if isinstance(extent, Expr) for part in walk(extent))
    return tuple(dict.fromkeys(part for part in parts if isinstance(part, Var)))


def extents_of(func: PrimFunc, shapes: Sequence[Sequence[int] | int | None]) -> dict[Var, int]:
    """Return the values of a function's symbols, deduced from its arguments.

    shapes: of each argument its shape, or its value for a number, or None if it is unknown.

    Raises `ValueError`, with a sentence, where two arguments disagree, and where none determines an extent.
    """
    values: dict[Var, int] = {}
    first: dict[Var, str] = {}
    for index, (param, given) in enumerate(zip(func.params, shapes, strict=True)):
        here = f"argument {index + 1} ({param.name}) of {func.name}"
        pairs: list[tuple[object, int]] = []
        if isinstance(param, Buffer) and isinstance(given, Sequence):
            if len(given) != len(param.shape):
                raise ValueError(f"{here} has {len(given)} dimensions, but the kernel is for {len(param.shape)}")
            pairs = list(zip(param.shape, given, strict=True))
        elif isinstance(param, Var) and isinstance(given, int):
            pairs = [(param, given)]
        for extent, value in pairs:
            if not isinstance(extent, Var):
                continue
            if values.setdefault(extent, int(value)) != value:
                raise ValueError(
                    f"{here} says that `{extent.name}` is {value}, but {first[extent]} says that it is {values[extent]}"
                )
            first.setdefault(extent, here)
    for symbol in symbols(func):
        if symbol not in values:
            raise ValueError(f"no argument of {func.name} determines its extent `{symbol.name}`")
    return {symbol: values[symbol] for symbol in symbols(func)}


@specialise.register
def specialised(func: PrimFunc, values: Mapping[Var, int]) -> PrimFunc:
    """Specialise `func` for given symbol values. Scalar parameters remain, and the body uses the values.

    Raises `TirxError` where an extent is not positive, as a kernel of another size has none either.
    """
    known = {var: const(value, var.dtype) for var, value in values.items()}
    change = _Specialise(known)
    return replace(change.func(func), params=tuple(map(change.param, func.params)))


class _Specialise(Mutator):
    def __init__(self, values: Mapping[Var, Expr]) -> None:
        self.values = values
        self.buffers: dict[Buffer, Buffer] = {}

    def visit_Var(self, node: Var) -> Expr:
        value = self.values.get(node)
        return node if value is None else value if node.span is None else replace(value, span=node.span)

    def visit_Binary(self, node: Binary) -> Expr:
        rebuilt = self.rebuild(node)
        both = isinstance(rebuilt.a, Const) and isinstance(rebuilt.b, Const)
        return binary(node.op, rebuilt.a, rebuilt.b, span=node.span) if both else rebuilt

    def visit_ScopeIds(self, node: ScopeIds) -> Stmt:
        what = f"the number of {node.kind}s"
        counts = [self._extents(given, what, node) for given in (node.extents, node.preferred)]
        return replace(node, extents=counts[0], preferred=counts[1])

    def visit_Region(self, node: Region) -> Expr:
        rebuilt = self.rebuild(node)
        ranges = tuple(Range(part.start, simplify(part.extent)) for part in rebuilt.ranges)
        return replace(rebuilt, ranges=ranges)

    def param(self, param: Buffer | Var) -> Buffer | Var:
        """A parameter, as the signature has it."""
        return self.buffer(param) if isinstance(param, Buffer) else param

    def buffer(self, buffer: Buffer) -> Buffer:
        if buffer not in self.buffers:
            new: dict[str, Any] = {}
            if any(isinstance(extent, Expr) for extent in buffer.shape):
                new["shape"] = self._extents(buffer.shape, f"an extent of {buffer.name}", buffer)
            if buffer.source is not None:
                new["source"] = self.buffer(buffer.source)
            for name in ("allocated_addr", "elem_offset"):
                if getattr(buffer, name) is not None:
                    new[name] = simplify(self.expr(getattr(buffer, name)))
            self.buffers[buffer] = replace(buffer, **new) if new else buffer
        return self.buffers[buffer]

    def _extents(self, extents: Sequence[int], what: str, place: ScopeIds | Buffer) -> tuple[int, ...]:
        found: list[int] = []
        for extent in extents:
            value = int_value(simplify(self.expr(as_expr(extent))))
            if value is None or value < 1:
                sizes = ", ".join(f"{var.name} = {int_value(value)}" for var, value in self.values.items())
                raise TirxError(f"{what} is {extent!r}, which is not a positive number for {sizes}", place.span)
            found.append(value)
        return tuple(found)
