"""The pass tileas-slice-and-fuse: tiles stored by TMA go through shared memory slice by slice.

The tensor core leaves sums distributed over the threads, so that a direct store would write a few bytes of each row. A
slice of it is written to shared memory instead, and TMA stores whole rows of it from there while the threads write the
next slice. The computations that only a slice needs, such as its conversion to 16 bits, move into the slice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from tirx_mini.hardware import MAX_TMA_BOX, MAX_TMA_RANK, TMA_GLOBAL_ALIGN, WARPGROUP_WARPS

from ..context import Context
from ..cuda_tile import Dense, DivBy
from ..layouts import LinearLayout, tmem_rows, wgmma_accumulator
from ..nv_tileaa import BlockTile, Tensor
from ..nv_tileaa import ops as aa
from ..nv_tileaa import standard as std
from ..ssa import KEEP, Module, Op, Region, Rewriter, Value, make, remove_dead, uses
from . import ops
from .operands import LEAST_SPAN, MOST_SPAN, base_of, by_stride, definitions, number_of_constant
from .passes import element_bits
from .pipeline_types import I32
from .relations import TIES
from .tensor_cores import ROWS
from .vector_stores import VECTORS, vector_stores

MOST_BYTES = 8 << 10
"""Bytes of shared memory for what a warpgroup writes of a slice; two slices take turns."""
LEAST_ROW = 8
"""Columns of the smallest fragment of an accumulator."""
ACCESSES = (
    ops.tiled_load, ops.gather_load, ops.load, ops.tiled_store, ops.scatter_store, ops.store, ops.tiled_atomic_rmw,
    aa.atomic_rmw, aa.atomic_cas,
)  # fmt: skip


def slice_and_fuse(module: Module, context: Context) -> Module:
    """Split stores of large tiles from the tensor core into stores of slices for TMA, and make other stores vectors."""
    return Module(module.name, tuple(_function(op) if op.kind is aa.func else op for op in module.ops))


def _function(func: Op) -> Op:
    func = _in_slices(func)
    defs = definitions(func.body)
    stores = (op for op in func.body.walk() if op.kind in VECTORS)
    return vector_stores(func, [op for op in stores if op.kind is not ops.tiled_store or not by_tma(op, func, defs)])


def _in_slices(func: Op) -> Op:
    defs = definitions(func.body)
    stores = {op for op in func.body.walk() if op.kind is ops.tiled_store and by_tma(op, func, defs)}
    parts = {op: part for op in stores if (part := slice_shape(op.value.type)) != op.value.type.shape}
    if not parts:
        return func
    body = _Sliced(parts, defs, uses(func.body)).function(func.body)
    live = Region(body.params, remove_dead(Module("", body.ops)).ops)
    return Op(func.kind, func.args, func.results, func.attrs, (live,), func.span)


def slice_shape(tensor: Tensor) -> tuple[int, ...]:
    """Return the slice shape of a tile: rows of a swizzle span or less, as many as fit.

    Warpgroups that lie side by side along the columns leave a tile whole.
    """
    size, most = element_bits(tensor) // 8, MOST_BYTES * tensor.linear.warps // WARPGROUP_WARPS
    *outer, rows, columns = tensor.shape
    width = max(LEAST_ROW, min(columns, MOST_SPAN // size))

    def too_large() -> bool:
        return math.prod(outer) * rows * width * size > most

    while too_large() and rows > 1 and tensor.linear.part((*outer, rows // 2, width)) is not None:
        rows //= 2
    while too_large() and width * size > LEAST_SPAN and width > LEAST_ROW:
        width //= 2
    shape = (*outer, rows, width)
    return shape if tensor.linear.part(shape) is not None else tensor.shape


# -- which stores --------------------------------------------------------------------------------------------------


def by_tma(store: Op, func: Op, defs: Mapping[Value, Op]) -> bool:
    """Return whether TMA stores a tile."""
    return next(_reasons(store, func, defs), None) is None


def _reasons(store: Op, func: Op, defs: Mapping[Value, Op]) -> Iterator[str]:
    """Yield the reasons why TMA cannot store a tile (PTX ISA: "Tensors"; CUDA driver API: cuTensorMapEncodeTiled).

    The writes of two stores of a block, and those of a store and another access, would not be in program order.
    """
    tensor, blocks = store.value.type, store.view.type
    if not isinstance(tensor, Tensor) or not isinstance(tensor.layout, LinearLayout) or not is_fragment(tensor.linear):
        yield "threads have whole rows of it"
        return
    memref = blocks.memref
    size = element_bits(tensor) // 8
    if not store.allow_tma or store.order != "weak":
        yield "the program asks for another store"
    if blocks.steps != blocks.tile or blocks.gather is not None or size > 4:
        yield "its tiles do not lie side by side"
    if None in memref.shape or None in memref.strides or len(memref.shape) > MAX_TMA_RANK:
        yield "the array's extents and strides are only known at run time"
        return
    wide = [axis for axis in by_stride(blocks) if tensor.shape[axis] > 1]
    if wide != sorted(wide, reverse=True) or memref.strides[blocks.order[-1]] != 1:
        yield "its rows are not contiguous in the array"
    steps = (memref.strides[axis] or 0 for axis in blocks.order[:-1] if memref.shape[axis] != 1)
    if any(step * size % TMA_GLOBAL_ALIGN for step in steps):
        yield "the array's rows are not aligned"
    if any(extent > MAX_TMA_BOX for extent in slice_shape(tensor)[:-1]):
        yield "a box has too many rows"
    own = tensor.shape[-1] // _groups_along_columns(tensor.linear)
    if own < tensor.shape[-1] and own * size % MOST_SPAN:
        yield "a warpgroup has a part of a swizzle span"
    base = base_of(store.view, defs)
    if base is None or not _is_aligned(store.view, defs):
        yield "the array's address is not aligned"
    others = (op for op in func.body.walk() if op.kind in ACCESSES and op is not store)
    if any(_may_touch(op, base, defs) and not _are_slices(op, store, defs) for op in others):
        yield "the array is accessed elsewhere"


def _groups_along_columns(layout: LinearLayout) -> int:
    """Return the number of warpgroups along the last dimension."""
    return 1 << sum(0 < basis < layout.shape[-1] for basis in layout.warp[2:])


def is_fragment(layout: LinearLayout) -> bool:
    """Return whether each warpgroup holds a box of the tile in the tensor core's accumulator layout."""
    shape = [extent for extent in layout.shape if extent > 1]
    if len(shape) != 2 or layout.warps % WARPGROUP_WARPS or shape[1] < LEAST_ROW:
        return False
    flat, groups = layout.reshape(shape), layout.warps // WARPGROUP_WARPS
    found: list[LinearLayout] = []
    along_m = 1
    while along_m <= groups and shape[0] >= ROWS[ops.WGMMA] * along_m and shape[1] * along_m >= LEAST_ROW * groups:
        found.append(wgmma_accumulator(shape, warps=layout.warps, warpgroups_m=along_m))
        along_m *= 2
    if shape[0] % ROWS[ops.TCGEN05] == 0:
        found.append(tmem_rows(shape, warps=layout.warps))
    return flat in found


