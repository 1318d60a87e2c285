"""The Simplify pass: fold constants, simplify indices, and remove dead branches."""

from __future__ import annotations

from operator import is_

from tirx_mini.ir import (
    AddressOf,
    Bind,
    BufferLoad,
    BufferStore,
    Const,
    Expr,
    For,
    If,
    Mutator,
    PrimFunc,
    Ramp,
    Seq,
    Special,
    Stmt,
    Var,
    While,
    binary,
    int_value,
    walk,
)
from tirx_mini.records import replace

from .ranges import RangedMutator, launch_of


def simplify_function(func: PrimFunc) -> PrimFunc:
    """Simplify every expression under the bounds given by the launch and the enclosing loops.

    An index has the form ``uniform + (per lane)``: the uniform part is computed once per warp, and loop-invariant parts
    can be hoisted out of loops.
    """
    return func.with_body(_Simplify(func).stmt(func.body))


class _Simplify(RangedMutator):
    def __init__(self, func: PrimFunc) -> None:
        super().__init__(launch_of(func))
        self.per_lane: set[Var] = set()

    def expr(self, node: Expr) -> Expr:
        if isinstance(node, (Var, Const, Special)):
            return node
        return _GroupIndices(self).expr(self.analyzer.simplify(node))

    def index(self, index: Expr) -> Expr:
        """Rewrite `index` in the form ``uniform + (per lane)``."""
        if isinstance(index, (Var, Const, Special)):
            return index
        if isinstance(index, Ramp):
            return replace(index, base=self.index(index.base))
        lane, uniform = self.analyzer.partition(index, self.varies)
        if isinstance(uniform, Const):
            return binary("+", lane, uniform, span=index.span)
        return binary("+", uniform, lane, span=index.span)

    def varies(self, expr: Expr) -> bool:
        """Return whether the value of `expr` may differ between the lanes of a warp."""
        return any(
            part.name == "threadIdx.x" if isinstance(part, Special) else isinstance(part, Var) and part in self.per_lane
            for part in walk(expr)
        )

    def visit_Bind(self, node: Bind) -> Stmt:
        if self.varies(node.value):
            self.per_lane.add(node.var)
        return super().visit_Bind(node)

    def visit_BufferStore(self, node: BufferStore) -> Stmt:
        indices = tuple(self.index(index) for index in node.indices)
        return replace(node, indices=indices, value=self.expr(node.value))

    def visit_If(self, node: If) -> Stmt:
        cond = self.expr(node.cond)
        decided = self.decided(node, cond)
        if decided is not None:
            return decided
        rebuilt = self.branches(node, cond)
        assert isinstance(rebuilt, If)
        empty = isinstance(rebuilt.orelse, Seq) and not rebuilt.orelse.stmts
        return replace(rebuilt, orelse=None) if empty else rebuilt

    def visit_For(self, node: For) -> Stmt:
        start, stop = self.expr(node.start), self.expr(node.stop)
        first, end = int_value(start), int_value(stop)
        if first is not None and end is not None and first >= end and node.step > 0:
            return Seq((), span=node.span)
        self.enter(node, start, stop)
        return replace(node, start=start, stop=stop, body=self.stmt(node.body))

    def visit_While(self, node: While) -> Stmt:
        rebuilt = self.rebuild(node)
        never = isinstance(rebuilt.cond, Const) and not rebuilt.cond.value
        return Seq((), span=node.span) if never else rebuilt


class _GroupIndices(Mutator):
    """Rewrites the indices of loads and addresses in an expression."""

    def __init__(self, simplifier: _Simplify) -> None:
        self.simplifier = simplifier

    def visit_BufferLoad(self, node: BufferLoad) -> Expr:
        return self._indexed(node)

    def visit_AddressOf(self, node: AddressOf) -> Expr:
        return self._indexed(node)

    def _indexed(self, node: BufferLoad | AddressOf) -> Expr:
        indices = tuple(map(self.simplifier.index, node.indices))
        return node if all(map(is_, indices, node.indices)) else replace(node, indices=indices)
