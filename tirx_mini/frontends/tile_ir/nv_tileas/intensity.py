"""Notes on tiles too small for the tensor core, whose K steps load more than the L2 can deliver in time.

A tile of M × N sums does 2 M N operations for each M + N elements that it loads, whatever its K. The L2 delivers some
bytes a cycle for each SM (`GpuSpec.l2_bytes_per_cycle`), so the tile's rows and columns bound its speed.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..context import Context
from ..nv_tileaa import standard as std
from ..ssa import Op, Value, uses
from . import ops
from .operands import definitions
from .sums import simple_sum

HALF = 0.5
"""Of what the tensor cores sustain: a tile that is bound to less gets a note."""
ENOUGH = 0.75
"""The same of a larger tile that the note names."""
LARGEST = 256
"""Rows and columns of a tile that it names."""


def note_small_tiles(func: Op, context: Context, least: int) -> None:
    """Add a note for each accumulation whose tile exceeds the L2 bandwidth, if its arrays allow a larger tile.

    least: sums of a tile; for those of fewer, another note says so.
    """
    if (context.options.num_ctas or 1) > 1:  # CTAs of a cluster share what they load
        return
    defs, used = definitions(func.body), uses(func.body)
    for loop in func.body.walk():
        dot = simple_sum(loop, used) if loop.kind is std.for_ else None
        if dot is None or dot.lhs.type.rank != 2 or dot.lhs.type.element.bits < 8 or dot.acc.type.size < least:
            continue
        _note(dot, defs, context)


def _note(dot: Op, defs: Mapping[Value, Op], context: Context) -> None:
    (rows, depth), columns = dot.lhs.type.shape, dot.rhs.type.shape[1]
    larger = _larger(rows, columns, (_grows(dot.lhs, 0, defs), _grows(dot.rhs, 1, defs)), context)
    share = share_of_peak(rows, columns, context)
    if share >= HALF or share_of_peak(*larger, context) < HALF:
        return
    gpu, size = context.gpu, dot.lhs.type.element.bits // 8
    peak = gpu.sms * gpu.tensor_flops_per_cycle * gpu.clock_under(1.0) / 1e3 * 2 / size
    loaded, intensity = (rows + columns) * depth * size, _operations_a_byte(rows, columns, size)
    context.note(
        f"a step of {rows} × {columns} × {depth} loads {loaded / 1e3:.1f} KB, for {intensity:.0f} operations a byte: "
        f"at the bandwidth of the L2 of the {gpu.name} that is about {share * peak:.0f} TFLOPS, where its tensor cores "
        f"sustain about {peak:.0f}",
        dot.span,
        f"make the tile larger: one of {' × '.join(map(str, larger))} does {_operations_a_byte(*larger, size):.0f} "
        "operations a byte",
    )


def _operations_a_byte(rows: int, columns: int, size: int) -> float:
    """Return the operations per byte of a tile, for elements of `size` bytes."""
    return 2 * rows * columns / ((rows + columns) * size)


def share_of_peak(rows: int, columns: int, context: Context) -> float:
    """Return the L2 bound on a tile's throughput, as a fraction of the tensor cores' sustained rate.

    Above 1, the L2 is not the limit. The share does not depend on the type: elements of half the size are multiplied
    twice as fast.
    """
    gpu = context.gpu
    fed = _operations_a_byte(rows, columns, 2) * gpu.l2_bytes_per_cycle * gpu.clock_ghz
    return fed / (gpu.tensor_flops_per_cycle * gpu.clock_under(1.0))


def _larger(rows: int, columns: int, grows: tuple[bool, bool], context: Context) -> tuple[int, int]:
    """Return the tile with its smaller sides doubled until it suffices, within the arrays' extents."""
    while share_of_peak(rows, columns, context) < ENOUGH:
        sides = [(side, i) for i, side in enumerate((rows, columns)) if grows[i] and side < LARGEST]
        if not sides:
            break
        _, smaller = min(sides)
        rows, columns = (2 * rows, columns) if smaller == 0 else (rows, 2 * columns)
    return rows, columns


def _grows(value: Value, axis: int, defs: Mapping[Value, Op]) -> bool:
    """Return whether the array of a loaded tile may be longer than the tile along a dimension."""
    op = defs.get(value)
    while op is not None and op.kind in (ops.view, ops.expand_dims, ops.permute, ops.convert_layout):
        shape = op.source.type.shape
        if op.kind is ops.permute:
            axis = op.permutation[axis]
        elif op.kind is not ops.convert_layout:
            axis = _same_axis(value.type.shape, axis, shape)
        value, op = op.source, defs.get(op.source)
    if op is None or op.kind is not ops.tiled_load:
        return True
    blocks = op.view.type
    extent = blocks.memref.shape[blocks.order[axis]]
    return extent is None or extent > blocks.tile[axis]


def _same_axis(shape: tuple[int, ...], axis: int, before: tuple[int, ...]) -> int:
    """Map a dimension of `shape` to `before`, which differs only in extents of 1."""
    number = sum(extent > 1 for extent in shape[:axis])
    return [i for i, extent in enumerate(before) if extent > 1][number]
