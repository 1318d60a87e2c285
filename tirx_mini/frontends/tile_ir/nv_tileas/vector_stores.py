"""Stores of accumulators as vectors, where TMA cannot store them: lanes of a warp first exchange their elements.

The tensor core leaves two neighbours of a row in each thread, and eight in four threads. A store of them writes half of
a sector, and takes a mask and an address for each two elements. The four threads hold further elements of the same
rows, though. So they exchange elements until each has 16 bytes of a row: by shuffles, without shared memory, and with
the numbers of the rows where they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..layouts import LinearLayout, Move, conversion, run_of, with_vectors
from ..nv_tileaa import BlockTile, Tensor
from ..nv_tileaa import ops as aa
from ..ssa import KEEP, Module, Op, Region, Rewriter, Value, remove_dead
from . import ops
from .contiguity import Contiguity
from .passes import SECTOR_BYTES, VECTOR_BYTES, element_bits
from .relations import only
from .relayout import RENAMING, source_layout
from .rematerialize import CHEAP

VECTORS = (ops.store, ops.scatter_store, ops.tiled_store)
"""Stores that may write vectors."""


def vector_stores(func: Op, stores: Sequence[Op]) -> Op:
    """Exchange elements between lanes before those of some stores that write parts of sectors."""
    known = Contiguity(func.body)
    targets = {op: layout for op in stores if (layout := _target(op, known)) is not None}
    if not targets:
        return func
    rules = {kind: lambda op, rw: _stored(op, rw, targets, known.defs) for kind in VECTORS}
    made = Rewriter(rules).region(func.body, func.body.params)
    live = Region(made.params, remove_dead(Module("", made.ops)).ops)
    return Op(func.kind, func.args, func.results, func.attrs, (live,), func.span)


def _stored(op: Op, rw: Rewriter, targets: Mapping[Op, LinearLayout], defs: Mapping[Value, Op]) -> Any:
    target = targets.get(op)
    if target is None:
        return KEEP
    kind = op.value.type.with_layout(target)
    value = rw.emit(ops.convert_layout, rw[op.value], types=[kind], hint=op.value.hint)
    places = _Elsewhere(rw, defs)

    def placed(arg: Any) -> Any:
        if arg is op.value:
            return value
        return places.at(arg, target) if op.kind is ops.store and isinstance(arg, Value) else rw[arg]

    args = tuple(placed(arg) for arg in op.args)
    return rw.add(Op(op.kind, args, (Value(op.result_token.type),), op.attrs, (), op.span)).results


# -- which layout --------------------------------------------------------------------------------------------------


def _target(op: Op, known: Contiguity) -> LinearLayout | None:
    """Return the layout in which a store writes wider vectors, or None to keep the one that it has."""
    tensor = op.value.type
    if not isinstance(tensor, Tensor) or not isinstance(tensor.layout, LinearLayout) or element_bits(tensor) < 8:
        return None
    size, have = element_bits(tensor) // 8, tensor.linear
    most = VECTOR_BYTES // size
    for axis in reversed(range(tensor.rank)):
        if run_of(have, most, axis) * size >= SECTOR_BYTES:
            continue
        count = _neighbours(op, known, axis, most)
        while count > have.vector(most, axis):
            target = with_vectors(have, count, axis)
            longer = target is not None and run_of(target, most, axis) > run_of(have, most, axis)
            if target is not None and longer and _is_cheap(op, have, target, known.defs):
                return target
            count //= 2
    return None


def _neighbours(op: Op, known: Contiguity, axis: int, most: int) -> int:
    """Return how many elements along an axis one access stores, by its addresses and masks."""
    if op.kind is not ops.store:
        return _neighbours_in_array(op, known.defs, axis, most)
    while most > 1:
        masked = op.mask is None or known.equal(op.mask, axis, most)
        if masked and known.consecutive(op.destination, axis, most):
            break
        most //= 2
    return most


def _neighbours_in_array(op: Op, defs: Mapping[Value, Op], axis: int, most: int) -> int:
    """The same for a tile of an array, by the array's extents and strides."""
    blocks: BlockTile = op.view.type
    memref = blocks.memref
    source = defs.get(defs[op.view].source)
    at_start = source is not None and source.kind is aa.make_memref and _is_parameter(source.base, defs)
    if memref.strides[blocks.order[axis]] != 1 or not at_start or blocks.gather == axis:
        return 1
    others = [memref.strides[a] for a in blocks.order if a != blocks.order[axis] and memref.shape[a] != 1]
    in_bounds = op.kind is ops.tiled_store and op.in_bounds and op.in_bounds[axis]
    numbers = [*others, blocks.steps[axis], 0 if in_bounds else memref.shape[blocks.order[axis]]]
    while most > 1 and any(number is None or number % most for number in numbers):
        most //= 2
    return most


def _is_parameter(value: Value, defs: Mapping[Value, Op]) -> bool:
    while (op := defs.get(value)) is not None and op.kind is aa.assume:
        value = op.value
    return op is None


def _is_cheap(op: Op, have: LinearLayout, target: LinearLayout, defs: Mapping[Value, Op]) -> bool:
    """Return whether lanes exchange elements, and compute where these belong by themselves."""
    if conversion(have, target).move is not Move.EXCHANGE:
        return False
    if op.kind is ops.store:
        return all(_moves(value, target, defs) for value in (op.destination, op.mask) if value is not None)
    indices = [(axis, value) for axis, value in enumerate(op.index) if isinstance(value.type, Tensor)]
    return all(value.type.layout == only(target, axis) for axis, value in indices)


# -- addresses and masks -------------------------------------------------------------------------------------------


def _moves(value: Value, layout: LinearLayout, defs: Mapping[Value, Op]) -> bool:
    """Return whether each thread can compute a tensor in another layout from what it holds."""
    if not isinstance(value.type, Tensor) or value.type.layout == layout:
        return True
    op = defs.get(value)
    if op is None or op.kind not in (*CHEAP, *RENAMING, ops.convert_layout):
        return False
    return all(_moves(v, source_layout(op, layout), defs) for v in op.operands if isinstance(v.type, Tensor))


class _Elsewhere:
    """Computes tensors in other layouts."""

    def __init__(self, rw: Rewriter, defs: Mapping[Value, Op]) -> None:
        self.rw, self.defs = rw, defs
        self.made: dict[tuple[Value, LinearLayout], Value] = {}

    def at(self, value: Value, layout: LinearLayout) -> Value:
        if not isinstance(value.type, Tensor) or value.type.layout == layout:
            return self.rw[value]
        key, op = (value, layout), self.defs[value]
        if op.kind is ops.convert_layout:
            return self.at(op.source, layout)
        if key not in self.made:
            args = tuple(
                self.at(v, source_layout(op, layout)) if isinstance(v.type, Tensor) else self.rw[v]
                for v in op.operands
            )
            result = Value(value.type.with_layout(layout), value.hint)
            self.made[key] = self.rw.add(Op(op.kind, args, (result,), op.attrs, (), op.span)).result
        return self.made[key]
