"""The FillOutside pass: what reads outside an argument give, by `T.annotate_safe_value`.

Without it they give zeros, which TMA and the loops of copies write by themselves. Another number is a choice at each
load, and copies of such an argument are loops over elements.
"""

from __future__ import annotations

from collections.abc import Mapping

from tirx_mini.ir import (
    Analyzer,
    BufferLoad,
    Expr,
    Hint,
    Mutator,
    PrimFunc,
    Region,
    Seq,
    Stmt,
    TileCall,
    TirxError,
    as_expr,
    binary,
    cast,
    select,
)

from .expand import copy_elements
from .infer import ranges_of
from .language.hints import SAFE_VALUE_HINT
from .tma import COPY


def fill_outside(func: PrimFunc) -> PrimFunc:
    """Let reads outside the annotated arguments give their safe values."""
    values = {
        name: as_expr(value)
        for node in func.of(Hint) if node.message == SAFE_VALUE_HINT
        for name, value in dict(node.attrs)["values"]
    }
    return func.with_body(_Fill(values, Analyzer(ranges_of(func))).stmt(func.body)) if values else func


class _Fill(Mutator):
    def __init__(self, values: Mapping[str, Expr], analyzer: Analyzer) -> None:
        self.values, self.analyzer = values, analyzer

    def _value(self, node: BufferLoad | Region) -> Expr | None:
        return self.values.get(node.buffer.root.name) if node.buffer.scope == "global" else None

    def visit_Hint(self, node: Hint) -> Stmt:
        return Seq((), span=node.span) if node.message == SAFE_VALUE_HINT else self.rebuild(node)

    def visit_BufferLoad(self, node: BufferLoad) -> Expr:
        value, made = self._value(node), self.rebuild(node)
        if value is None:
            return made
        inside: Expr | None = None
        for index, extent in zip(made.indices, made.buffer.shape, strict=True):
            known = self.analyzer.bounds(index)
            conditions = [binary(">=", index, 0)] if known is None or known[0] < 0 else []
            if known is None or not isinstance(extent, int) or known[1] >= extent:
                conditions.append(binary("<", index, extent))
            for condition in conditions:
                inside = condition if inside is None else binary("and", inside, condition)
        return made if inside is None else select(inside, made, cast(made.dtype, value), span=node.span)

    def visit_TileCall(self, node: TileCall) -> Stmt:
        regions = [operand for operand in node.operands if isinstance(operand, Region)]
        read = [region for region in regions if self._value(region) is not None]
        if not read or (node.op == COPY and node.operands[0] not in read):
            return self.rebuild(node)
        if node.op != COPY:
            name = node.op.removeprefix("tl.")
            raise TirxError(
                f"T.{name} of {read[0].buffer.name} fills with zeros, not with its T.annotate_safe_value",
                node.span,
                "write T.copy",
            )
        return self.stmt(copy_elements(node))
