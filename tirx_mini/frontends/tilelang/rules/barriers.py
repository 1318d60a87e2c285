"""Lowering of `T.alloc_barrier`: one thread initialises the mbarriers, and the others wait."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tirx_mini.ir import Buffer, Evaluate, If, Region, Stmt, TileCall, binary, const, seq
from tirx_mini.isa import NAMES

from ..layouts import Fragment
from ..place import Place


class InitBarriers:
    """Initialises mbarriers (PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier")."""

    def layouts(self, call: TileCall, place: Place) -> Mapping[Buffer, Fragment]:
        """Return no layouts: mbarriers are consecutive 64-bit words."""
        return {}

    def lower(self, call: TileCall, place: Place) -> Stmt:
        """Emit ``mbarrier.init`` by the first thread, a visibility fence, and a CTA barrier."""
        (region,) = call.operands
        assert isinstance(region, Region)
        init, fence = NAMES["ptx.mbarrier.init"], NAMES["ptx.fence.mbarrier_init"]
        counts: Any = call.option("counts")
        made: list[Stmt] = [
            Evaluate(init.call(region.buffer.ptr_to([number]), count), span=call.span)
            for number, count in enumerate(counts)
        ]
        made.append(Evaluate(fence.call(), span=call.span))
        team = place.team
        if call.option("cluster"):
            meet = NAMES["cuda.cluster_sync"].call(span=call.span)
        elif team.barrier > 0:  # a role beside others
            meet = NAMES["ptx.bar.sync"].call(team.barrier, team.count, span=call.span)
        else:
            meet = NAMES["cuda.cta_sync"].call(span=call.span)
        first = binary("==", team.thread, const(0))
        return seq(If(first, seq(*made), span=call.span), Evaluate(meet, span=call.span))
