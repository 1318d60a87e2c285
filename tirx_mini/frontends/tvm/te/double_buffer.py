"""`double_buffer`: prefetching of the next iteration's data into a second buffer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tirx_mini.ir import (
    AddressOf,
    AllocBuffer,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    If,
    Mutator,
    Stmt,
    Var,
    const,
    seq,
    simplify,
    substitute,
)
from tirx_mini.layout import S, TileLayout
from tirx_mini.records import dataclass, replace

from .storage import strides_of

ALIGN_BITS = 128
"""Both halves begin at a multiple of this many bits, those of the widest access."""


@dataclass(frozen=True)
class Ahead:
    """A copy that runs one iteration ahead of its loop.

    before: its allocation and the first copy, before the loop. next: the copy for the next iteration, at the beginning
    of an iteration. buffers: the replacements of the buffer that the loop reads.
    """

    before: Stmt
    next: Stmt
    single: Buffer
    double: Buffer


def ahead(fill: Stmt, buffer: Buffer, loop: Var, extent: int) -> Ahead:
    """Rewrite `fill`, which writes `buffer` in each of `extent` iterations of `loop`, to run one iteration ahead."""
    layout = None
    if buffer.layout is not None:
        units = max(1, ALIGN_BITS // buffer.dtype.bits)
        half = -(-buffer.layout.cosize() // units) * units
        layout = TileLayout(S[(2, *buffer.shape) : (half, *strides_of(buffer))])
    double = replace(buffer, shape=(2, *buffer.shape), layout=layout)
    first = _in_half(substitute(fill, {loop: const(0)}), buffer, double, const(0))
    following = _in_half(substitute(fill, {loop: loop + 1}), buffer, double, (loop + 1) % 2)
    return Ahead(
        seq(AllocBuffer(double, span=buffer.span), first),
        If(loop + 1 < extent, following),
        buffer,
        double,
    )


def reading(body: Stmt, copies: Sequence[Ahead], loop: Var) -> Stmt:
    """Rewrite the body of the loop to read the half filled for the current iteration."""
    for copy in copies:
        body = _in_half(body, copy.single, copy.double, loop % 2)
    return body


def _in_half(stmt: Stmt, buffer: Buffer, double: Buffer, half: Expr) -> Stmt:
    return _Half(buffer, double, half).stmt(stmt)


class _Half(Mutator):
    """Redirects accesses of a buffer to one half of a double buffer."""

    def __init__(self, buffer: Buffer, double: Buffer, half: Expr) -> None:
        self.replaced, self.double, self.half = buffer, double, half
        self.distance = strides_of(double)[0]

    def visit_BufferLoad(self, node: BufferLoad) -> Expr:
        return self._moved(self.rebuild(node))

    def visit_AddressOf(self, node: AddressOf) -> Expr:
        return self._moved(self.rebuild(node))

    def visit_BufferStore(self, node: BufferStore) -> Stmt:
        return self._moved(self.rebuild(node))

    def _moved(self, node: Any) -> Any:
        indices = tuple(map(simplify, node.indices))
        if node.buffer is not self.replaced:
            return replace(node, indices=indices)
        if len(indices) == 1 and self.replaced.ndim != 1:  # a place in memory
            return replace(node, buffer=self.double, indices=(simplify(indices[0] + self.half * self.distance),))
        return replace(node, buffer=self.double, indices=(self.half, *indices))
