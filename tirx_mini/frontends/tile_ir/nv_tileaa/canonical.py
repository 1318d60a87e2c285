"""Canonicalisation of nv_tileaa: constant folding, removal of no-op moves and common-subexpression elimination."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..cuda_tile import Dense
from ..ssa import KEEP, Module, Op, Region, Rewriter, Value, merge_equal
from . import ops as aa
from . import standard as st
from .computing import compute, is_elementwise
from .memory_types import element_of, is_integer, shape_of
from .ranges import Ranges, nonnegative

MOST_FOLDED = 64
"""Constants with more different elements stay the operations that make them."""
_MOVES = (aa.view, aa.expand_dims, aa.broadcast, aa.permute)
_NEUTRAL_RIGHT = {
    st.addi: 0, st.subi: 0, st.ori: 0, st.xori: 0, st.shli: 0, st.shrsi: 0, st.shrui: 0, st.muli: 1, st.divsi: 1,
    st.divui: 1, st.floordivsi: 1, st.ceildivsi: 1, st.ceildivui: 1, st.mulf: 1, st.divf: 1,
}  # fmt: skip
"""``x op n`` is x. (x + 0.0 is not x for x = -0.0.)"""
_COMMUTATIVE = (st.addi, st.muli, st.ori, st.xori, st.mulf)


def canonical(module: Module) -> Module:
    """Canonicalise the module and merge common subexpressions."""
    return merge_equal(_Canonical().module(module))


class _Canonical(Rewriter):
    def __init__(self) -> None:
        super().__init__(default=lambda op, rw: self.simplified(op))
        self.made: dict[Value, Op] = {}
        self.ranges = Ranges()

    def add(self, op: Op) -> Op:
        self.made.update(dict.fromkeys(op.results, op))
        self.ranges.see(op)
        return super().add(op)

    def constant(self, value: Value) -> Dense | None:
        op = self.made.get(value)
        return op.value if op is not None and op.kind is st.constant else None

    def number(self, value: Value) -> Any:
        """Return the number that all elements equal, or None if unknown."""
        constant = self.constant(value)
        return None if constant is None or constant.values.ndim else constant.values[()]

    def simplified(self, op: Op) -> object:
        """Return the replacement of an operation, or `KEEP` if nothing simpler exists."""
        if is_elementwise(op):
            return self.elementwise(op)
        if op.kind in _MOVES:
            return self.moved(op)
        if op.kind is aa.splat and self.number(self[op.source]) is not None:
            return self.emit_constant(op, self.constant(self[op.source]))
        if op.kind is aa.extract:
            made = self.made.get(self[op.source])
            return made.source if made is not None and made.kind is aa.splat else KEEP
        if op.kind is st.for_:
            return self.loop(op)
        if op.kind is st.if_ and self.number(self[op.condition]) is not None:
            return self.branch(op.then if self.number(self[op.condition]) else op.orelse)
        return KEEP

    def emit_constant(self, op: Op, value: Dense | None) -> Value:
        return self.emit(st.constant, types=[op.result.type], value=value)

    def elementwise(self, op: Op) -> object:
        operands = [self[v] for v in op.operands]
        constants = [self.constant(v) for v in operands]
        if all(c is not None for c in constants):
            arrays = [c.values for c in constants if c is not None]
            if all(a.ndim == 0 for a in arrays) or np.prod(shape_of(op.result.type)) <= MOST_FOLDED:
                found = compute(op, *arrays)
                return self.emit_constant(op, Dense(str(element_of(op.result.type)), found))
        if op.kind is st.select and self.number(operands[0]) is not None:
            return operands[1] if self.number(operands[0]) else operands[2]
        if op.kind in _NEUTRAL_RIGHT:
            neutral = _NEUTRAL_RIGHT[op.kind]
            if self.number(operands[1]) == neutral:
                return operands[0]
            if op.kind in _COMMUTATIVE and self.number(operands[0]) == neutral:
                return operands[1]
        if op.kind is st.muli and any(self.number(v) == 0 for v in operands):
            return self.emit_constant(op, Dense.of(str(element_of(op.result.type)), 0))
        return self.bounded(op, operands) if all(is_integer(v.type) for v in operands) else KEEP

    def bounded(self, op: Op, operands: list[Value]) -> object:
        """Simplify an operation by the value ranges of its operands."""
        if op.kind is st.cmpi:
            always = self.ranges.compared(op.predicate, *operands)
            return KEEP if always is None else self.emit_constant(op, Dense.of("i1", always))
        if op.kind in (st.floordivsi, st.remsi, st.divsi) and nonnegative(self.ranges, operands[:1]):
            return self.divided(op, *operands)
        if op.kind in (st.minsi, st.maxsi):
            less = self.ranges.compared("sle", *operands)
            return KEEP if less is None else operands[less is not (op.kind is st.minsi)]
        if op.kind is st.andi and element_of(op.result.type) == st.I1:
            return self.mask(op, *operands)
        return KEEP

    def divided(self, op: Op, lhs: Value, rhs: Value) -> Any:
        """Simplify a non-negative division to a shift or mask, or to one without rounding correction."""
        divisor = self.number(rhs)
        if divisor is not None and divisor > 0:
            if op.kind is st.remsi and self.ranges[lhs][1] < divisor:
                return lhs
            if not divisor & (divisor - 1):
                kind, operand = (
                    (st.andi, divisor - 1) if op.kind is st.remsi else (st.shrui, int(divisor).bit_length() - 1)
                )
                return self.emit(kind, lhs, self.same_type(op, operand))
        if op.kind is st.floordivsi and self.ranges[rhs][0] > 0:
            return self.emit(st.divsi, lhs, rhs)
        return KEEP

    def mask(self, op: Op, lhs: Value, rhs: Value) -> Any:
        """Simplify ``x >= 0 and x < n`` to one unsigned comparison if n is non-negative."""
        for one, other in ((lhs, rhs), (rhs, lhs)):
            if self.number(one) is not None:
                return other if self.number(one) else one
            low, high = self.made.get(one), self.made.get(other)
            if low is None or high is None or low.kind is not st.cmpi or high.kind is not st.cmpi:
                continue
            same = (low.predicate, high.predicate) == ("sge", "slt") and low.lhs is high.lhs
            if same and self.number(low.rhs) == 0 and nonnegative(self.ranges, [high.rhs]):
                return self.emit(st.cmpi, high.lhs, high.rhs, predicate="ult")
        return KEEP

    def same_type(self, op: Op, number: int) -> Value:
        value = Dense.of(str(element_of(op.result.type)), number)
        return self.emit(st.constant, types=[op.result.type], value=value)

    def loop(self, op: Op) -> list[Value]:
        bounds = [self[v] for v in (op.lower, op.upper, op.step)]
        params = tuple(Value(v.type, v.hint) for v in op.body.params)
        if not op.unsigned:
            self.ranges.loop(Region(params), *bounds)
        args = (*bounds, tuple(self[v] for v in op.inits))
        results = tuple(Value(v.type, v.hint) for v in op.results)
        made = Op(op.kind, args, results, op.attrs, (self.region(op.body, params),), op.span)
        return list(self.add(made).results)

    def moved(self, op: Op) -> object:
        """Simplify the move of a splat constant to a constant."""
        source = self[op.source]
        if self.number(source) is not None:
            return self.emit_constant(op, self.constant(source))
        made = self.made.get(source)
        if made is not None and made.kind is aa.splat:
            return self.emit(aa.splat, made.source, types=[op.result.type])
        return source if source.type == op.result.type and op.kind in (aa.view, aa.broadcast) else KEEP

    def branch(self, region: Any) -> list[Value]:
        """Inline the operations of a branch that is always taken."""
        for op in region.ops[:-1]:
            self.op(op)
        return list(self[region.ops[-1].values])
