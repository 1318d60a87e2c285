"""Compaction of buffers: allocate each in the innermost loop that contains all its accesses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tirx_mini.ir import (
    THREAD,
    AllocBuffer,
    Analyzer,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    For,
    Mutator,
    Seq,
    Stmt,
    Var,
    children,
    int_value,
    seq,
)
from tirx_mini.layout import S, TileLayout
from tirx_mini.records import dataclass, replace

from .regions import box


class Padding(NamedTuple):
    """Padding of a buffer: rows along dimension `dim` are ``factor * n + offset`` elements apart."""

    dim: int
    factor: int
    offset: int


def padded(shape: Sequence[int], paddings: Sequence[Padding]) -> TileLayout:
    """Return row-major strides, each padded to the next value that its `Padding` allows."""
    known = {padding.dim: padding for padding in paddings}
    strides, stride = [0] * len(shape), 1
    for dim in reversed(range(len(shape))):
        if dim in known:
            _, factor, offset = known[dim]
            stride += (factor + offset - stride % factor) % factor
        strides[dim] = stride
        stride *= shape[dim]
    return TileLayout(S[tuple(shape) : tuple(strides)])


@dataclass(frozen=True, eq=False)
class _Access:
    """An access of a buffer, with its enclosing loops."""

    indices: tuple[Expr, ...]
    loops: tuple[For, ...]


@dataclass(frozen=True, eq=False)
class _Placed:
    """The placement of a buffer: the body of `loop` (None for the function), for the region starting at `first`."""

    buffer: Buffer
    loop: For | None
    first: tuple[Expr, ...]


def compact_buffers(body: Stmt, carried: set[Var], paddings: Mapping[Buffer, list[Padding]]) -> Stmt:
    """Move each buffer to the innermost loop around its accesses, and shrink it to the region accessed there.

    carried: the variables of loops whose iterations continue one another, so that a buffer outlives an iteration.
    """
    accesses: dict[Buffer, list[_Access]] = {}
    allocs = [node.buffer for node in _allocs(body)]
    ranges = Analyzer()
    for node, loops in _accesses(body, ()):
        if node.buffer in allocs:
            accesses.setdefault(node.buffer, []).append(_Access(node.indices, loops))
        for loop in loops:
            last = int_value(loop.stop)
            ranges = ranges.bind(loop.var, 0, last - 1) if last and loop.var not in ranges.ranges else ranges
    placed = {buffer: _place(buffer, found, carried, ranges, paddings) for buffer, found in accesses.items()}
    return _Compact(placed, set(allocs), ranges).function(body)


def _allocs(stmt: Stmt) -> Iterator[AllocBuffer]:
    if isinstance(stmt, AllocBuffer):
        yield stmt
    for child in children(stmt):
        if isinstance(child, Stmt):
            yield from _allocs(child)


def _accesses(node: Stmt | Expr, loops: tuple[For, ...]) -> Iterator[tuple[BufferLoad | BufferStore, tuple[For, ...]]]:
    if isinstance(node, (BufferLoad, BufferStore)):
        yield node, loops
    inner = (*loops, node) if isinstance(node, For) else loops
    for child in children(node):
        yield from _accesses(child, inner)


def _place(
    buffer: Buffer,
    accesses: Sequence[_Access],
    carried: set[Var],
    ranges: Analyzer,
    paddings: Mapping[Buffer, list[Padding]],
) -> _Placed:
    common = list(accesses[0].loops)
    for access in accesses[1:]:
        shared = 0
        while shared < min(len(common), len(access.loops)) and common[shared] is access.loops[shared]:
            shared += 1
        del common[shared:]
    stop = next((n for n, loop in enumerate(common) if loop.var in carried), len(common))
    if buffer.scope == "global":
        stop = min(stop, next((n for n, loop in enumerate(common) if loop.kind == THREAD), stop))
    del common[stop:]
    threads = buffer.scope == "shared"
    still = {loop.var for loop in common if not (threads and loop.thread.startswith("threadIdx"))}
    region = box(((access.indices, ranges) for access in accesses), buffer.shape, lambda var: var not in still)
    known = paddings.get(buffer, ())
    shape = tuple(part.size for part in region)
    layout = padded(shape, known) if known else buffer.layout if shape == buffer.shape else None
    smaller = replace(buffer, shape=shape, layout=layout)
    return _Placed(smaller, common[-1] if common else None, tuple(part.first for part in region))


class _Compact(Mutator):
    """Moves allocations, and rebases accesses to the start of the region."""

    def __init__(self, placed: Mapping[Buffer, _Placed], allocs: set[Buffer], ranges: Analyzer) -> None:
        self.placed, self.allocs, self.ranges = placed, allocs, ranges

    def function(self, body: Stmt) -> Stmt:
        return seq(*self._here(None), self.stmt(body))

    def _here(self, loop: For | None) -> Iterator[AllocBuffer]:
        for placed in self.placed.values():
            if placed.loop is loop:
                yield AllocBuffer(placed.buffer, span=placed.buffer.span)

    def visit_AllocBuffer(self, node: AllocBuffer) -> Stmt:
        return Seq((), span=node.span)

    def visit_For(self, node: For) -> Stmt:
        inside = list(self._here(node))
        rebuilt = self.rebuild(node)
        return replace(rebuilt, body=seq(*inside, rebuilt.body)) if inside else rebuilt

    def visit_BufferLoad(self, node: BufferLoad) -> Expr:
        buffer, indices = self._shifted(node)
        return replace(node, buffer=buffer, indices=indices)

    def visit_BufferStore(self, node: BufferStore) -> Stmt:
        buffer, indices = self._shifted(node)
        return replace(node, buffer=buffer, indices=indices, value=self.expr(node.value))

    def _shifted(self, node: BufferLoad | BufferStore) -> tuple[Buffer, tuple[Expr, ...]]:
        indices = tuple(self.ranges.simplify(self.expr(index)) for index in node.indices)
        placed = self.placed.get(node.buffer)
        if placed is None:
            return node.buffer, indices
        shifted = (self.ranges.simplify(index - first) for index, first in zip(indices, placed.first, strict=True))
        return placed.buffer, tuple(shifted)

