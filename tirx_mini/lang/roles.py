"""Roles: warps or warpgroups of a CTA that execute one part of a kernel."""

from __future__ import annotations

from functools import partial
from typing import Any

from tirx_mini.ir import Expr
from tirx_mini.script import OpenRole
from tirx_mini.script import tirx as Tx


def WarpRole(warp_id: Any, number: int, regs: int | None = None, increase: bool = False) -> OpenRole:
    """``with WarpRole(warp_id, 3):``: the warp for which `warp_id` equals `number` executes the block.

    regs: the new number of registers per thread, or None to keep it.
    increase: whether `regs` is larger than the current number.
    """
    return _role(warp_id == number, regs, increase)


def WarpgroupRole(
    wg_id: Any, number: int | tuple[int, int], regs: int | None = None, increase: bool = False
) -> OpenRole:
    """``with WarpgroupRole(wg_id, 0):``: warpgroup `number`, or warpgroups `number[0]` … `number[1]` - 1."""
    return _role(Tx.filter(wg_id, *number) if isinstance(number, tuple) else wg_id == number, regs, increase)


def _role(condition: Expr, regs: int | None, increase: bool) -> OpenRole:
    return OpenRole(condition, None if regs is None else partial(Tx.ptx.setmaxnreg, increase, regs))
