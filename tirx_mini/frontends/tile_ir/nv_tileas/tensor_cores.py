"""Tensor-core dots: the operand and result layouts of wgmma and tcgen05."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tirx_mini import fragments
from tirx_mini.hardware import WARP_SIZE, WARPGROUP_WARPS

from ..context import UNSPECIALIZED, Context
from ..layouts import LinearLayout, SharedLayout, tmem_rows, wgmma_accumulator, wgmma_operand
from ..nv_tileaa import Tensor
from ..nv_tileaa import standard as std
from ..ssa import DTYPES, Op, Scalar, Value, uses
from . import ops
from .gathers import is_gather
from .operands import definitions, load_of, reasons, shared_layout
from .products import chains, columns_left, columns_needed
from .sums import simple_sum

MOST_WARPS, MOST_ROW = 8, 128
"""Warps whose threads have registers for a row of 128 sums each; twice as many have them for rows of 64."""
ROWS: Mapping[str, int] = {ops.WGMMA: 64, ops.TCGEN05: 128}
"""Rows of one instruction."""
MOST_COLUMNS = 256
LEAST_COLUMNS: Mapping[str, int] = {ops.WGMMA: 8, ops.TCGEN05: 16}
"""Columns of one instruction: those of wgmma are a multiple of 8, of tcgen05 with 128 rows a multiple of 16."""
DEPTH_BITS = 256
"""Of K, in one instruction."""
TURNABLE = 16
"""Bits of elements that the tensor core reads along either dimension; others lie along K."""
INSTRUCTIONS: Mapping[str, str] = {
    ops.MMA_SYNC: fragments.MMA_SYNC, ops.WGMMA: fragments.WGMMA, ops.TCGEN05: fragments.TCGEN05,
}  # fmt: skip
"""The names in the table of products."""


def instructions(func: Op, context: Context, warps: int) -> Mapping[Op, str]:
    """Return the dots of a function that wgmma or tcgen05 can compute, with the instruction of each.

    Operands of 16 bits can be read along either dimension, others must lie along K. tcgen05 is for loops that
    only add up products of tiles that TMA loads, or one of which is gathered, and for products between which threads
    compute, if their right operands are loaded by TMA and there is tensor memory for all.
    """
    defs, used = definitions(func.body), uses(func.body)
    kind = kind_for(context)
    if kind == ops.WGMMA:
        return {op: kind for op in func.body.walk() if op.kind is ops.dot and _fits(op, context, warps, defs)}
    if context.options.agents == UNSPECIALIZED:
        return {}
    dots = (simple_sum(op, used) for op in func.body.walk() if op.kind is std.for_)
    fitting = (op for op in dots if op is not None and _fits(op, context, warps, defs))
    sums = {op: kind for op in fitting if copied((op.lhs, op.rhs), func, defs)}
    return {**sums, **dict.fromkeys(_between_threads(func, context, warps, list(sums)), kind)}


def _between_threads(func: Op, context: Context, warps: int, sums: Sequence[Op]) -> list[Op]:
    """Return the dots of chained products if tensor memory has room for them and for `sums`, else none."""
    defs = definitions(func.body)

    def is_wanted(op: Op) -> bool:
        if not _fits(op, context, warps, defs) or load_of(op.rhs, defs) is None:
            return False
        given = load_of(op.lhs, defs) is not None
        return copied((op.lhs, op.rhs) if given else (op.rhs,), func, defs)

    found = chains(func, is_wanted, sums, warps, context)
    dots = [product.dot for chain in found for product in chain.products]
    columns, most = columns_needed(found, sums), columns_left(context)
    if columns <= most:
        return dots
    context.note(
        f"the products of this loop need {columns} columns of tensor memory, and a CTA has {most}: mma.sync "
        "computes them, at a fraction of the speed",
        dots[0].span,
        "make the tile smaller along N",
    )
    return []


def warps_of_chains(func: Op, context: Context) -> int | None:
    """Return the warp count that gives each thread one row of the chained products, or None without such products."""
    shapes = [op.acc.type.shape[-2:] for op in func.body.walk() if op.kind is ops.dot]
    rows = {shape[0] for shape in shapes}
    if not context.has_tensor_memory or context.options.agents == UNSPECIALIZED or len(rows) != 1:
        return None
    most = MOST_WARPS if max(columns for _, columns in shapes) > MOST_ROW // 2 else 2 * MOST_WARPS
    warps = min(rows.pop() // WARP_SIZE, most)
    quiet = replace(context, notes=[])
    return warps if warps >= WARPGROUP_WARPS and _between_threads(func, quiet, warps, ()) else None


def kind_for(context: Context) -> str:
    """Return the instruction of the GPU's tensor core."""
    return ops.TCGEN05 if context.has_tensor_memory else ops.WGMMA


