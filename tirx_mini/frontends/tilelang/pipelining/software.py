"""Software pipelining without warp specialisation: all threads prefetch later iterations by cp.async, then compute the
iteration whose copies are complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tirx_mini.ir import (
    AllocBuffer,
    Buffer,
    Expr,
    Hint,
    If,
    Mutator,
    Stmt,
    TileCall,
    seq,
    substitute,
)
from tirx_mini.isa import issue
from tirx_mini.passes import Team

from .loops import PipelinedLoop
from .slices import NoSlice, Renamed, Slice, slice_of
from .stages import Staged, staged

ASYNC_COPY = "tl.async_copy"
FEWEST = 2
"""Stages: a copy is in flight while another tile is in use."""


def overlapped(body: Stmt, loops: Sequence[PipelinedLoop], threads: int, fences: bool) -> Stmt:
    """Rewrite the pipelined loops of `body`, executed by `threads` threads, to prefetch their copies.

    fences: whether asynchronous engines read the tiles, which then need a proxy fence.
    """
    found = {}
    for loop in loops:
        try:
            sliced = slice_of(loop.loop.body, [copy.call for copy in loop.copies])
        except NoSlice:
            continue
        if not sliced.scalars:
            found[id(loop.hint)] = (loop, sliced)
    made = _Overlapped(found, fences)
    rings = tuple(ring for tiles in made.rings.values() for ring in tiles.values())
    return Team(0, threads).hint(made.stmt(body), rings) if found else body


class _Overlapped(Mutator):
    def __init__(self, loops: dict[int, tuple[PipelinedLoop, Slice]], fences: bool) -> None:
        self.loops, self.fences = loops, fences
        self.rings: dict[int, dict[Buffer, Buffer]] = {}
        self.tiles: set[Buffer] = set()
        for number, (loop, _) in loops.items():
            count = max(loop.stages, FEWEST)
            self.rings[number] = {copy.buffer: staged(copy.buffer, count) for copy in loop.copies}
            self.tiles |= self.rings[number].keys()

    def visit_AllocBuffer(self, node: AllocBuffer) -> Stmt:
        return seq() if node.buffer in self.tiles else node

    def visit_Hint(self, node: Hint) -> Stmt:
        found = self.loops.get(id(node))
        if found is None:
            return self.rebuild(node)
        return self._pipelined(*found, self.rings[id(node)])

    def _pipelined(self, pipe: PipelinedLoop, sliced: Slice, rings: dict[Buffer, Buffer]) -> Stmt:
        loop, stages = pipe.loop, max(pipe.stages, FEWEST)
        copies = {id(copy.call) for copy in pipe.copies}
        commit = issue("cp.async.commit_group", span=loop.span)

        def begun(iteration: Expr) -> Stmt:
            slot = (iteration - loop.start) % stages
            copies_of = substitute(Renamed().stmt(sliced.body), {loop.var: iteration})
            return seq(If(iteration < loop.stop, _Begun(rings, slot).stmt(copies_of)), commit)

        slot = (loop.var - loop.start) % stages
        use = Staged(rings, slot)
        rest = [use.stmt(stmt) for stmt in pipe.body if id(stmt) not in copies]
        fence = issue("fence.proxy.async", "shared::cta") if self.fences else None
        arrived = seq(issue("cp.async.wait_group", n=stages - 2), fence, issue("bar.sync.all", 0))
        body = seq(arrived, begun(loop.var + (stages - 1)), *rest)
        ahead = [begun(loop.start + number) for number in range(stages - 1)]
        free = issue("bar.sync.all", 0, span=loop.span)  # all threads have used the tiles of an earlier loop
        return seq(*(AllocBuffer(ring) for ring in rings.values()), free, *ahead, replace(loop, body=body))


class _Begun(Mutator):
    """Rewrites copies into a stage as asynchronous ones."""

    def __init__(self, rings: dict[Buffer, Buffer], slot: Expr) -> None:
        self.staged = Staged(rings, slot)

    def visit_TileCall(self, node: TileCall) -> Stmt:
        call = self.staged.stmt(node)
        assert isinstance(call, TileCall)
        return replace(call, op=ASYNC_COPY)
