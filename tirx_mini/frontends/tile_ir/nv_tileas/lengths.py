"""Trip-count analysis of program instances: whether loops grow or shrink with the instance index x.

A part of tileas-dynamic-persistent. The bounds of loops are followed through operations that keep an order: sums,
products with and quotients by positive constants, minima and maxima.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..nv_tileaa import ops as aa
from ..nv_tileaa import standard as std
from ..ssa import Op, Region, Value
from .operands import begins_at_constant, definitions, number_of_constant

EQUAL, GROW, SHRINK = 0, 1, -1
"""All instances take the same time; more, or less, with x."""

_KEEP = (std.addi, std.minsi, std.maxsi, std.minui, std.maxui)
_SCALE = (std.muli, std.floordivsi, std.ceildivsi, std.ceildivui, std.divsi, std.divui, std.shrsi, std.shrui, std.shli)


def lengths(body: Region) -> int | None:
    """Return EQUAL, GROW or SHRINK, or None if loop lengths depend on anything else.

    Of several loops, the first whose length varies counts: those behind it do what it leaves.
    """
    defs = definitions(body)
    for op in body.ops:
        if op.kind is std.for_:
            low = EQUAL if begins_at_constant(op, defs) else trend(op.lower, defs)
            high = trend(op.upper, defs)
            if low is None or high is None or (low and high):
                return None
            if low or high:
                return high - low
        inner = [o for region in op.regions for o in region.walk() if o.kind is std.for_]
        if any(trend(value, defs) != EQUAL for o in inner for value in (o.lower, o.upper)):
            return None
    return EQUAL


def trend(value: Value, defs: Mapping[Value, Op]) -> int | None:
    """Return whether a number is constant, increasing or decreasing in x, or None if unknown."""
    op = defs.get(value)
    if op is None:
        return None
    if op.kind is aa.get_program_id:
        return GROW if value is op.x else None
    if op.kind is std.constant:
        return EQUAL
    if op.kind in _KEEP:
        found = {trend(v, defs) for v in op.operands}
        return None if None in found or {GROW, SHRINK} <= found else sum(found)  # type: ignore[arg-type]
    if op.kind is std.subi:
        left, right = trend(op.lhs, defs), trend(op.rhs, defs)
        if left is None or right is None or left == right != EQUAL:
            return None
        return left or -right
    if op.kind in _SCALE:
        factor = number_of_constant(defs.get(op.rhs))
        return trend(op.lhs, defs) if factor is not None and factor > 0 else None
    return None
