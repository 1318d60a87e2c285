"""The pass tileas-defer-sums: sums over several threads that a loop carries are completed behind it.

A loop that adds the sum of a tile to what it carries, possibly scaled, as total * shrink + sum(powers), needs the sum
of all threads only at its end. In the loop each thread then carries the sum of its own elements, scaled as the whole
would be. Shuffles, and exchanges between warps, happen once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tirx_mini.records import dataclass

from ..context import Context
from ..cuda_tile.attributes import Dense
from ..layouts import LinearLayout, bits_of
from ..nv_tileaa import Tensor
from ..nv_tileaa import standard as std
from ..ssa import KEEP, Module, Op, Rewriter, Value, uses
from . import ops
from .operands import is_zero


@dataclass(frozen=True, eq=False)
class _Sum:
    """The sum of a tile that a loop adds to a carried tensor.

    index: its place among the values that the loop carries. reduce: the sum. spread: the layout of its parts.
    expand: what gives it the shape of the carried tensor, if it has another one. scale: the product of the tensor and
    another one, if it is scaled. add: the addition.
    """

    index: int
    reduce: Op
    spread: _Spread
    expand: Op | None
    scale: Op | None
    add: Op


@dataclass(frozen=True)
class _Spread:
    """The bits of a reduced dimension, split into those of lanes and warps, and those of registers.

    bits: the extents of a tile in which the dimension is split into its bits. order: these dimensions, with the bits
    of threads first. split: the extents with the parts of threads and of registers. parts: the layout of the sums.
    """

    bits: tuple[int, ...]
    order: tuple[int, ...]
    split: tuple[int, ...]
    parts: Tensor


def defer_sums(module: Module, context: Context) -> Module:
    """Let loops carry sums of each thread's elements, and complete them behind the loop."""
    used, defs = uses(module), {value: op for op in module.walk() for value in op.results}
    found = {op: _sums(op, used, defs) for op in module.walk() if op.kind is std.for_}
    plans = {loop: sums for loop, sums in found.items() if sums}
    return _Deferred(plans).module(module) if plans else module


def _sums(loop: Op, used: Mapping[Value, list[Op]], defs: Mapping[Value, Op]) -> list[_Sum]:
    found = (_sum(loop, i, used, defs) for i in range(len(loop.inits)))
    return [each for each in found if each is not None]


def _sum(loop: Op, index: int, used: Mapping[Value, list[Op]], defs: Mapping[Value, Op]) -> _Sum | None:
    """Return how a loop adds to a carried tensor, or None if it does anything else with it."""
    last = loop.body.ops[-1]
    param, result = loop.body.params[1 + index], last.operands[index]
    add, users = defs.get(result), used.get(param, [])
    if add is None or add.kind is not std.addf or add not in loop.body.ops or used[result] != [last] or len(users) != 1:
        return None
    if not is_zero(defs.get(loop.inits[index])):
        return None
    scale = users[0] if users[0].kind is std.mulf and users[0].operands[0] is not users[0].operands[1] else None
    before = param if scale is None else scale.result
    if (scale is not None and (used[before] != [add] or scale not in loop.body.ops)) or before not in add.operands:
        return None
    (value,) = [v for v in add.operands if v is not before] or [before]
    expand = defs.get(value)
    if expand is not None and expand.kind is ops.expand_dims and used[value] == [add]:
        value = expand.source
    else:
        expand = None
    reduce = defs.get(value)
    if reduce is None or reduce.kind is not ops.reduce or reduce.combine != "add" or len(reduce.operands) != 1:
        return None
    if reduce not in loop.body.ops or len(used[value]) != 1 or (expand is not None and expand.axis != reduce.dim):
        return None
    spread = _spread(reduce)
    return None if spread is None else _Sum(index, reduce, spread, expand, scale, add)


def _spread(reduce: Op) -> _Spread | None:
    """Return how the parts of a reduction lie in threads, or None where each thread has the whole dimension."""
    source, dim = reduce.operands[0].type, reduce.dim
    if not isinstance(source.layout, LinearLayout):
        return None
    layout, bits = source.linear, bits_of(source.shape[dim])
    mask, shift = layout.mask(dim), layout.shift(dim)
    threads = {basis >> shift for basis in (*layout.lane, *layout.warp) if basis & mask}
    if not threads or any(basis & mask and basis & ~mask for basis in layout.bases) or any(n & n - 1 for n in threads):
        return None
    mine = [bit for bit in reversed(range(bits)) if 1 << bit in threads]
    others = [bit for bit in reversed(range(bits)) if bit not in mine]
    before, after = source.shape[:dim], source.shape[dim + 1 :]
    split = (*before, *(2,) * bits, *after)
    order = [*range(dim), *(dim + bits - 1 - bit for bit in (*mine, *others)), *range(dim + bits, len(split))]
    both = (*before, 1 << len(mine), 1 << len(others), *after)
    parts = layout.reshape(split).permute(order).reshape(both).reduce(dim + 1)
    return _Spread(split, tuple(order), both, source.shaped(parts.shape).with_layout(parts))


