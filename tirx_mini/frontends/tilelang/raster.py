"""The OrderCtas pass: implement T.use_swizzle, the rasterisation order of CTAs.

CTAs start in the order of their number. Those that run at the same time then work on a panel: `panel` rows of tiles
(or columns), one column after the other, so that they share rows and columns of the operands in the L2. Every second
panel is taken from the other end.
"""

from __future__ import annotations

from dataclasses import replace

from tirx_mini.ir import (
    INT32,
    Bind,
    Expr,
    Hint,
    Mutator,
    PrimFunc,
    Scope,
    ScopeIds,
    Stmt,
    Var,
    binary,
    const,
    select,
    seq,
)

SWIZZLE, RANGES = "tl.use_swizzle", "tl.ranges"
"""Messages of hints: the order that the program asks for, and the extents of variables, which begin at 0."""


def order_ctas(func: PrimFunc) -> PrimFunc:
    """Remap the CTA indices along x and y to the order requested by T.use_swizzle."""
    hint = next((n for n in func.nodes if isinstance(n, Hint) and n.message == SWIZZLE), None)
    found = (node for node in func.nodes if isinstance(node, ScopeIds))
    ids = next((node for node in found if (node.kind, node.parent) == ("cta", "kernel")), None)
    if hint is None or ids is None or len(ids.vars) < 2 or dict(hint.attrs)["panel"] < 1:
        return func
    return _Ordered(ids, dict(hint.attrs)["panel"], dict(hint.attrs)["order"] == "row").func(func)


class _Ordered(Mutator):
    """Remaps CTA indices. ids: the CTA indices. panel: the panel size. rows: whether panels consist of rows."""

    def __init__(self, ids: ScopeIds, panel: int, rows: bool) -> None:
        self.ids, self.panel, self.rows = ids, panel, rows
        self.given = tuple(Var(INT32, f"cta_{axis}") for axis in "xy")

    def visit_ScopeIds(self, node: ScopeIds) -> Stmt:
        return replace(node, vars=(*self.given, *node.vars[2:])) if node is self.ids else node

    def visit_Hint(self, node: Hint) -> Stmt:
        return seq() if node.message == SWIZZLE else self.rebuild(node)

    def visit_Scope(self, node: Scope) -> Stmt:
        made = self.rebuild(node)
        return replace(made, body=seq(*self._binds(), made.body)) if node.kind == "thread" else made

    def _binds(self) -> list[Stmt]:
        width, height = self.ids.extents[:2]
        across, along = (width, height) if self.rows else (height, width)
        number = self.given[0] + self.given[1] * width
        panel, within = number // (self.panel * across), number % (self.panel * across)
        last = along // self.panel * self.panel
        size: Expr = const(self.panel)
        if along % self.panel:
            size = select(panel * self.panel < last, size, const(along - last))
        column, row = within // size, within % size + panel * self.panel
        turned = select(binary("==", panel % 2, 1), across - 1 - column, column)
        first, second = (turned, row) if self.rows else (row, turned)
        ranges = tuple(zip(self.ids.vars, self.ids.extents, strict=False))[:2]
        return [Hint(RANGES, (("extents", ranges),)), Bind(self.ids.vars[0], first), Bind(self.ids.vars[1], second)]
