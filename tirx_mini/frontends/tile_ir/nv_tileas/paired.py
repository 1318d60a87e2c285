"""Paired-CTA MMAs (cta_group::2), a part of tileas-materialize-async.

Two CTAs of a cluster have tiles of C in the same columns, so both need the same tile of B. On Hopper, each loads a half
of it into the shared memory of both. On Blackwell, each keeps its half: one thread of CTA 0 issues each MMA for both,
and the tensor core of each CTA multiplies its own rows of A by the columns of B of both (PTX ISA: "tcgen05.mma",
.cta_group::2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..context import Context
from ..ssa import Op, Region, Value
from . import ops
from . import pipeline_ops as pipe
from .operands import definitions
from .pipeline_types import MMA, TMA
from .rings import Group, Sum

LEAST_COLUMNS = 128
"""Columns of the smallest tile of B of a pair: a half then has whole swizzle spans."""


def halve_shared_tiles(body: Region, groups: Sequence[Group], sums: Sequence[Sum], context: Context) -> bool:
    """Return whether all accumulations of a function can use CTA pairs, and mark the halved tensors of each group.

    groups: all of the function.
    """
    if not context.has_tensor_memory or not sums:
        return False
    defs = definitions(body)
    waits = {wait: group for group in groups for wait in group.waits}
    halves: dict[Op, int] = {}
    read: set[Op] = set()
    for each in sums:
        left, right = (_loaded(value, axis, defs) for value, axis in ((each.dot.lhs, 0), (each.dot.rhs, 1)))
        if left is None or right is None or left[0] not in waits or right[0] not in waits:
            return False
        if _is_shared(left[0], defs) or not _is_shared(right[0], defs):
            return False
        if each.dot.acc.type.shape[1] < LEAST_COLUMNS or halves.get(right[0], right[1]) != right[1]:
            return False
        halves[right[0]] = right[1]
        read |= {left[0], right[0]}
    if read != set(waits) or any(group.producer != TMA or group.consumer != MMA for group in groups):
        return False
    for wait, axis in halves.items():
        waits[wait].halves[wait] = axis
    return True


def renamed_axis(op: Op, axis: int) -> int:
    """Return the result dimension to which a view or permutation maps a source dimension."""
    if op.kind is ops.permute:
        return tuple(op.permutation).index(axis)
    source, result = op.source.type.shape, op.result.type.shape
    return _wide(result)[_wide(source).index(axis)]


def _wide(shape: Sequence[int]) -> list[int]:
    """Return the dimensions of more than one element."""
    return [axis for axis, extent in enumerate(shape) if extent > 1]


def _loaded(value: Value, axis: int, defs: Mapping[Value, Op]) -> tuple[Op, int] | None:
    """Return the wait for the load of a tile, and the loaded dimension that corresponds to a tile dimension."""
    op = defs.get(value)
    while op is not None and op.kind in (ops.view, ops.expand_dims, ops.permute):
        if op.kind is ops.permute:
            axis = op.permutation[axis]
        else:
            axis = _wide(op.source.type.shape)[_wide(op.result.type.shape).index(axis)]
        op = defs.get(op.source)
    return (op, axis) if op is not None and op.kind is pipe.wait_tma else None


def _is_shared(wait: Op, defs: Mapping[Value, Op]) -> bool:
    """Return whether the CTAs of a cluster load a tile jointly."""
    return bool(defs[wait.token].multicast)
