"""Teams: groups of threads of a CTA that execute a statement together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tirx_mini.hardware import WARPGROUP_SIZE
from tirx_mini.ir import (
    Expr,
    Hint,
    Mutator,
    PrimFunc,
    ScopeIds,
    Stmt,
    TirxError,
    Var,
)
from tirx_mini.ir import special as special_register
from tirx_mini.passes import TEAM_HINT, Team, team_of

from .language.loops import WS_HINT


def team_of_hint(hint: Hint, around: Team) -> Team:
    """Return the threads that execute the body of a hint."""
    if hint.message == TEAM_HINT:
        return team_of(hint)
    if hint.message == WS_HINT:
        return warpgroups(dict(hint.attrs)["groups"], around, hint)
    return around


def warpgroups(groups: Sequence[int], around: Team, hint: Hint) -> Team:
    """Return the team formed by consecutive warpgroups."""
    first, count = min(groups) * WARPGROUP_SIZE, len(groups) * WARPGROUP_SIZE
    if sorted(groups) != list(range(min(groups), min(groups) + len(groups))):
        raise TirxError(f"the warpgroups of T.ws{tuple(groups)} are no neighbours", hint.span)
    if first + count > around.first + around.count:
        raise TirxError(
            f"T.ws{tuple(groups)} needs {first + count} threads, but there are {around.first + around.count}",
            hint.span,
            "give T.Kernel(…, threads=…) 128 threads for each warpgroup",
        )
    return Team(first, count, -1) if count < around.count else around


def whole(func: PrimFunc) -> Team:
    """Return the team of all threads of a CTA."""
    for node in func.nodes:
        if isinstance(node, ScopeIds) and node.kind == "thread" and node.parent == "cta":
            return Team(0, int(np.prod(node.extents)))
    raise TirxError(f"{func.name} has no T.Kernel, so it is no kernel", func.span, "write `with T.Kernel(…):`")


def number_threads(func: PrimFunc) -> PrimFunc:
    """Replace thread indices along x, y and z by expressions of the linear thread index."""
    return func.with_body(_Number().stmt(func.body))


class _Number(Mutator):
    def __init__(self) -> None:
        self.values: dict[Var, Expr] = {}

    def visit_ScopeIds(self, node: ScopeIds) -> Stmt:
        if node.kind != "thread" or node.parent != "cta":
            return node
        number: Expr = special_register("threadIdx.x")
        for position, (var, extent) in enumerate(zip(node.vars, node.extents, strict=True)):
            slowest = position == len(node.vars) - 1
            self.values[var] = number if slowest else number % extent
            number = number // extent
        total = int(np.prod(node.extents))
        return ScopeIds((Var(node.vars[0].dtype, "tx"),), (total,), "thread", "cta", span=node.span)

    def visit_Var(self, node: Var) -> Expr:
        return self.values.get(node, node)


__all__ = ["Team", "number_threads", "team_of_hint", "whole"]
