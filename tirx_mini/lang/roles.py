"""Roles: warps or warpgroups of a CTA that execute one part of a kernel."""

from __future__ import annotations

from functools import partial

from tirx_mini.ir import Expr, TirxError, as_expr
from tirx_mini.script import OpenRole
from tirx_mini.script import tirx as Tx

from .arguments import Integer, given


def WarpRole(warp_id: Integer, number: int, regs: int | None = None, increase: bool = False) -> OpenRole:
    """Open a block for the warp whose `warp_id` equals `number`: ``with WarpRole(warp_id, 3):``.

    warp_id: the index of the executing warp, as `Tx.warp_id` declares it.
    number: the warp that executes the block.
    regs: the new number of registers of each thread, a multiple of 8 from 24 to 256, or None to keep it.
    increase: whether `regs` is larger than the current number.

    Cost: a comparison; with `regs`, one `setmaxnreg` at the start of the block.

    Example:

        with WarpRole(warp_id, 3):
            Tx.cuda.warp_sync()
    """
    _check("WarpRole", "warp", warp_id, number)
    return _role(as_expr(warp_id == number), regs, increase)


def WarpgroupRole(
    wg_id: Integer, number: int | tuple[int, int], regs: int | None = None, increase: bool = False
) -> OpenRole:
    """Open a block for one warpgroup, or for a range of warpgroups: ``with WarpgroupRole(wg_id, 0):``.

    wg_id: the index of the executing warpgroup, as `Tx.warpgroup_id` declares it.
    number: the warpgroup that executes the block, or (first, last): warpgroups first to last - 1.
    regs: the new number of registers of each thread, a multiple of 8 from 24 to 256, or None to keep it.
    increase: whether `regs` is larger than the current number.

    Cost: as `WarpRole`.

    Example:

        with WarpgroupRole(wg_id, 0, regs=40):
            Tx.cuda.warpgroup_sync(1)
    """
    pair = number if isinstance(number, tuple) and len(number) == 2 else (number,)
    _check("WarpgroupRole", "warpgroup", wg_id, *pair)
    return _role(Tx.filter(wg_id, *number) if isinstance(number, tuple) else as_expr(wg_id == number), regs, increase)


def _check(role: str, unit: str, index: object, *numbers: object) -> None:
    example = "warp_id" if unit == "warp" else "wg_id"
    if not isinstance(index, Expr):
        raise TirxError(
            f"the first argument of {role} is the index of the executing {unit}, but {given(index)}",
            hint=f"write {role}({example}, 0), with {example} = Tx.{unit}_id(…)",
        )
    wrong = next((number for number in numbers if not isinstance(number, (int, Expr))), None)
    if wrong is not None:
        raise TirxError(
            f"the second argument of {role} is the number of a {unit}, but {given(wrong)}",
            hint=f"write {role}({example}, 0)",
        )


def _role(condition: Expr, regs: int | None, increase: bool) -> OpenRole:
    return OpenRole(condition, None if regs is None else partial(Tx.ptx.setmaxnreg, increase, regs))
