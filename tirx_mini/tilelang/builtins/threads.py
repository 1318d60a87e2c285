"""Which thread, warp and warpgroup executes, and the election of one thread."""

from __future__ import annotations

from typing import Any

from tirx_mini.ir import Expr, ScopeIds, as_expr, binary, special
from tirx_mini.script import current
from tirx_mini.script import tirx as T

from .operands import constant
from .table import builtin

WARP, WARPS_PER_GROUP = 32, 4


def thread_index(name: str) -> tuple[Expr, bool]:
    """The index of the thread in its CTA, x fastest, and whether the CTA has one dimension. name: who asks."""
    for block in current(name).blocks:
        for stmt in block.stmts:
            if isinstance(stmt, ScopeIds) and (stmt.kind, stmt.parent) == ("thread", "cta"):
                return _linear(stmt), all(extent == 1 for extent in stmt.extents[1:])
    return special("threadIdx.x"), True


def _linear(ids: ScopeIds) -> Expr:
    index: Expr = as_expr(0)
    for var, extent in zip(reversed(ids.vars), reversed(ids.extents), strict=True):
        index = index * extent + var
    return index


def _warp(name: str, warp_size: Any) -> Expr:
    size = WARP if warp_size is None else warp_size
    index, flat = thread_index(name)
    return special("warp_id_in_cta") if flat and isinstance(size, int) and size == WARP else index // size


@builtin(becomes="arithmetic on `threadIdx`")
def get_lane_idx(warp_size: Any = None) -> Expr:
    """The index of the thread in its warp, or in its group of `warp_size` neighbouring threads."""
    return thread_index("T.get_lane_idx")[0] % (WARP if warp_size is None else warp_size)


@builtin(becomes="`threadIdx.x / 32`, made uniform once at the start of the kernel")
def get_warp_idx_sync(warp_size: Any = None) -> Expr:
    """The index of the warp in its CTA, or of the group of `warp_size` threads; the warp must be converged."""
    return _warp("T.get_warp_idx_sync", warp_size)


@builtin(becomes="`threadIdx.x / 32`, made uniform once at the start of the kernel")
def get_warp_idx(warp_size: Any = None) -> Expr:
    """The index of the warp in its CTA, or of the group of `warp_size` threads."""
    return _warp("T.get_warp_idx", warp_size)


@builtin(becomes="the warp's index divided by the warps of a group")
def get_warp_group_idx(warp_size: Any = None, warps_per_group: Any = None) -> Expr:
    """The index of the warpgroup in its CTA. warp_size: 32 by default. warps_per_group: 4 by default."""
    return _warp("T.get_warp_group_idx", warp_size) // (WARPS_PER_GROUP if warps_per_group is None else warps_per_group)


@builtin("elect.sync")
def shuffle_elect(thread_extent: Any) -> Expr:
    """True in one thread of each group of `thread_extent` threads; with 0, in one thread of the CTA.

    The elected thread is a lane of the group's first warp. PTX ISA: "elect.sync".
    """
    extent = constant(thread_extent, "T.shuffle_elect", "thread_extent")
    elected = T.call("elect.sync")
    warps = -(-extent // WARP)
    if warps == 1:
        return elected
    warp = _warp("T.shuffle_elect", None)
    return binary("and", elected, (warp % warps if warps else warp) == 0)


@builtin(becomes="`break`")
def loop_break() -> None:
    """Leave the innermost loop."""
    T.break_loop()
