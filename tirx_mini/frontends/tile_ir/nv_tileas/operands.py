"""Tensor-core operands in shared memory: their loads, layouts and TMA eligibility."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tirx_mini.hardware import MAX_TMA_BOX, MAX_TMA_RANK, TMA_GLOBAL_ALIGN

from ..layouts import SharedLayout
from ..nv_tileaa import BlockTile, Tensor
from ..nv_tileaa import ops as aa
from ..nv_tileaa import standard as std
from ..ssa import KEEP, Module, Op, OpKind, Region, Rewriter, Scalar, Value, remove_dead, uses
from . import ops

MOST_SPAN, LEAST_SPAN = 128, 32
"""Swizzle spans, in bytes."""
_POINTED = (
    aa.block_tile, aa.make_memref, aa.assume, aa.addptr, aa.splat, ops.broadcast, ops.view, ops.expand_dims,
    ops.permute, ops.convert_layout,
)  # fmt: skip
"""Operations whose result belongs to the array that their first operand belongs to."""
STORES = (ops.tiled_store, ops.store, ops.scatter_store, ops.tiled_atomic_rmw, aa.atomic_rmw, aa.atomic_cas)


def definitions(region: Region) -> dict[Value, Op]:
    """Return the defining operation of each value in a region or module, except region parameters."""
    return {value: op for op in region.walk() for value in op.results}


def enclosing(op: Op, region: Region) -> list[Op]:
    """Return the operations that enclose an operation, outermost first."""
    for outer in region.ops:
        for inner in outer.regions:
            if op in inner.ops:
                return [outer]
            if found := enclosing(op, inner):
                return [outer, *found]
    return []


def number_of_constant(op: Op | None) -> int | None:
    """Return the integer of a constant operation, or None for any other operation."""
    if op is None or op.kind is not std.constant or isinstance(op.result.type, Tensor):
        return None
    return op.value.item()


def runs(loop: Op, defs: Mapping[Value, Op]) -> bool:
    """Return whether a loop is known to execute at least once."""
    lower, upper = (number_of_constant(defs.get(value)) for value in (loop.lower, loop.upper))
    return lower is not None and upper is not None and lower < upper


def never_runs(loop: Op, defs: Mapping[Value, Op]) -> bool:
    """Return whether a loop is known to execute no iteration."""
    lower, upper = (number_of_constant(defs.get(value)) for value in (loop.lower, loop.upper))
    return lower is not None and upper is not None and lower >= upper


def begins_at_constant(loop: Op, defs: Mapping[Value, Op]) -> bool:
    """Return whether a loop begins at a constant, or at the lesser of a constant and a number.

    Joined loops begin so: the number is less only where the program's numbers are negative, or wrap around.
    """
    op = defs.get(loop.lower)
    ends = op.operands if op is not None and op.kind is std.minsi else (loop.lower,)
    return any(number_of_constant(defs.get(value)) is not None for value in ends)


def is_pure(op: Op) -> bool:
    """Return whether an operation and those of its regions have no effect, as a branch that only computes."""
    own = op.kind.pure or op.kind.terminator or op.kind in (std.if_, std.for_)
    return own and all(is_pure(inner) for region in op.regions for inner in region.ops)


def is_zero(op: Op | None) -> bool:
    """Return whether an operation produces a tensor of zeros."""
    return op is not None and op.kind is std.constant and not np.any(op.value.values)


def chain_of(value: Value, defs: Mapping[Value, Op], load: OpKind = ops.tiled_load) -> list[Op]:
    """Return the chain of element-renaming operations from a load to `value`, load first, or [] if there is none.

    They are reshapes by dimensions of extent 1, permutations and conversions of layouts.
    """
    chain: list[Op] = []
    while (op := defs.get(value)) is not None:
        chain.append(op)
        if op.kind is load:
            return chain[::-1]
        renames = op.kind in (ops.view, ops.expand_dims) and same_but_ones(op.source.type, op.result.type)
        if renames or op.kind in (ops.permute, ops.convert_layout):
            value = op.source
        else:
            break
    return []


def load_of(value: Value, defs: Mapping[Value, Op]) -> Op | None:
    """Return the tiled_load whose elements `value` has, or None."""
    chain = chain_of(value, defs)
    return chain[0] if chain else None


def same_but_ones(a: Tensor, b: Tensor) -> bool:
    """Return whether two shapes differ only in dimensions of extent 1."""
    return [n for n in a.shape if n > 1] == [n for n in b.shape if n > 1]


def shared_layout(value: Value, defs: Mapping[Value, Op]) -> SharedLayout:
    """Return the shared-memory layout of a tile, in the order of the loaded array or row-major if computed."""
    chain = chain_of(value, defs)
    if not chain:
        tensor = value.type
        return laid_out(tensor, tuple(reversed(range(tensor.rank))))
    layout = loaded_layout(chain[0])
    for op in chain[1:]:
        layout = carried(op, layout)
    return layout


def loaded_layout(load: Op) -> SharedLayout:
    """Return the layout in which TMA places the tile of a tiled_load, following the order of the array."""
    return laid_out(load.tensor.type, by_stride(load.view.type))


def laid_out(tensor: Tensor, order: Sequence[int]) -> SharedLayout:
    """Return the layout of a tensor with dimensions in `order`, fastest first, and the widest swizzle that fits."""
    fastest = next((axis for axis in order if tensor.shape[axis] > 1), order[0])
    assert isinstance(tensor.element, Scalar)
    width = tensor.shape[fastest] * tensor.element.bits // 8
    swizzle = min(MOST_SPAN, width) if width >= LEAST_SPAN else 0
    plain = tuple(order) == tuple(reversed(range(tensor.rank)))
    return SharedLayout(swizzle, () if plain else tuple(order))


def carried(op: Op, layout: SharedLayout) -> SharedLayout:
    """Propagate the source layout of a view, permutation or conversion to its result."""
    source, result = op.source.type, op.result.type
    if op.kind is ops.convert_layout:
        return layout
    order = layout.dims(source.rank)[::-1]
    if op.kind is ops.permute:
        return laid_out(result, [tuple(op.permutation).index(axis) for axis in order])
    wide = [axis for axis, extent in enumerate(source.shape) if extent > 1]
    kept = [wide.index(axis) for axis in order if source.shape[axis] > 1]
    places = [axis for axis, extent in enumerate(result.shape) if extent > 1]
    ones = [axis for axis in reversed(range(result.rank)) if result.shape[axis] == 1]
    return laid_out(result, [*(places[i] for i in kept), *ones])


def by_stride(blocks: BlockTile) -> tuple[int, ...]:
    """Return the dimensions of a tile by increasing stride."""
    strides, shape = blocks.memref.strides, blocks.memref.shape

    def key(axis: int) -> tuple[bool, int, bool, int]:
        along = blocks.order[axis]
        stride = strides[along]
        return stride is None, stride or 0, shape[along] == 1, -axis

    return tuple(sorted(range(len(blocks.tile)), key=key))


def without_unused_loads(region: Region) -> Region:
    """Remove loads of unused elements, forwarding their tokens' users to the preceding token."""
    live = Region(region.params, remove_dead(Module("", region.ops)).ops)
    used = uses(live)

    def unused(op: Op, rw: Rewriter) -> object:
        if op.tensor in used or op.order != "weak":
            return KEEP
        token = rw[op.token] if op.token is not None else rw.emit(aa.create_mem_token)
        return op.tensor, token

    without = Rewriter({ops.tiled_load: unused, ops.load: unused}).region(live, live.params)
    return Region(without.params, remove_dead(Module("", without.ops)).ops)


