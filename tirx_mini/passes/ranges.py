"""Dataflow facts at each statement: ranges of loop variables and special registers, and variable definitions."""

from __future__ import annotations

from tirx_mini.ir import (
    Analyzer,
    Bind,
    Const,
    Expr,
    For,
    If,
    Launch,
    Mutator,
    PrimFunc,
    Seq,
    Stmt,
    Var,
    int_value,
    unary,
)


def launch_ranges(launch: Launch) -> Analyzer:
    """Return an analyzer with the ranges of a launch's special registers."""
    ranges: dict[Var | str, tuple[int, int]] = {
        "threadIdx.x": (0, launch.threads - 1),
        "warp_id_in_cta": (0, launch.warps - 1),
        "cluster_ctarank": (0, launch.cluster_size - 1),
    }
    for axis, grid, cluster in zip("xyz", launch.grid, launch.cluster, strict=True):
        ranges[f"blockIdx.{axis}"] = (0, grid - 1)
        ranges[f"clusterCtaIdx.{axis}"] = (0, cluster - 1)
        ranges[f"gridDim.{axis}"] = (grid, grid)
    return Analyzer(ranges)


def launch_of(func: PrimFunc) -> Launch:
    """Return the launch configuration computed by LowerScopes."""
    if func.launch is None:
        raise ValueError(f"{func.name} has no launch yet: run LowerScopes first")
    return func.launch


class RangedMutator(Mutator):
    """A mutator that tracks the bounds, the values of variables and the enclosing `if` conditions of each statement."""

    def __init__(self, launch: Launch) -> None:
        self.analyzer = launch_ranges(launch)
        self.values: dict[Var, Expr] = {}
        self.guards: list[Expr] = []

    def visit_Bind(self, node: Bind) -> Stmt:
        rebuilt = self.rebuild(node)
        bounds = self.analyzer.bounds(rebuilt.value) if rebuilt.value.dtype.is_integer else None
        if bounds is not None:
            self.analyzer = self.analyzer.bind(node.var, *bounds)
        self.values[node.var] = rebuilt.value
        return rebuilt

    def visit_For(self, node: For) -> Stmt:
        self.enter(node, self.expr(node.start), self.expr(node.stop))
        return self.rebuild(node)

    def enter(self, node: For, start: Expr, stop: Expr) -> None:
        """Record the range of a loop variable. start, stop: the rewritten bounds."""
        low, high = self.analyzer.bounds(start), self.analyzer.bounds(stop)
        if low is not None and high is not None and node.step > 0:
            last = high[1] - 1
            if int_value(start) is not None and last >= low[0]:
                last -= (last - low[0]) % node.step
            self.analyzer = self.analyzer.bind(node.var, low[0], max(low[0], last))

    def visit_If(self, node: If) -> Stmt:
        return self.branches(node, self.expr(node.cond))

    def decided(self, node: If, cond: Expr) -> Stmt | None:
        """Return the rewritten arm that a constant `cond` selects, or None if `cond` is not constant."""
        if not isinstance(cond, Const):
            return None
        taken = node.then if cond.value else node.orelse
        return self.stmt(taken) if taken is not None else Seq((), span=node.span)

    def branches(self, node: If, cond: Expr) -> Stmt:
        """Rewrite the arms of a branch under the rewritten condition `cond`."""
        self.guards.append(cond)
        then = self.stmt(node.then)
        self.guards[-1] = unary("not", cond, span=cond.span)
        orelse = self.stmt(node.orelse) if node.orelse is not None else None
        self.guards.pop()
        same = cond is node.cond and then is node.then and orelse is node.orelse
        return node if same else If(cond, then, orelse, span=node.span)
