"""Recognition of pure accumulation loops."""

from __future__ import annotations

from collections.abc import Mapping

from ..ssa import Op, Value
from . import ops


def simple_sum(loop: Op, used: Mapping[Value, list[Op]]) -> Op | None:
    """Return the only dot of a loop if nothing else in the loop uses its sums, or None."""
    dots = [op for op in loop.body.walk() if op.kind is ops.dot]
    if len(dots) != 1 or dots[0] not in loop.body.ops:
        return None
    (dot,) = dots
    carried = loop.body.params[1:]
    if dot.acc not in carried or used.get(dot.acc) != [dot]:
        return None
    last = loop.body.ops[-1]
    if used.get(dot.result) != [last] or last.operands[carried.index(dot.acc)] is not dot.result:
        return None
    return dot
