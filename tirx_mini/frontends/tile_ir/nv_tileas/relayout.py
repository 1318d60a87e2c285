"""Propagation of layouts from a few chosen tensors to all others, with conversions where they conflict.

Layouts flow from the chosen values along the ties of operations, the most important first, until they meet. A
conversion stands where two flows meet, and where an operation wants an operand in a layout of its own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from tirx_mini.records import dataclass

from ..layouts import LinearLayout, blocked
from ..nv_tileaa import Layout, Tensor
from ..nv_tileaa import ops as aa
from ..nv_tileaa import standard as std
from ..ssa import KEEP, Module, Op, Region, Rewriter, Value, rewrite
from . import ops
from .relations import all_ties, is_tile, only, tensors

Layouts = dict[Value, LinearLayout]
Wanted = Callable[[Op], Sequence[Layout | None]]
"""The layouts in which an operation wants its tensor operands, one for each; None where it takes any."""


@dataclass(frozen=True)
class Chosen:
    """The layouts fixed by a pass. values: by priority, highest first. soft: those overridden by any other.

    wanted: the layouts in which operations want their operands.
    """

    values: Mapping[Value, LinearLayout]
    soft: Mapping[Value, LinearLayout] = field(default_factory=dict)
    wanted: Mapping[Op, Sequence[Layout | None]] = field(default_factory=dict)


def default_layout(shape: Sequence[int], warps: int) -> LinearLayout:
    """Return the default layout of an unconstrained tensor."""
    return blocked(shape, warps=warps, vector=4)


def flow(region: Region, chosen: Chosen, warps: int) -> Layouts:
    """Assign a layout to each register tensor of `region`."""
    neighbours: dict[Value, list[tuple[Value, Callable[[LinearLayout], LinearLayout]]]] = {}
    for tie in all_ties(region):
        if tie.forth is not None:
            neighbours.setdefault(tie.a, []).append((tie.b, tie.forth))
        if tie.back is not None:
            neighbours.setdefault(tie.b, []).append((tie.a, tie.back))
    found: Layouts = dict(chosen.values)

    def spread(start: Value) -> None:
        queue = deque([start])
        while queue:
            value = queue.popleft()
            for other, rename in neighbours.get(value, ()):
                if other not in found and is_tile(other):
                    found[other] = rename(found[value])
                    queue.append(other)

    for value in chosen.values:
        spread(value)
    for value, layout in chosen.soft.items():
        if value not in found:
            found[value] = layout
            spread(value)
    for value in _all_tiles(region):
        if value not in found:
            found[value] = default_layout(value.type.shape, warps)
            spread(value)
    return found


def _all_tiles(region: Region) -> list[Value]:
    """Return all tensors, largest first, so that others can follow from them."""
    values = list(tensors(region.params))
    for op in region.walk():
        values += tensors(op.results)
        for inner in op.regions:
            values += tensors(inner.params)
    return sorted(values, key=lambda value: -value.type.size)


def relayout(module: Module, choose: Callable[[Op], Chosen], warps_of: Callable[[Op], int]) -> Module:
    """Re-assign the layouts of each function from the chosen ones, replacing all previous conversions."""
    functions = tuple(
        _Relayout(choose(op), warps_of(op)).function(op) if op.kind is aa.func else op
        for op in without_conversions(module).ops
    )
    return Module(module.name, functions)


def relayout_region(region: Region, chosen: Chosen, warps: int) -> Region:
    """Re-assign the layouts of a self-contained region from the chosen ones."""
    rewriter = _Relayout(chosen, warps)
    rewriter.layouts = flow(region, chosen, warps)
    return rewriter.region(region, region.params)


def without_conversions(module: Module) -> Module:
    """Remove all layout conversions from a module."""
    return rewrite(module, {ops.convert_layout: lambda op, rw: rw[op.source]})


RENAMING = (ops.view, ops.expand_dims, ops.permute, ops.broadcast)
"""Operations whose threads have the elements of the source, which they rename or repeat."""


def source_layout(op: Op, layout: LinearLayout) -> LinearLayout:
    """Return the layout in which an operation needs its tensors for a result in `layout`."""
    if op.kind in (ops.view, ops.expand_dims):
        return layout.reshape(op.source.type.shape)
    if op.kind is ops.permute:
        dims = tuple(op.permutation)
        return layout.permute([dims.index(axis) for axis in range(len(dims))])
    return layout.broadcast_source(op.source.type.shape) if op.kind is ops.broadcast else layout


class _Relayout(Rewriter):
    def __init__(self, chosen: Chosen, warps: int) -> None:
        super().__init__(default=lambda op, _: self.placed(op))
        self.chosen, self.warps = chosen, warps
        self.layouts: Layouts = {}
        self.converted: list[dict[tuple[Value, Layout], Value]] = [{}]

    def function(self, op: Op) -> Op:
        self.layouts = flow(op.body, self.chosen, self.warps)
        return Op(op.kind, op.args, op.results, op.attrs, (self.region(op.body),), op.span)

    def region(self, region: Region, params: Sequence[Value] | None = None) -> Region:
        self.converted.append({})
        made = super().region(region, params or tuple(self._made(value) for value in region.params))
        self.converted.pop()
        return made

    def _made(self, value: Value) -> Value:
        layout = self.layouts.get(value)
        return Value(value.type if layout is None else value.type.with_layout(layout), value.hint)

    def placed(self, op: Op) -> object:
        """Rewrite an operation with its operands in the required layouts."""
        if op.kind in (std.yield_, std.condition):
            return KEEP  # the operation around it places what it yields
        need = self._needs(op)
        operands = iter(need)
        args = tuple(
            tuple(self._in(value, next(operands)) for value in arg)
            if isinstance(arg, tuple)
            else None if arg is None else self._in(arg, next(operands))
            for arg in op.args
        )  # fmt: skip
        regions = tuple(self._body(op, region) for region in op.regions)
        natural = self._results(op, args)
        results = tuple(
            Value(v.type if layout is None else v.type.with_layout(layout), v.hint)
            for v, layout in zip(op.results, natural, strict=True)
        )
        self.add(Op(op.kind, args, results, op.attrs, regions, op.span))
        return [self._in(new, self.layouts.get(old)) for old, new in zip(op.results, results, strict=True)]

    def _in(self, value: Value, layout: Layout | None) -> Value:
        """Return the new value for an old or new one, converted to `layout` if necessary."""
        value = self[value]
        if layout is None or not isinstance(value.type, Tensor) or value.type.layout == layout:
            return value
        key = value, layout
        for scope in self.converted:
            if key in scope:
                return scope[key]
        made = self.emit(ops.convert_layout, value, types=[value.type.with_layout(layout)], hint=value.hint)
        self.converted[-1][key] = made
        return made

    def _body(self, op: Op, region: Region) -> Region:
        """Rewrite a region to yield in the layouts of the receiving values."""
        if not region.ops or region.ops[-1].kind not in (std.yield_, std.condition):
            return self.region(region)
        last = region.ops[-1]
        targets = self._taken(op, region)
        self.converted.append({})
        params = tuple(self._made(value) for value in region.params)
        self.bind(region.params, params)
        outer, self.ops = self.ops, []
        for inner in region.ops[:-1]:
            self.op(inner)
        values = tuple(self._in(v, self.layouts.get(t)) for v, t in zip(last.values, targets, strict=True))
        args = (self[last.condition], values) if last.kind is std.condition else (values,)
        self.add(Op(last.kind, args, (), last.attrs, (), last.span))
        made, self.ops = self.ops, outer
        self.converted.pop()
        return Region(params, tuple(made))

    @staticmethod
    def _taken(op: Op, region: Region) -> Sequence[Value]:
        """Return the values that receive a region's yielded values."""
        if op.kind is std.for_:
            return region.params[1:]
        if op.kind is std.while_:
            return op.results if region is op.before else op.before.params
        return op.results

    def _needs(self, op: Op) -> Sequence[Layout | None]:
        """Return the layouts required of the operands, given those assigned to the results."""
        layouts, kind = self.layouts, op.kind
        wanted = self.chosen.wanted.get(op)
        own = layouts.get(op.results[0]) if op.results else None
        if wanted is not None:
            return list(wanted)
        if kind in RENAMING and own is not None:
            return [source_layout(op, own)]
        if kind is std.for_:
            return [None] * 3 + [layouts.get(v) for v in op.body.params[1:]]
        if kind is std.while_:
            return [layouts.get(v) for v in op.before.params]
        if kind in (ops.gather_load, ops.scatter_store):
            return self._gathered(op)
        if kind in _ANY:
            return [layouts.get(op.operands[0])] * len(op.operands) if kind is ops.reduce else [None] * len(op.operands)
        if kind is ops.dot:
            return [None, None, own]
        leader = own if own is not None else next((layouts[v] for v in op.operands if v in layouts), None)
        return [leader if is_tile(v) else None for v in op.operands]

    def _gathered(self, op: Op) -> list[LinearLayout | None]:
        tensor = op.value if op.kind is ops.scatter_store else op.tensor
        layout = self.layouts[tensor]
        axes = {index: only(layout, axis) for axis, index in enumerate(op.index) if is_tile(index)}
        return [axes.get(v, layout if v is tensor else None) for v in op.operands]

    def _results(self, op: Op, args: Sequence[object]) -> list[LinearLayout | None]:
        """Return the layouts that the results have by themselves."""
        if op.kind is ops.reduce:
            (operands,) = args
            assert isinstance(operands, tuple)
            reduced = operands[0].type.linear.reduce(op.dim)
            return [reduced if isinstance(v.type, Tensor) else None for v in op.results]
        return [self.layouts.get(v) for v in op.results]


_ANY = (
    ops.tiled_load, ops.tiled_store, ops.tiled_atomic_rmw, ops.reduce, aa.extract, aa.print_, aa.cat,
    ops.extract_slice, ops.insert_slice,
)  # fmt: skip
"""Operations that take their operands in any layout."""
