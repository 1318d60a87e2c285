"""The layout passes, which distribute tensors over threads and registers.

Each takes a module and the context of the compilation, and returns a module.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tirx_mini.hardware import WARP_SIZE

from ..context import Context
from ..layouts import LinearLayout, bits_of, blocked, mma_accumulator, mma_operand
from ..nv_tileaa import BlockTile, Layout, Tensor
from ..nv_tileaa import ops as aa
from ..nv_tileaa import standard as std
from ..ssa import Module, Op, Rewriter, Scalar, Value
from . import ops, tensor_cores
from .intensity import note_small_tiles
from .ops import FMA, MIRRORS, MMA_SYNC, NONE
from .relayout import Chosen, flow, relayout
from .rematerialize import rematerialize
from .tensor_cores import element_bits
from .transposed import with_transposed

VECTOR_BYTES = 16
SECTOR_BYTES = 32


# -- convert-tileaa-to-tileas, tileas-plan-cta ---------------------------------------------------------------------


def convert_tileaa_to_tileas(module: Module, context: Context) -> Module:
    """Convert memory accesses, shape operations, dots and reductions to nv_tileas.

    A scaled dot becomes a dot of bfloat16: the products of a few bits and a power of two, or of a few bits, are exact.
    """
    rules = {aa.dot_scaled: _scaled_dot}
    mirrored = Rewriter(rules, default=lambda op, rw: rw.copy(op, MIRRORS.get(op.kind, op.kind)).results)
    return mirrored.module(module)


def _scaled_dot(op: Op, rw: Rewriter) -> Value:
    lhs, rhs = (_scaled(rw, rw[value], rw[scale]) for value, scale in ((op.lhs, op.lhs_scale), (op.rhs, op.rhs_scale)))
    return rw.emit(ops.dot, lhs, rhs, rw[op.acc], hint=op.result.hint)


def _scaled(rw: Rewriter, value: Value, scale: Value) -> Value:
    """Multiply each element by its block's scale, in bfloat16."""
    shape, counts = value.type.shape, scale.type.shape
    axis = next(axis for axis, (extent, count) in enumerate(zip(shape, counts, strict=True)) if extent != count)
    bf16 = Scalar("bf16")
    apart = (*counts[: axis + 1], 1, *counts[axis + 1 :])
    blocks = (*counts[: axis + 1], shape[axis] // counts[axis], *counts[axis + 1 :])
    factor = rw.emit(aa.fp_to_fp, scale, types=[scale.type.of(bf16)])
    factor = rw.emit(ops.expand_dims, factor, types=[factor.type.shaped(apart)], axis=axis + 1)
    factor = rw.emit(ops.broadcast, factor, types=[factor.type.shaped(blocks)])
    factor = rw.emit(ops.view, factor, types=[factor.type.shaped(shape)])
    wide = rw.emit(aa.fp_to_fp, value, types=[value.type.of(bf16)], hint=value.hint)
    return rw.emit(std.mulf, wide, factor, hint=value.hint)


def plan_cta(module: Module, context: Context) -> Module:
    """Choose the number of warps that share a tile, and distribute every tensor evenly over them."""
    planned = Module(module.name, tuple(_planned(op, context) for op in module.ops))
    return relayout(planned, lambda op: Chosen({}), warps_of)


def warps_of(func: Op) -> int:
    """Return the number of computing warps chosen by tileas-plan-cta."""
    return func.num_warps or 4


def _planned(func: Op, context: Context) -> Op:
    if func.kind is not aa.func or func.num_warps:
        return func
    warps = context.options.num_warps or tensor_cores.warps_of_chains(func, context) or _warps_for(func)
    return replace(func, attrs={**func.attrs, "num_warps": warps})


MOST_ELEMENTS = 128
"""Elements of the largest tensor, or of all sums of a loop, that a thread is to hold; 8 warps share larger ones."""
FEW_ELEMENTS, MOST_WARPS = 32, 16
"""The same in a program without dots, which is as fast as its loads: the more threads, the more are in flight."""


def _warps_for(func: Op) -> int:
    """Choose the number of warps: 4, or fewer for very small tensors and more for large ones."""
    sizes = [v.type.size for op in func.body.walk() for v in op.results if isinstance(v.type, Tensor)]
    regions = (region for op in func.body.walk() for region in op.regions)
    sums = [sum(op.acc.type.size for op in region.ops if op.kind is ops.dot) for region in (func.body, *regions)]
    largest = max(*sizes, *sums, 1)
    if not any(sums) and largest > FEW_ELEMENTS * 4 * WARP_SIZE:
        return min(MOST_WARPS, 1 << (largest // (FEW_ELEMENTS * WARP_SIZE)).bit_length() - 1)
    if largest > MOST_ELEMENTS * 4 * WARP_SIZE:
        return 8
    return min(4, 1 << max(0, (largest // WARP_SIZE).bit_length() - 1))


# -- tileas-assign-load-store-layouts ------------------------------------------------------------------------------


def assign_load_store_layouts(module: Module, context: Context) -> Module:
    """Assign layouts to loads and stores so that accesses are coalesced and vectorised."""
    return relayout(module, _memory_layouts, warps_of)


def _memory_layouts(func: Op) -> Chosen:
    warps = warps_of(func)
    loads = {
        op.tensor: memory_layout(op, op.tensor.type, warps)
        for op in func.body.walk()
        if op.kind in (ops.tiled_load, ops.gather_load, ops.load) and isinstance(op.tensor.type, Tensor)
    }
    large = {value: layout for value, layout in loads.items() if value.type.size >= warps * WARP_SIZE}
    wanted, soft = _stores(func, warps)
    ordered = dict(sorted(large.items(), key=lambda item: -item[0].type.size))
    return Chosen(ordered, {**{v: x for v, x in loads.items() if v not in large}, **soft}, wanted)


def placed(func: Op) -> Chosen:
    """Return the layouts of accesses, preserving those that passes have given to loads."""
    memory = _memory_layouts(func)
    return replace(memory, values={value: value.type.linear for value in memory.values})


def _stores(func: Op, warps: int) -> tuple[dict[Op, list[LinearLayout | None]], dict[Value, LinearLayout]]:
    """Return the operand layouts that stores require, and soft layouts of stored values."""
    wanted: dict[Op, list[LinearLayout | None]] = {}
    soft: dict[Value, LinearLayout] = {}
    for op in func.body.walk():
        if op.kind in (ops.tiled_store, ops.tiled_atomic_rmw) and isinstance(op.value.type, Tensor):
            layout = memory_layout(op, op.value.type, warps)
            soft[op.value] = layout
            wanted[op] = [layout if v is op.value else None for v in op.operands]
        elif op.kind in (ops.store, ops.scatter_store) and isinstance(op.value.type, Tensor):
            soft[op.value] = memory_layout(op, op.value.type, warps)
    return wanted, soft


def memory_layout(op: Op, tensor: Tensor, warps: int) -> LinearLayout:
    """Return the access layout of `tensor`: 16-byte vectors along the dimension contiguous in memory."""
    bits = element_bits(tensor)
    order = tuple(reversed(range(tensor.rank)))
    if "view" in op.kind.members and isinstance(op.view.type, BlockTile):
        order = memory_order(op.view.type)
    return blocked(tensor.shape, warps=warps, vector=max(1, 8 * VECTOR_BYTES // bits), order=order)


def memory_order(blocks: BlockTile) -> tuple[int, ...]:
    """Return the dimensions of a tile by increasing stride."""
    strides = blocks.memref.strides

    def key(axis: int) -> tuple[bool, int, int]:
        stride = strides[blocks.order[axis]]
        return stride is None, stride or 0, -axis

    return tuple(sorted(range(len(blocks.tile)), key=key))


# -- tileas-assign-dot-layouts -------------------------------------------------------------------------------------

FEW_SUMS = 32 * 32
"""A product of fewer sums is bound by its loads."""


def assign_dot_layouts(module: Module, context: Context) -> Module:
    """Select an instruction for each dot, and assign its operands the required fragment layouts."""
    functions = tuple(_with_instructions(op, context) if op.kind is aa.func else op for op in module.ops)
    return relayout(Module(module.name, functions), with_dots, warps_of)


def _with_instructions(func: Op, context: Context) -> Op:
    for op in func.body.walk():
        rows, cols = op.acc.type.shape[-2:] if op.kind is ops.dot else (0, 0)
        if 0 < rows * cols < FEW_SUMS:
            context.note(
                f"a block adds up only {rows} × {cols} sums: its loads take longer than its products",
                op.span,
                "make the tile larger: one of 128 × 128 uses each element that it loads 128 times",
            )
    note_small_tiles(func, context, FEW_SUMS)
    func = with_transposed(func, context, warps_of(func))
    on_core = tensor_cores.instructions(func, context, warps_of(func))
    for op in func.body.walk():
        if op not in on_core and _is_low(op, context):
            rows, cols = op.acc.type.shape
            context.note(
                f"wgmma multiplies {tensor_cores.ROWS[ops.WGMMA]} rows at a time: {rows} × {cols} sums are added up by "
                "mma.sync, which is less than half as fast",
                op.span,
                "make the tile higher, or compute the transposed product",
            )

    def dot(op: Op, rw: Rewriter) -> Sequence[Value]:
        chosen = op.mma if op.mma != NONE else on_core.get(op) or (MMA_SYNC if _fits(op) else NONE)
        return rw.copy(op, mma=chosen).results

    body = Rewriter({ops.dot: dot}).region(func.body, func.body.params)
    return Op(func.kind, func.args, func.results, func.attrs, (body,), func.span)


def _is_low(op: Op, context: Context) -> bool:
    """Return whether a dot has too few rows for wgmma but otherwise qualifies."""
    if op.kind is not ops.dot or context.has_tensor_memory or op.lhs.type.rank != 2:
        return False
    rows, cols = op.acc.type.shape
    types = str(op.lhs.type.element), str(op.acc.type.element)
    least = tensor_cores.ROWS[ops.WGMMA]
    return types in (("f16", "f32"), ("bf16", "f32")) and rows < least <= cols and rows * cols >= FEW_SUMS


def _fits(op: Op) -> bool:
    """Return whether mma.sync can compute the dot."""
    lhs, acc = op.lhs.type, op.acc.type
    product = tensor_cores.product(MMA_SYNC, lhs, acc)
    (rows, inner), cols = lhs.shape[-2:], acc.shape[-1]
    return product is not None and rows >= 16 and cols >= 8 and inner >= product.depth


def warps_along(op: Op, warps: int) -> tuple[int, int]:
    """Return the warps along M and N: the split that minimises the elements of A and B read."""
    rows, cols = op.acc.type.shape[-2:]
    splits = [(m, warps // m) for m in (1 << bit for bit in range(bits_of(warps) + 1))]
    fitting = [(m, n) for m, n in splits if rows >= 16 * m and cols >= 8 * n] or [(1, 1)]
    most = max(m * n for m, n in fitting)
    return min((s for s in fitting if s[0] * s[1] == most), key=lambda s: (rows // s[0] + cols // s[1], -s[0]))


def dot_layouts(op: Op, warps: int) -> tuple[LinearLayout, LinearLayout, LinearLayout]:
    """Return the layouts of A, B and the accumulator of an mma.sync dot."""
    along_m, along_n = warps_along(op, warps)
    bits = element_bits(op.lhs.type)
    a = mma_operand(op.lhs.type.shape, operand="A", bits=bits, warps_m=along_m, warps_n=along_n)
    b = mma_operand(op.rhs.type.shape, operand="B", bits=bits, warps_m=along_m, warps_n=along_n)
    acc = mma_accumulator(op.acc.type.shape, warps_m=along_m, warps_n=along_n)
    return tuple(_over(layout, warps) for layout in (a, b, acc))  # type: ignore[return-value]


def _over(layout: LinearLayout, warps: int) -> LinearLayout:
    """Extend a layout to `warps` warps, with replicas in the additional ones."""
    return replace(layout, warp=(*layout.warp, *[0] * (bits_of(warps) - len(layout.warp))))


def with_dots(func: Op) -> Chosen:
    """Return the layouts of dots, then loads, then other accesses, in order of priority."""
    warps = warps_of(func)
    memory = placed(func)
    values: dict[Value, LinearLayout] = {}
    wanted: dict[Op, Sequence[Layout | None]] = dict(memory.wanted)
    defs = tensor_cores.definitions(func.body)
    for op in func.body.walk():
        if op.kind is ops.dot and op.mma not in (FMA, NONE):
            on_core = op.mma in tensor_cores.ROWS
            a, b, acc = tensor_cores.layouts(op, warps, defs) if on_core else dot_layouts(op, warps)
            assert isinstance(acc, LinearLayout)
            values[op.result] = acc
            wanted[op] = [a, b, acc]
    return Chosen({**values, **memory.values}, memory.soft, wanted)


# -- tileas-remove-layout-conversions ------------------------------------------------------------------------------


def remove_layout_conversions(module: Module, context: Context) -> Module:
    """Propagate the layouts of accesses and dots to other values, so as to minimise layout conversions.

    On GPUs with tensor memory, ranges and cheap computations on them are rematerialised in each layout.
    """
    made = relayout(module, _fewest, warps_of)
    # Elsewhere they stay: plans for wgmma were chosen by measurements of kernels that have them.
    return rematerialize(made) if context.has_tensor_memory else made


def _fewest(func: Op) -> Chosen:
    chosen = with_dots(func)
    flowing = flow(func.body, chosen, warps_of(func))
    wanted = dict(chosen.wanted)
    for op in func.body.walk():
        if op.kind in (ops.tiled_store, ops.tiled_atomic_rmw) and op in wanted:
            have, best = flowing.get(op.value), wanted[op][op.operands.index(op.value)]
            if have is not None and best is not None and sectors(op, have) <= 2 * sectors(op, best):
                del wanted[op]
    return replace(chosen, wanted=wanted)


def sectors(op: Op, layout: LinearLayout) -> float:
    """Return the number of 32-byte sectors that a warp touches per element accessed."""
    blocks: BlockTile = op.view.type
    strides = [blocks.memref.strides[axis] or 1 << 20 for axis in blocks.order]
    elements = layout.table()[0]
    places = np.zeros_like(elements)
    for axis, stride in enumerate(strides):
        places += ((elements & layout.mask(axis)) >> layout.shift(axis)) * stride
    size = max(1, element_bits(blocks.loaded) // 8)
    contiguous = [axis for axis, stride in enumerate(strides) if stride == 1]
    width = layout.vector(VECTOR_BYTES // size, contiguous[0]) if contiguous else 1
    ordered = np.sort(places[:, ::width] * size // SECTOR_BYTES, axis=0)
    touched = ordered.shape[1] + int(np.count_nonzero(ordered[1:] != ordered[:-1]))
    return touched / math.prod(places.shape)
