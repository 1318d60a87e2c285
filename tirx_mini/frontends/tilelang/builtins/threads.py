"""Indices of the executing thread, warp and warpgroup, and election of one thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from tirx_mini.hardware import WARP_SIZE, WARPGROUP_WARPS
from tirx_mini.ir import Expr, ScopeIds, Var, as_expr, binary, special
from tirx_mini.script import current
from tirx_mini.script import tirx as T

from .operands import constant
from .table import builtin

LAUNCH = "tilelang.launch"
"""Where the builder keeps the open `T.Kernel`."""


class Threads(Protocol):
    """A launch with the thread indices along x, y and z and their extents."""

    @property
    def thread_vars(self) -> Sequence[Var]: ...

    @property
    def threads(self) -> Sequence[int]: ...


def linear_thread(name: str) -> Expr:
    """Return the linear index of the executing thread in its CTA, x fastest. name: the builtin that calls it."""
    axes = _axes(name)
    if len(axes) == 1:
        return axes[0][0]
    index: Expr = as_expr(0)
    for var, extent in reversed(axes):
        index = index * extent + var
    return index


def _axes(name: str) -> list[tuple[Expr, Any]]:
    """Return the thread indices and their extents, x first."""
    builder = current(name)
    launch: Threads | None = builder.attrs.get(LAUNCH)
    if launch is not None:
        return list(zip(launch.thread_vars, launch.threads, strict=True))
    for block in builder.blocks:
        for stmt in block.stmts:
            if isinstance(stmt, ScopeIds) and (stmt.kind, stmt.parent) == ("thread", "cta"):
                return list(zip(stmt.vars, stmt.extents, strict=True))
    return [(special("threadIdx.x"), 1)]


def _warp(name: str, warp_size: Any) -> Expr:
    size = WARP_SIZE if warp_size is None else warp_size
    flat = all(extent == 1 for _, extent in _axes(name)[1:])
    if flat and isinstance(size, int) and size == WARP_SIZE:
        return special("warp_id_in_cta")
    return linear_thread(name) // size


@builtin(becomes="arithmetic on `threadIdx`")
def get_lane_idx(warp_size: Any = None) -> Expr:
    """Return the index of the thread in its warp, or in its group of `warp_size` consecutive threads."""
    return linear_thread("T.get_lane_idx") % (WARP_SIZE if warp_size is None else warp_size)


@builtin(becomes="`threadIdx.x / 32`, made uniform once at the start of the kernel")
def get_warp_idx_sync(warp_size: object = None) -> Expr:
    """Return the index of the warp, or of the group of `warp_size` threads, in its CTA; the warp must be converged."""
    return _warp("T.get_warp_idx_sync", warp_size)


@builtin(becomes="`threadIdx.x / 32`, made uniform once at the start of the kernel")
def get_warp_idx(warp_size: object = None) -> Expr:
    """Return the index of the warp, or of the group of `warp_size` threads, in its CTA."""
    return _warp("T.get_warp_idx", warp_size)


@builtin(becomes="the warp's index divided by the warps of a group")
def get_warp_group_idx(warp_size: Any = None, warps_per_group: Any = None) -> Expr:
    """Return the index of the warpgroup in its CTA. warp_size: 32 by default. warps_per_group: 4 by default."""
    return _warp("T.get_warp_group_idx", warp_size) // (WARPGROUP_WARPS if warps_per_group is None else warps_per_group)


@builtin("elect.sync")
def shuffle_elect(thread_extent: object) -> Expr:
    """Return true in one thread of each group of `thread_extent` threads, or in one thread of the CTA if it is 0.

    The elected thread is a lane of the group's first warp. PTX ISA: "elect.sync".
    """
    extent = constant(thread_extent, "T.shuffle_elect", "thread_extent")
    elected = T.call("elect.sync")
    warps = -(-extent // WARP_SIZE)
    if warps == 1:
        return elected
    warp = _warp("T.shuffle_elect", None)
    return binary("and", elected, (warp % warps if warps else warp) == 0)


@builtin(becomes="`break`")
def loop_break() -> None:
    """Break out of the innermost loop."""
    T.break_loop()
