"""Transposed computation of products with few rows: C.T = B.T @ A.T, whose rows are the columns of C.

The tensor core multiplies 64 rows at a time on Hopper (wgmma), 128 here on Blackwell, and few columns where they are
few: a tile of 16 × 128 sums has the rows of one instruction, or of two, when it is transposed. Its operands are the
tiles in shared memory that they were: descriptors say which dimension is contiguous (PTX ISA: "wgmma.mma_async",
imm-trans-a and imm-trans-b; "Instruction descriptor", transpose A and B). A loop that adds up products carries the
transposed sums, and its result is transposed once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..context import Context
from ..nv_tileaa import Tensor
from ..nv_tileaa import standard as std
from ..ssa import KEEP, Op, Region, Rewriter, Value, uses
from . import ops
from .operands import definitions, is_zero
from .sums import simple_sum
from .tensor_cores import computes, copied, readable

TURNED = (1, 0)


def with_transposed(func: Op, context: Context, warps: int) -> Op:
    """Transpose the accumulation loops of products with few rows where possible."""
    used, defs = uses(func.body), definitions(func.body)
    sums = {op: dot for op in func.body.walk() if op.kind is std.for_ and (dot := simple_sum(op, used)) is not None}
    loops = {loop: dot for loop, dot in sums.items() if _helps(dot, func, context, warps, defs)}
    if not loops:
        return func
    body = _Transposed(loops, defs).region(func.body, func.body.params)
    return Op(func.kind, func.args, func.results, func.attrs, (body,), func.span)


def _helps(dot: Op, func: Op, context: Context, warps: int, defs: Mapping[Value, Op]) -> bool:
    """Return whether the tensor core can compute a product only in transposed form."""
    lhs, rhs, acc = dot.lhs.type, dot.rhs.type, dot.acc.type
    if dot.mma != ops.NONE or lhs.rank != 2 or computes(context, lhs, acc, warps):
        return False
    turned = computes(context, turned_type(rhs), turned_type(acc), warps)
    return turned and readable(dot, defs) and copied((dot.lhs, dot.rhs), func, defs)


def turned_type(tensor: Tensor) -> Tensor:
    """Return the type of the transposed tensor, without a layout."""
    return tensor.shaped(tensor.shape[::-1])


class _Transposed(Rewriter):
    """Transposes accumulation loops. loops: the loops with their dots."""

    def __init__(self, loops: Mapping[Op, Op], defs: Mapping[Value, Op]) -> None:
        super().__init__({std.for_: self._loop, ops.dot: self._dot})
        self.loops, self.defs = loops, defs
        self.dots = set(loops.values())

    def _turned(self, value: Value) -> Value:
        """Emit the transpose of a new value."""
        return self.emit(ops.permute, value, types=[turned_type(value.type)], hint=value.hint, permutation=TURNED)

    def _initial(self, value: Value) -> Value:
        """Emit the initial value of the transposed sums."""
        made = self.defs.get(value)
        if made is not None and is_zero(made) and made.value.item() is not None:
            return self.emit(std.constant, types=[turned_type(value.type)], value=made.value, hint=value.hint)
        return self._turned(self[value])

    def _loop(self, op: Op, _: Rewriter) -> object:
        dot = self.loops.get(op)
        if dot is None:
            return KEEP
        index = op.body.params[1:].index(dot.acc)
        inits: Sequence[Value] = op.args[3]  # type: ignore[assignment]
        begins = tuple(self._initial(v) if i == index else self[v] for i, v in enumerate(inits))
        params = tuple(
            Value(turned_type(param.type) if param is dot.acc else param.type, param.hint) for param in op.body.params
        )
        body: Region = self.region(op.body, params)
        results = tuple(
            Value(turned_type(result.type) if i == index else result.type, result.hint)
            for i, result in enumerate(op.results)
        )
        bounds = tuple(self[bound] for bound in op.args[:3])
        made = list(self.add(Op(op.kind, (*bounds, begins), results, op.attrs, (body,), op.span)).results)
        made[index] = self._turned(made[index])
        return made

    def _dot(self, op: Op, _: Rewriter) -> object:
        if op not in self.dots:
            return KEEP
        lhs, rhs = self._turned(self[op.rhs]), self._turned(self[op.lhs])
        signs = {"signed_lhs": op.signed_rhs, "signed_rhs": op.signed_lhs}
        return self.emit(ops.dot, lhs, rhs, self[op.acc], hint=op.result.hint, **signs)