class _Deferred(Rewriter):
    def __init__(self, plans: Mapping[Op, Sequence[_Sum]]) -> None:
        super().__init__({
            std.for_: self._loop, ops.reduce: self._reduce, ops.expand_dims: self._expand, std.mulf: self._scale,
            std.addf: self._add,
        })  # fmt: skip
        self.plans = plans
        every = [each for sums in plans.values() for each in sums]
        self.reduced = {each.reduce: each for each in every}
        self.expanded = {each.expand for each in every if each.expand is not None}
        self.scaled = {each.scale: each for each in every if each.scale is not None}
        self.added = {each.add for each in every}

    def _loop(self, op: Op, _: Rewriter) -> object:
        sums = self.plans.get(op)
        if sums is None:
            return KEEP
        own = {each.index: each for each in sums}
        inits = [_zeros(self, own[i].spread.parts) if i in own else self[v] for i, v in enumerate(op.inits)]
        index, *carried = op.body.params
        params = [Value(init.type, p.hint) for init, p in zip(inits, carried, strict=True)]
        region = self.region(op.body, (Value(index.type, index.hint), *params))
        results = tuple(Value(p.type, v.hint) for p, v in zip(params, op.results, strict=True))
        args = (self[op.lower], self[op.upper], self[op.step], tuple(inits))
        self.add(Op(op.kind, args, results, op.attrs, (region,), op.span))
        return [self._whole(own[i], v) if i in own else v for i, v in enumerate(results)]

    def _whole(self, each: _Sum, parts: Value) -> Value:
        """Return the sum of all threads' parts."""
        whole = self._reduced(each.reduce, parts, each.reduce.dim, each.reduce.results[0].type)
        if each.expand is None:
            return whole
        return self.emit(ops.expand_dims, whole, types=[each.expand.result.type], axis=each.expand.axis)

    def _reduced(self, reduce: Op, source: Value, dim: int, type: Any) -> Value:
        made = Op(reduce.kind, ((source,),), (Value(type, reduce.results[0].hint),), {**reduce.attrs, "dim": dim},
                  (self.region(reduce.body),), reduce.span)  # fmt: skip
        return self.add(made).results[0]

    def _reduce(self, op: Op, _: Rewriter) -> object:
        each = self.reduced.get(op)
        if each is None:
            return KEEP
        spread, value = each.spread, self[op.operands[0]]
        tensor, layout = value.type, value.type.linear.reshape(spread.bits)
        value = self.emit(ops.view, value, types=[tensor.shaped(spread.bits).with_layout(layout)])
        layout = layout.permute(spread.order)
        value = self.emit(
            ops.permute, value, types=[tensor.shaped(layout.shape).with_layout(layout)], permutation=spread.order
        )
        layout = layout.reshape(spread.split)
        value = self.emit(ops.view, value, types=[tensor.shaped(spread.split).with_layout(layout)])
        return self._reduced(op, value, op.dim + 1, spread.parts)

    def _expand(self, op: Op, _: Rewriter) -> object:
        return self[op.source] if op in self.expanded else KEEP

    def _scale(self, op: Op, _: Rewriter) -> object:
        each = self.scaled.get(op)
        if each is None:
            return KEEP
        factors = [self._widened(each, self[v]) for v in op.operands]
        return self.emit(std.mulf, *factors, hint=op.result.hint, **op.attrs)

    def _widened(self, each: _Sum, value: Value) -> Value:
        """Return a factor in the shape of the parts."""
        parts = each.spread.parts
        if value.type == parts:
            return value
        if each.expand is None:
            layout = value.type.linear.expand_dims(each.reduce.dim)
            value = self.emit(
                ops.expand_dims, value, types=[value.type.shaped(layout.shape).with_layout(layout)],
                axis=each.reduce.dim,
            )  # fmt: skip
        return self.emit(ops.broadcast, value, types=[parts])

    def _add(self, op: Op, _: Rewriter) -> object:
        if op not in self.added:
            return KEEP
        return self.emit(std.addf, *(self[v] for v in op.operands), hint=op.result.hint, **op.attrs)


def _zeros(rw: Rewriter, tensor: Tensor) -> Value:
    return rw.emit(std.constant, types=[tensor], value=Dense.of(str(tensor.element), 0.0))