def copied(operands: Sequence[Value], func: Op, defs: Mapping[Value, Op]) -> bool:
    """Return whether asynchronous copies load both operands: both by TMA, or one of them by cp.async."""
    loads = [load_of(value, defs) for value in operands]
    if any(load is not None and next(reasons(load, func, defs), None) is not None for load in loads):
        return False
    others = [value for value, load in zip(operands, loads, strict=True) if load is None]
    return not others or (len(others) == 1 and is_gather(others[0], func, defs))


def _fits(op: Op, context: Context, warps: int, defs: Mapping[Value, Op]) -> bool:
    """Return whether the tensor core supports a dot's types, shapes and operand locations."""
    return computes(context, op.lhs.type, op.acc.type, warps) and readable(op, defs)


def readable(op: Op, defs: Mapping[Value, Op]) -> bool:
    """Return whether the tensor core can read a dot's operands, possibly transposed, in their present layout."""
    if element_bits(op.lhs.type) == TURNABLE:
        return True
    sides = ((op.lhs, 1), (op.rhs, 0))
    loaded = all(load_of(value, defs) is not None or _is_gathered(value, defs) for value, _ in sides)
    same_signs = op.signed_lhs == op.signed_rhs
    return loaded and same_signs and all(shared_layout(v, defs).dims(2)[-1] == k for v, k in sides)


def element_bits(tensor: Tensor) -> int:
    """Return the bits of an element, or 64 for a pointer."""
    return tensor.element.bits if isinstance(tensor.element, Scalar) else 64


def product(kind: str, lhs: Tensor, acc: Tensor) -> fragments.TensorProduct | None:
    """Return the supported instruction type for multiplying `lhs` elements into `acc`, or None."""
    operand, sums = (DTYPES.get(str(tensor.element)) for tensor in (lhs, acc))
    return fragments.tensor_product(INSTRUCTIONS[kind], operand, sums)


def computes(context: Context, lhs: Tensor, acc: Tensor, warps: int) -> bool:
    """Return whether the GPU's tensor core can compute a product of `lhs` into `acc`."""
    kind = kind_for(context)
    types = product(kind, lhs, acc)
    if types is None or lhs.rank != 2 or not fragments.exists_on(context.arch, INSTRUCTIONS[kind], types):
        return False
    (rows, inner), cols, least = lhs.shape, acc.shape[1], LEAST_COLUMNS[kind]
    if warps % WARPGROUP_WARPS or rows % ROWS[kind] or inner * element_bits(lhs) < DEPTH_BITS or cols < least:
        return False
    along_m, along_n = groups_along(acc, warps, kind)
    return rows // along_m >= ROWS[kind] and cols // along_n >= least and cols <= MOST_COLUMNS


def _is_gathered(value: Value, defs: Mapping[Value, Op]) -> bool:
    """Return whether a tile is loaded through pointers or indices."""
    op = defs.get(value)
    while op is not None and op.kind in (ops.view, ops.expand_dims, ops.permute, ops.convert_layout):
        op = defs.get(op.source)
    return op is not None and op.kind in (ops.load, ops.gather_load)


def groups_along(acc: Tensor, warps: int, kind: str) -> tuple[int, int]:
    """Return the warpgroups along M and along N, preferring M while each has the rows of an instruction."""
    groups = warps // WARPGROUP_WARPS
    along_m = min(groups, max(1, acc.shape[0] // ROWS[kind]))
    return along_m, groups // along_m


def layouts(op: Op, warps: int, defs: Mapping[Value, Op]) -> list[LinearLayout | SharedLayout]:
    """Return the layouts of A, B and the accumulator of a wgmma or tcgen05 dot."""
    shape = op.acc.type.shape
    along_m, _ = groups_along(op.acc.type, warps, op.mma)
    b = shared_layout(op.rhs, defs)
    if op.mma == ops.TCGEN05:
        acc = tmem_rows(shape, warps=warps)
        copied = load_of(op.lhs, defs) is not None or _is_gathered(op.lhs, defs)
        a = shared_layout(op.lhs, defs) if copied else tmem_rows(op.lhs.type.shape, warps=warps)
        return [a, b, acc]
    acc = wgmma_accumulator(shape, warps=warps, warpgroups_m=along_m)
    if load_of(op.lhs, defs) is not None or _is_gathered(op.lhs, defs):
        return [shared_layout(op.lhs, defs), b, acc]
    return [wgmma_operand(op.lhs.type.shape, bits=16, warps=warps, warpgroups_m=along_m), b, acc]
