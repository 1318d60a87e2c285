"""The pass tileas-recompute-for-scheduling: rematerialisation of cheap values at their uses, to save registers.

A mask or a tile of indices that is computed before a loop and used in it takes registers of each thread for as long as
the loop runs. If registers are scarce, the loop recomputes it from its inputs, a row and a column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tirx_mini.hardware import MAX_REGISTERS_PER_THREAD

from ..context import Context
from ..nv_tileaa import Tensor
from ..nv_tileaa import ops as aa
from ..nv_tileaa import standard as std
from ..ssa import KEEP, Module, Op, Region, Rewriter, Value, remove_dead
from . import ops
from .operands import definitions
from .relations import TIES
from .scheduling import registers_of

OTHERS = 48
"""Registers of a thread for addresses, positions in pipelines, and values of one operation."""
MOST_OPS = 16
"""Operations that are executed again for a value."""
SMALL = 8
"""A value is made of smaller ones where these take this fraction of its registers."""
RENAMING = (ops.view, ops.expand_dims, ops.permute, ops.broadcast)


def recompute_for_scheduling(module: Module, context: Context) -> Module:
    """Rematerialise cheap loop-invariant tensors inside loops that would otherwise need too many registers."""
    return Module(module.name, tuple(_function(op) if op.kind is aa.func else op for op in module.ops))


def _function(func: Op) -> Op:
    defs = definitions(func.body)
    chains = {op: _again(op, defs) for op in func.body.walk() if op.kind is std.for_}
    if not any(chains.values()):
        return func
    made = _Again(chains).region(func.body, func.body.params)
    body = Region(made.params, remove_dead(Module("", made.ops)).ops)
    return Op(func.kind, func.args, func.results, func.attrs, (body,), func.span)


def _again(loop: Op, defs: Mapping[Value, Op]) -> list[Op]:
    """Return the operations that a loop is to recompute, in order."""
    body = list(loop.body.walk())
    inside = {*loop.body.params, *(value for op in body for value in op.results)}
    inside |= {param for op in body for region in op.regions for param in region.params}
    captured = dict.fromkeys(v for op in body for v in op.operands if v not in inside and isinstance(v.type, Tensor))
    operands = max((sum(map(registers_of, (op.lhs, op.rhs))) for op in body if op.kind is ops.dot), default=0)
    carried = sum(registers_of(v) for v in loop.body.params if isinstance(v.type, Tensor))
    excess = OTHERS + operands + carried + sum(map(registers_of, captured)) - MAX_REGISTERS_PER_THREAD
    chosen: set[Op] = set()
    for value in sorted(captured, key=registers_of, reverse=True):
        chain = _chain(value, defs) if excess > 0 else None
        if chain:
            chosen.update(chain)
            excess -= registers_of(value)
    return [op for op in dict.fromkeys(defs.values()) if op in chosen]


def _chain(value: Value, defs: Mapping[Value, Op]) -> list[Op] | None:
    """Return the cheap operations that compute a tensor from numbers and small tensors, or None."""
    found: dict[Op, None] = {}
    todo = [value]
    while todo:
        current = todo.pop()
        if not isinstance(current.type, Tensor):
            continue
        if current is not value and registers_of(current) * SMALL <= registers_of(value):
            continue
        op = defs.get(current)
        if op is None or not _is_cheap(op) or len(found) == MOST_OPS:
            return None
        found[op] = None
        todo += op.operands
    return list(found)


def _is_cheap(op: Op) -> bool:
    """Return whether an operation takes only a few instructions per element, or merely renames elements."""
    elementwise = op.kind.pure and not op.regions and op.kind not in TIES and op.kind.dialect != "math"
    return elementwise or op.kind in RENAMING


class _Again(Rewriter):
    """Recomputes values in loops. chains: the operations to repeat at the start of each loop's iterations."""

    def __init__(self, chains: Mapping[Op, Sequence[Op]]) -> None:
        super().__init__({std.for_: self._loop})
        self.chains = chains

    def _loop(self, op: Op, _: Rewriter) -> object:
        chain = self.chains[op]
        if not chain:
            return KEEP
        before = {value: self[value] for inner in chain for value in inner.results}
        made = self.region(Region(op.body.params, (*chain, *op.body.ops)))
        self.env.update(before)
        results = tuple(Value(v.type, v.hint) for v in op.results)
        args = tuple(self[a] for a in op.args)
        return self.add(Op(op.kind, args, results, op.attrs, (made,), op.span)).results
