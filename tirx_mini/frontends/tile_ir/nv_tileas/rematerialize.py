"""Rematerialisation of cheap tensors in the layout of their use, instead of conversion through shared memory.

Two uses of a range, as of the rows and of the columns of a tile, may want it in different threads. Each thread computes
its elements in a few instructions; to exchange them takes two barriers, stores and loads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..layouts import LinearLayout, Move, conversion
from ..nv_tileaa import Tensor
from ..nv_tileaa import ops as aa
from ..nv_tileaa import standard as std
from ..ssa import KEEP, Module, Op, Rewriter, Value, merge_equal, remove_dead, rewrite
from . import ops
from .operands import definitions

MOST_INSTRUCTIONS = 64
"""Instructions of a thread that cost no more than two barriers and an access of shared memory between them."""
CHEAP = (
    aa.make_range, aa.splat, aa.addptr, std.constant, std.addi, std.subi, std.muli, std.andi, std.ori, std.xori,
    std.cmpi, std.select,
)  # fmt: skip
"""Operations that are an instruction or two an element."""


def rematerialize(module: Module) -> Module:
    """Replace conversions through shared memory by recomputation of their source where it is cheap."""
    defs = {value: op for func in module.find(aa.func) for value, op in definitions(func.body).items()}

    replaced: list[Op] = []

    def convert(op: Op, rw: Rewriter) -> Any:
        target = op.result.type.layout
        chain = _chain(op, defs) if isinstance(target, LinearLayout) else None
        if chain is None or len(chain) * target.registers > MOST_INSTRUCTIONS:
            return KEEP
        replaced.append(op)
        made: dict[Value, Value] = {}
        for inner in chain:
            args = tuple(made.get(value) or rw[value] for value in inner.operands)
            result = Value(inner.result.type.with_layout(target), inner.result.hint)
            made[inner.result] = rw.add(Op(inner.kind, args, (result,), inner.attrs, (), inner.span)).result
        return made[op.source]

    made = rewrite(module, {ops.convert_layout: convert})
    return remove_dead(merge_equal(made)) if replaced else module


def _chain(op: Op, defs: Mapping[Value, Op]) -> list[Op] | None:
    """Return the operations that compute a conversion's source from numbers, in order, or None to keep it."""
    source = op.source.type.layout
    if not isinstance(source, LinearLayout) or conversion(source, op.result.type.layout).move is not Move.SHARED:
        return None
    found: set[Op] = set()
    todo = [op.source]
    while todo:
        made = defs.get(todo.pop())
        if made is None or made.kind not in CHEAP:
            return None
        if made not in found:
            found.add(made)
            todo += [value for value in made.operands if isinstance(value.type, Tensor)]
    return [made for made in dict.fromkeys(defs.values()) if made in found]
