"""Ties: relations between the layouts of an operation's operands and results.

A tie says which layout a value has if another one has a given layout, so that no conversion is needed between them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tirx_mini.records import dataclass

from ..layouts import LinearLayout
from ..nv_tileaa import Tensor
from ..nv_tileaa import ops as aa
from ..nv_tileaa import standard as std
from ..ssa import Op, Region, Value
from . import ops

Rename = Callable[[LinearLayout], LinearLayout]


@dataclass(frozen=True)
class Tie:
    """A relation between the layouts of values a and b. forth: from a to b; back: from b to a; None without a mapping.
    """

    a: Value
    b: Value
    forth: Rename | None
    back: Rename | None


def is_tile(value: Value) -> bool:
    """Return whether a value has, or will have, a register layout."""
    return isinstance(value.type, Tensor) and (value.type.layout is None or isinstance(value.type.layout, LinearLayout))


def tensors(values: tuple[Value, ...]) -> list[Value]:
    return [value for value in values if is_tile(value)]


def _same(layout: LinearLayout) -> LinearLayout:
    return layout


def _equal(values: list[Value]) -> Iterator[Tie]:
    for other in values[1:]:
        yield Tie(values[0], other, _same, _same)


def _pairs(one: tuple[Value, ...], other: tuple[Value, ...]) -> Iterator[Tie]:
    for a, b in zip(one, other, strict=True):
        if is_tile(a):
            yield Tie(a, b, _same, _same)


def elementwise(op: Op) -> Iterator[Tie]:
    """Tie all tensors of an operation to one layout."""
    return _equal(tensors(op.results) + tensors(op.operands))


def _reshape(op: Op) -> Iterator[Tie]:
    if is_tile(op.source) and is_tile(op.result):
        before, after = op.source.type.shape, op.result.type.shape
        yield Tie(op.source, op.result, lambda x: x.reshape(after), lambda x: x.reshape(before))


def _permute(op: Op) -> Iterator[Tie]:
    dims = tuple(op.permutation)
    inverse = tuple(dims.index(axis) for axis in range(len(dims)))
    yield Tie(op.source, op.result, lambda x: x.permute(dims), lambda x: x.permute(inverse))


def _broadcast(op: Op) -> Iterator[Tie]:
    shape = op.source.type.shape
    yield Tie(op.source, op.result, None, lambda x: x.broadcast_source(shape))


def _reduce(op: Op) -> Iterator[Tie]:
    yield from _equal(list(op.operands))
    dim = op.dim
    for result in tensors(op.results):
        yield Tie(op.operands[0], result, lambda x: x.reduce(dim), None)


def _gather(op: Op) -> Iterator[Tie]:
    """Tie each index tensor to the corresponding dimension of the gathered tensor."""
    tensor = op.value if op.kind is ops.scatter_store else op.tensor
    for axis, index in enumerate(op.index):
        if is_tile(index):
            yield Tie(tensor, index, lambda x, axis=axis: only(x, axis), None)


def only(layout: LinearLayout, axis: int) -> LinearLayout:
    """Return the layout projected to one dimension."""
    for other in reversed(range(len(layout.shape))):
        if other != axis:
            layout = layout.reduce(other)
    return layout


def _dot(op: Op) -> Iterator[Tie]:
    yield Tie(op.acc, op.result, _same, _same)


def _for(op: Op) -> Iterator[Tie]:
    carried = op.body.params[1:]
    for other in (op.inits, op.results, op.body.ops[-1].values):
        yield from _pairs(carried, other)


def _if(op: Op) -> Iterator[Tie]:
    for region in op.regions:
        if region.ops and op.results:
            yield from _pairs(op.results, region.ops[-1].values)


def _while(op: Op) -> Iterator[Tie]:
    yield from _pairs(op.before.params, op.inits)
    yield from _pairs(op.before.params, op.after.ops[-1].values)
    for other in (op.results, op.after.params):
        yield from _pairs(op.before.ops[-1].values, other)


def _none(op: Op) -> Iterator[Tie]:
    return iter(())


def _convert(op: Op) -> Iterator[Tie]:
    yield Tie(op.source, op.result, _same, _same)


TIES: Mapping[object, Callable[[Op], Iterator[Tie]]] = {
    ops.view: _reshape, ops.expand_dims: _reshape, ops.permute: _permute, ops.broadcast: _broadcast,
    ops.reduce: _reduce, ops.dot: _dot, ops.gather_load: _gather, ops.scatter_store: _gather,
    ops.tiled_load: _none, ops.tiled_store: _none, ops.extract_slice: _none, ops.insert_slice: _none,
    ops.convert_layout: _convert, aa.cat: _none, aa.extract: _none, aa.print_: _none, ops.tiled_atomic_rmw: _none,
    std.for_: _for, std.if_: _if, std.while_: _while, std.yield_: _none, std.condition: _none, aa.yield_: _none,
}  # fmt: skip
"""The ties of each operation that is not elementwise."""


def ties(op: Op) -> Iterator[Tie]:
    return TIES.get(op.kind, elementwise)(op)


def all_ties(region: Region) -> Iterator[Tie]:
    """Yield the ties of all operations; the bodies of reductions compute on scalars and have none."""
    for op in region.walk():
        yield from ties(op)