def _is_aligned(view: Value, defs: Mapping[Value, Op]) -> bool:
    """Return whether the array starts at a parameter's address that is assumed to be aligned for TMA."""
    op = defs[defs[view].source]
    base = defs.get(op.base) if op.kind is aa.make_memref else None
    if base is None or base.kind is not aa.assume or base.value in defs:
        return False
    predicate = base.predicate
    return isinstance(predicate, DivBy) and predicate.divisor % TMA_GLOBAL_ALIGN == 0


def _may_touch(op: Op, base: Value | None, defs: Mapping[Value, Op]) -> bool:
    """Return whether an access may refer to the array of a parameter."""
    if "view" in op.kind.members:
        found = base_of(op.view, defs)
    else:
        found = base_of(op.operands[0], defs)
    return found is None or found is base


def _are_slices(a: Op, b: Op, defs: Mapping[Value, Op]) -> bool:
    """Return whether two accesses are stores to disjoint slices of one tile."""
    if a.kind is not ops.tiled_store or a.view is not b.view:
        return False
    places = [[_tile_and_number(value, defs) for value in op.index] for op in (a, b)]
    same_tile = all(one[0] is other[0] for one, other in zip(*places, strict=True))
    return same_tile and [number for _, number in places[0]] != [number for _, number in places[1]]


def _tile_and_number(index: Value, defs: Mapping[Value, Op]) -> tuple[Value, int]:
    """Decompose an index into the sum of a value and a constant."""
    op = defs.get(index)
    number = number_of_constant(defs.get(op.rhs)) if op is not None and op.kind is std.addi else None
    return (index, 0) if op is None or number is None else (op.lhs, number)


