"""Lowering of `T.cumsum` and `T.cummax`: each thread scans its own lines in shared memory."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tirx_mini.ir import (
    INT32,
    AllocBuffer,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    For,
    If,
    Region,
    Stmt,
    TileCall,
    TirxError,
    Var,
    binary,
    cast,
    const,
    scalar,
    select,
    seq,
)

from ..language.memory import FRAGMENT
from ..layouts import Fragment
from ..place import Place

OPERATORS = {"sum": "+", "max": "max"}


class Scan:
    """Scans lines of shared memory, one thread per line, with a running value in a variable."""

    def layouts(self, call: TileCall, place: Place) -> Mapping[Buffer, Fragment]:
        """Return no layouts, since scans operate on shared memory."""
        return {}

    def lower(self, call: TileCall, place: Place) -> Stmt:
        """Emit a loop over a thread's lines, with an inner loop along the line."""
        source, target = call.operands
        assert isinstance(source, Region) and isinstance(target, Region)
        dim: Any = call.option("dim")
        reverse = call.option("reverse")
        for region in (source, target):
            if region.buffer.scope == FRAGMENT:
                raise TirxError("T.cumsum of a fragment needs shared memory", call.span, "T.copy it there first")
        extents, team = source.extents, place.team
        lines = math.prod(extent for at, extent in enumerate(extents) if at != dim)
        var, along = Var(INT32, "line"), Var(INT32, "at")
        number = var * team.count + team.thread
        position = extents[dim] - 1 - along if reverse else along
        total = scalar("total", target.dtype)

        def element(region: Region) -> tuple[Expr, ...]:
            rest, indices = number, []
            for at in reversed(range(len(extents))):
                if at == dim:
                    indices.append(region.ranges[at].start + position)
                else:
                    indices.append(region.ranges[at].start + rest % extents[at])
                    rest = rest // extents[at]
            return tuple(place.analyzer.simplify(index) for index in reversed(indices))

        value = cast(target.dtype, BufferLoad(source.dtype, source.buffer, element(source)))
        before = BufferLoad(total.dtype, total, (const(0),))
        operator = OPERATORS[str(call.option("kind"))]
        first = binary("==", along, 0)
        step = seq(
            BufferStore(total, (const(0),), select(first, value, binary(operator, before, value))),
            BufferStore(target.buffer, element(target), before),
        )
        line = seq(AllocBuffer(total), For(along, const(0), const(extents[dim]), step, span=call.span))
        rounds = -(-lines // team.count)
        body: Stmt = If(number < lines, line, span=call.span) if lines % team.count else line
        return For(var, const(0), const(rounds), body, span=call.span)
