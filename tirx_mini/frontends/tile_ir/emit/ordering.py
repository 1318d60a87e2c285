"""Memory effects of regions, by which threads synchronise between conflicting array accesses.

A tile program is executed in order: a later load sees an earlier store. Its threads are not, and one may load what
another stored. So a barrier stands between two accesses of one array of which one is a store.

`passes/barriers.py` orders uses of shared memory in statements. Here the arrays are in global memory and the program is
still SSA: the emitter asks while it chooses which threads hold a tile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from ..cuda_tile import Ptr
from ..nv_tileaa import BlockTile, Memref, Tensor
from ..nv_tileaa import ops as aa
from ..nv_tileaa import standard as std
from ..nv_tileas import ops
from ..ssa import Op, Region, Type, Value

READS = {ops.tiled_load: "view", ops.gather_load: "view", ops.load: "source"}
WRITES = {
    ops.tiled_store: "view", ops.scatter_store: "view", ops.store: "destination", ops.tiled_atomic_rmw: "view",
    aa.atomic_rmw: "pointers", aa.atomic_cas: "pointers",
}  # fmt: skip

Effect = tuple[Value, bool]
"""A parameter of the function that points to an array, and whether it is written."""


class Effects:
    """The memory effects of a function's regions."""

    def __init__(self, body: Region) -> None:
        self.body = body

    @cached_property
    def roots(self) -> Mapping[Value, Value]:
        """The parameter from which each pointer, array view or tile derives."""
        found = {value: value for value in self.body.params if isinstance(value.type, Ptr)}
        self._follow(self.body, found)
        return found

    def _follow(self, region: Region, found: dict[Value, Value]) -> None:
        for op in region.ops:
            carried = _carried(op)
            for inner, outer in carried:
                if outer in found:
                    found[inner] = found[outer]
            for nested in op.regions:
                self._follow(nested, found)
            source = next((value for value in op.operands if value in found), None)
            if source is not None and not carried:
                found.update({value: found[source] for value in op.results if _points(value.type)})

    def of(self, region: Region) -> set[Effect]:
        """Return the arrays that a region reads and writes."""
        effects: set[Effect] = set()
        for op in region.walk():
            for table, write in ((READS, False), (WRITES, True)):
                value = getattr(op, table[op.kind]) if op.kind in table else None
                if value is not None and value in self.roots:
                    effects.add((self.roots[value], write))
        return effects


def _points(type: Type) -> bool:
    return isinstance(type, (Ptr, Memref, BlockTile)) or (isinstance(type, Tensor) and isinstance(type.element, Ptr))


def _carried(op: Op) -> list[tuple[Value, Value]]:
    """Return the loop-carried value pairs (inside or after, before)."""
    return list(_pairs(op)) if op.kind in (std.for_, std.while_) else []


def _pairs(op: Op) -> Iterator[tuple[Value, Value]]:
    groups = [op.body.params[1:], op.results] if op.kind is std.for_ else [op.before.params]
    for group in groups:
        yield from zip(group, op.inits, strict=True)
    if op.kind is std.while_:
        last = op.before.ops[-1].values
        yield from zip(op.after.params, last, strict=True)
        yield from zip(op.results, last, strict=True)
