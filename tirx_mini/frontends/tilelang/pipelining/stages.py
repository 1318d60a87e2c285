"""Per-stage tile buffers, and the rewriting of statements to use one stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tirx_mini.ir import AddressOf, Buffer, BufferLoad, Expr, Mutator, Range, Region, const


def staged(buffer: Buffer, stages: int) -> Buffer:
    """Return a buffer with one copy of the tile per stage, without a layout."""
    return replace(buffer, shape=(stages, *buffer.shape), layout=None)


class Staged(Mutator):
    """Rewrites statements to use the tiles of a stage."""

    def __init__(self, rings: Mapping[Buffer, Buffer], stage: Expr) -> None:
        self.rings, self.stage = rings, stage

    def visit_Region(self, node: Region) -> Expr:
        ring = self.rings.get(node.buffer)
        ranges = tuple(self.field(r) for r in node.ranges)
        return replace(node, buffer=ring, ranges=(Range(self.stage, const(1)), *ranges)) if ring else self.rebuild(node)

    def visit_BufferLoad(self, node: BufferLoad) -> Expr:
        return self._indexed(node)

    def visit_AddressOf(self, node: AddressOf) -> Expr:
        return self._indexed(node)

    def _indexed(self, node: BufferLoad | AddressOf) -> Expr:
        ring = self.rings.get(node.buffer)
        indices = tuple(self.expr(i) for i in node.indices)
        return replace(node, buffer=ring, indices=(self.stage, *indices)) if ring else self.rebuild(node)