# -- slices --------------------------------------------------------------------------------------------------------


class _Sliced(Rewriter):
    """Slices stores. parts: the slice shape of each store. defs, used: the definition and uses of each value."""

    def __init__(
        self, parts: Mapping[Op, tuple[int, ...]], defs: Mapping[Value, Op], used: Mapping[Value, Sequence[Op]]
    ) -> None:
        super().__init__({ops.tiled_store: self._store, aa.block_tile: self._view})
        self.parts, self.defs, self.used = parts, defs, used
        self.views: dict[Op, Value] = {}
        self.numbers: dict[int, Op] = {}

    def function(self, body: Region) -> Region:
        """Rewrite the body, starting with the constants for slice indices."""
        made = self.region(body, body.params)
        return Region(made.params, (*self.numbers.values(), *made.ops))

    def _view(self, op: Op, _: Rewriter) -> Value:
        """Emit the view of tiles, and views of slices for the stores that need them."""
        made = self.copy(op).result
        for store in (user for user in self.used.get(op.result, ()) if user in self.parts):
            blocks: BlockTile = op.result.type
            shape = self.parts[store]
            kind = replace(blocks, tile=shape, steps=shape)
            self.views[store] = self.emit(aa.block_tile, self[op.source], types=[kind], hint=f"{op.result.hint}_slices")
        return made

    def _store(self, op: Op, _: Rewriter) -> object:
        shape = self.parts.get(op)
        if shape is None:
            return KEEP
        counts = [whole // part for whole, part in zip(op.value.type.shape, shape, strict=True)]
        first = [
            self.emit(std.muli, self[index], self._number(count)) if count > 1 else self[index]
            for index, count in zip(op.index, counts, strict=True)
        ]
        token = self[op.token]
        for place in product(*map(range, counts)):
            value = self._part(op.value, shape, place)
            index = [
                self.emit(std.addi, start, self._number(number)) if count > 1 else start
                for start, number, count in zip(first, place, counts, strict=True)
            ]
            args = [value, self.views[op], index, *([token] if token is not None else [])]
            token = self.emit(ops.tiled_store, *args, span=op.span, **{**op.attrs, "in_bounds": ()})
        return token

    def _number(self, value: int) -> Value:
        if value not in self.numbers:
            self.numbers[value] = make(std.constant, (), {"value": Dense.of("i32", value)}, types=[I32])
        return self.numbers[value].result

    def _part(self, value: Value, shape: tuple[int, ...], place: tuple[int, ...]) -> Value:
        """Return a slice of a tile: computed from slices if the tile has no other use, else extracted from the whole.
        """
        op = self.defs.get(value)
        tensor: Tensor = value.type
        found = tensor.linear.part(shape)
        assert found is not None
        kind = tensor.shaped(shape).with_layout(found[0])
        if op is not None and len(self.used[value]) == 1:
            if _is_elementwise(op):
                args = [
                    self._part(v, shape, place) if isinstance(v.type, Tensor) else self[v] for v in op.operands
                ]
                return self._copied(op, args, kind)
            if op.kind in (ops.view, ops.expand_dims) and (extra := _leading_ones(op)) is not None:
                return self._copied(op, [self._part(op.source, shape[extra:], place[extra:])], kind)
        index = [self._number(number) for number in place]
        return self.emit(ops.extract_slice, self[value], index, types=[kind], hint=value.hint)

    def _copied(self, op: Op, args: Sequence[Value], kind: Tensor) -> Value:
        made = Op(op.kind, tuple(args), (Value(kind, op.result.hint),), op.attrs, (), op.span)
        return self.add(made).result


def _leading_ones(op: Op) -> int | None:
    """Return how many leading extents of 1 a view adds, or None if it does anything else."""
    source, result = op.source.type.shape, op.result.type.shape
    extra = len(result) - len(source)
    return extra if extra >= 0 and result == (*[1] * extra, *source) else None


def _is_elementwise(op: Op) -> bool:
    """Return whether each result element depends only on the operands' elements at the same position."""
    if op.kind in TIES or not op.kind.pure or op.regions or len(op.results) != 1 or not op.operands:
        return False
    if any(not isinstance(arg, Value) for arg in op.args):
        return False
    shapes = {v.type.shape for v in op.operands if isinstance(v.type, Tensor)}
    layouts = {v.type.layout for v in op.operands if isinstance(v.type, Tensor)}
    return shapes == {op.result.type.shape} and layouts == {op.result.type.layout}
