"""The LowerBlocks pass: replace blocks by their bodies, and compact the buffers between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field

from tirx_mini.ir import (
    REDUCE,
    TIR,
    AllocBuffer,
    Block,
    Buffer,
    BufferStore,
    Expr,
    If,
    Mutator,
    PrimFunc,
    Stmt,
    Var,
    binary,
    seq,
    substitute,
    walk,
)
from tirx_mini.records import dataclass

from .across_threads import reduce_across_threads
from .compact import Padding, compact_buffers

STORAGE_ALIGN = "buffer_dim_align"
"""The annotation of a block that pads the buffers that it writes: (buffer, dimension, factor, offset) for each."""


def lower_blocks(func: PrimFunc) -> PrimFunc:
    """Lower all blocks; a function without blocks is returned unchanged.

    The initialisation of a reduction is executed where all of its variables are at their first value. A buffer that one
    iteration of some loops fills and empties is allocated within them, for what that iteration accesses.
    """
    if func.spelling != TIR or not func.of(Block):
        return func
    lowering = _Blocks()
    body = lowering.stmt(reduce_across_threads(func.body))
    return func.with_body(compact_buffers(body, lowering.carried, lowering.paddings))


@dataclass
class _Blocks(Mutator):
    """Replaces blocks by their bodies.

    carried: the variables of loops whose iterations continue one another.
    paddings: how the storage of buffers is padded.
    """

    carried: set[Var] = field(default_factory=set[Var])
    paddings: dict[Buffer, list[Padding]] = field(default_factory=dict[Buffer, list[Padding]])

    def visit_Block(self, node: Block) -> Stmt:
        values = dict(zip(node.vars, node.values, strict=True))
        first: Expr | None = None
        for kind, domain, value in zip(node.kinds, node.domains, node.values, strict=True):
            if kind != REDUCE:
                continue
            self.carried |= {part for part in walk(value) if isinstance(part, Var)}
            at_start = binary("==", value, domain.start)
            first = at_start if first is None else binary("and", first, at_start)
        self._paddings(node)
        init = None
        if node.init is not None:
            init = self.stmt(substitute(node.init, values))
            init = init if first is None else If(first, init, span=node.span)
        body = seq(init, self.stmt(substitute(node.body, values)), span=node.span)
        if node.predicate is not None:
            body = If(substitute(node.predicate, values), body, span=node.span)
        return seq(*(AllocBuffer(buffer, span=node.span) for buffer in node.allocs), body)

    def _paddings(self, node: Block) -> None:
        written = list(dict.fromkeys(part.buffer for part in walk(node.body) if isinstance(part, BufferStore)))
        aligned: Iterable[tuple[int, int, int, int]] = dict(node.attrs).get(STORAGE_ALIGN, ())
        for number, dim, factor, offset in aligned:
            self.paddings.setdefault(written[number], []).append(Padding(dim, factor, offset))