# -- TMA -----------------------------------------------------------------------------------------------------------


def reasons(load: Op, func: Op, defs: Mapping[Value, Op]) -> Iterator[str]:
    """Yield the reasons why TMA cannot load a tile (PTX ISA: "Tensors"; CUDA driver API: cuTensorMapEncodeTiled)."""
    blocks: BlockTile = load.view.type
    memref = blocks.memref
    size = memref.element.bits // 8
    if not load.allow_tma:
        yield "the program says allow_tma=False"
    if blocks.padding not in (None, "zero"):
        yield f"elements out of bounds are {blocks.padding}, and TMA fills in zeros"
    if blocks.steps != blocks.tile or blocks.gather is not None:
        yield "its tiles do not lie side by side"
    if None in memref.shape or None in memref.strides:
        yield "the array's extents and strides are only known at run time"
        return
    if len(memref.shape) > MAX_TMA_RANK:
        yield f"a tensor map has at most {MAX_TMA_RANK} dimensions"
    order = by_stride(blocks)
    if memref.strides[blocks.order[order[0]]] != 1:
        yield "no dimension of the array is contiguous"
    for axis in order[1:]:
        step = (memref.strides[blocks.order[axis]] or 0) * size
        if step % TMA_GLOBAL_ALIGN and memref.shape[blocks.order[axis]] != 1:
            yield f"the array's rows are {step} bytes apart, which is not a multiple of {TMA_GLOBAL_ALIGN}"
    if any(extent > MAX_TMA_BOX for extent in blocks.tile[:-2]):
        yield f"a box has at most {MAX_TMA_BOX} elements along a dimension"
    for outer in enclosing(load, func.body):
        if outer.kind is std.while_:
            yield "a while loop repeats it, and the warp that loads does not know when that ends"
        elif outer.kind is std.if_ and not _is_number(outer.condition, func, defs):
            yield "it stands in a branch whose condition the warp that loads does not know"
    if any(_is_tile(value) for index in load.index for value in _computed_from(index, defs)):
        yield "its index is computed from a tile, which the warp that loads does not have"
    base = base_of(load.view, defs)
    if base is None or any(base is base_of(op.operands[0], defs, op) for op in func.body.walk() if op.kind in STORES):
        yield "the array is also written"


def _is_tile(value: Value) -> bool:
    return isinstance(value.type, Tensor) and value.type.size > 1


def _computed_from(value: Value, defs: Mapping[Value, Op]) -> Iterator[Value]:
    """Return a value with all values in its use-def chain, within its block and enclosing blocks."""
    seen, todo = {value}, [value]
    while todo:
        current = todo.pop()
        yield current
        op = defs.get(current)
        for operand in op.operands if op is not None else ():
            if operand not in seen:
                seen.add(operand)
                todo.append(operand)


def _is_number(value: Value, func: Op, defs: Mapping[Value, Op]) -> bool:
    """Return whether a value depends only on parameters, `for` indices and grid indices."""
    indices = {op.body.params[0] for op in func.body.walk() if op.kind is std.for_}
    known = {*func.body.params, *indices}
    return all(
        value in known or (value in defs and not defs[value].regions and not _is_tile(value))
        for value in _computed_from(value, defs)
    )


def base_of(value: Value, defs: Mapping[Value, Op], store: Op | None = None) -> Value | None:
    """Return the parameter whose array a view, memref or pointer refers to, or None if it is ambiguous."""
    if store is not None and "view" in store.kind.members:
        value = store.view
    while (op := defs.get(value)) is not None:
        if op.kind not in _POINTED:
            return None
        value = op.operands[0]
    return value
