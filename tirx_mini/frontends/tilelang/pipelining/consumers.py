"""The consumer side of warp-specialised loops: the program without its copies."""

from __future__ import annotations

from collections.abc import Sequence

from tirx_mini.hardware import WARP_SIZE
from tirx_mini.ir import (
    INT32,
    AllocBuffer,
    Bind,
    Buffer,
    Evaluate,
    Expr,
    Hint,
    If,
    Mutator,
    Region,
    Span,
    Stmt,
    TileCall,
    Var,
    binary,
    seq,
    special,
)
from tirx_mini.isa import NAMES, issue
from tirx_mini.records import dataclass, replace

from ..gemm import (
    GEMM,
    NEVER,
    TCGEN05,
    TCGEN05_DRAIN,
    WG_WAIT,
    WGMMA,
    Place,
    capability,
    gemm_plan,
    product_of,
)
from .loops import PipelinedLoop
from .rings import Pipeline, Ring
from .stages import Staged

CONSUMER_BARRIER = 1
"""The named barrier of the threads of the program."""
INIT_BARRIERS = "tl.init_barriers"


class Consumer(Mutator):
    """Rewrites the program without its copies: wait for each tile, use its stage, then release it.

    hoisted: variables that are declared outside. barriers: mbarriers of the program, which all threads initialise
    together: their declarations, and T.alloc_barrier's arrivals. place: the threads that use the tiles.
    """

    def __init__(self, pipes: dict[int, Pipeline], hoisted: frozenset[Buffer], place: Place) -> None:
        self.pipes, self.hoisted, self.place = pipes, hoisted, place
        self.kinds = {number: _kind(pipe.loop, place) for number, pipe in pipes.items()}
        self.barriers: list[Stmt] = []
        self.rings = {b: tile for p in pipes.values() for ring in p.rings for b, tile in ring.tiles.items()}

    def visit_AllocBuffer(self, node: AllocBuffer) -> Stmt:
        if node.buffer.dtype == "uint64" and node.buffer.scope == "shared":
            self.barriers.append(node)
            return seq()
        return seq() if node.buffer in self.rings or node.buffer in self.hoisted else node

    def visit_TileCall(self, node: TileCall) -> Stmt:
        if node.op != INIT_BARRIERS:
            return self.rebuild(node)
        self.barriers.append(node)
        return seq()

    def visit_Hint(self, node: Hint) -> Stmt:
        pipe = self.pipes.get(id(node))
        if pipe is None:
            return self.rebuild(node)
        stage = Var(INT32, "stage")
        kept = self.kinds.get(id(node), _Complete)(self.rings, pipe, stage)
        made = {copy.position for copy in pipe.loop.copies}
        body: list[Stmt] = [Bind(stage, pipe.consumer.index)]
        for position, stmt in enumerate(pipe.loop.body):
            body += [
                issue("mbarrier.try_wait", ring.full.ptr_to([stage]), pipe.consumer.phase[0], span=stmt.span)
                for ring in pipe.rings
                if ring.group.first == position
            ]
            if position not in made:
                body.append(kept.stmt(stmt))
            ends = [ring for ring in pipe.rings if ring.group.last == position]
            body += kept.after(ends, stmt.span)
        loop = replace(pipe.loop.loop, body=seq(*body, pipe.consumer.advance()))
        return seq(*kept.before(self.place), kept.executed(loop, self.place), *kept.afterwards())


@dataclass(frozen=True)
class _Complete:
    """A loop whose iterations complete before the next one starts."""

    tiles: dict[Buffer, Buffer]
    pipe: Pipeline
    stage: Expr

    def stmt(self, stmt: Stmt) -> Stmt:
        return Staged(self.tiles, self.stage).stmt(stmt)

    def after(self, rings: Sequence[Ring], span: Span | None) -> list[Stmt]:
        """Return the statements after the last use of `rings`."""
        return [_release(ring, self.stage, span) for ring in rings]

    def before(self, place: Place) -> list[Stmt]:
        """Return the statements before the loop."""
        return []

    def executed(self, loop: Stmt, place: Place) -> Stmt:
        """Return the loop, guarded for the threads that execute it."""
        return loop

    def afterwards(self) -> list[Stmt]:
        """Return the statements after the loop."""
        return []


class _WgmmaInFlight(_Complete):
    """A loop over a single wgmma product, of which one remains in flight until the next is issued."""

    def stmt(self, stmt: Stmt) -> Stmt:
        return _waiting(super().stmt(stmt), 1)

    def _before(self, stage: Expr) -> Expr:
        count = self.pipe.loop.stages
        return (stage + (count - 1)) % count

    def after(self, rings: Sequence[Ring], span: Span | None) -> list[Stmt]:
        loop, before = self.pipe.loop.loop, Var(INT32, "before")
        released = (_release(ring, before, span) for ring in rings)
        return [If(loop.var > loop.start, seq(Bind(before, self._before(self.stage)), *released))] if rings else []

    def afterwards(self) -> list[Stmt]:
        loop, last = self.pipe.loop.loop, Var(INT32, "last")
        released = (_release(ring, last, loop.span) for ring in self.pipe.rings)
        free = If(loop.start < loop.stop, seq(Bind(last, self._before(self.pipe.consumer.index)), *released))
        return [issue("wgmma.wait_group", n=0, span=loop.span), free]


class _Tcgen05InFlight(_Complete):
    """A loop over a single tensor-memory product; all products complete only at the end of the loop."""

    def stmt(self, stmt: Stmt) -> Stmt:
        return _waiting(super().stmt(stmt), NEVER)

    def before(self, place: Place) -> list[Stmt]:
        """Return a barrier that ensures all threads have read earlier products from tensor memory."""
        barrier = NAMES["ptx.bar.sync"].call(CONSUMER_BARRIER, place.team.count)
        return [Evaluate(barrier, span=self.pipe.loop.loop.span)]

    def executed(self, loop: Stmt, place: Place) -> Stmt:
        """Guard the loop for one thread, which waits for tiles, issues the MMAs and releases the tiles."""
        return If(binary("==", special("threadIdx.x"), place.team.first), loop, span=loop.span)

    def afterwards(self) -> list[Stmt]:
        call = product_in(self.pipe.loop)
        assert call is not None
        result, *barrier = call.operands[2:]
        return [replace(call, op=TCGEN05_DRAIN, operands=(result, result, result, *barrier))]


def _waiting(stmt: Stmt, groups: int) -> Stmt:
    """Return a product that allows `groups` products of its kind to remain in flight."""
    if not isinstance(stmt, TileCall):
        return stmt
    options = tuple(option for option in stmt.options if option[0] != WG_WAIT)
    return replace(stmt, options=(*options, (WG_WAIT, groups)))


def product_in(loop: PipelinedLoop) -> TileCall | None:
    """Return the product of a loop that contains only copies and one synchronous product, or None."""
    made = {copy.position for copy in loop.copies}
    rest = [stmt for at, stmt in enumerate(loop.body) if at not in made and not isinstance(stmt, Bind)]
    call = rest[0] if len(rest) == 1 else None
    if not isinstance(call, TileCall) or call.op != GEMM or call.option(WG_WAIT, 0) != 0:
        return None
    shared = all(isinstance(x, Region) and x.buffer.scope == "shared" for x in call.operands[:2])
    return call if shared else None


def _kind(loop: PipelinedLoop, place: Place) -> type[_Complete]:
    """Return how the iterations of a loop overlap."""
    call = product_in(loop)
    if call is None:
        return _Complete
    instruction = gemm_plan(product_of(call, place), capability(place.arch)).instruction
    if instruction == TCGEN05 and all(group.in_tensor_memory for group in loop.groups):
        return _Tcgen05InFlight
    return _WgmmaInFlight if instruction == WGMMA and loop.stages > 1 else _Complete


def _release(ring: Ring, stage: Expr, span: Span | None) -> Stmt:
    """Release a tile: one thread of each warp arrives once the warp has used it.

    Tiles that only tcgen05.mma reads are released when the MMAs are complete (PTX ISA: "tcgen05.commit").
    """
    if ring.group.in_tensor_memory:
        commit = issue("tcgen05.commit", ring.empty.ptr_to([stage]), cta_group=1, span=span)
        return If(binary("==", special("threadIdx.x"), 0), commit, span=span)
    arrive = issue("mbarrier.arrive", ring.empty.ptr_to([stage]), span=span)
    first = binary("==", special("threadIdx.x") % WARP_SIZE, 0)
    return seq(issue("bar.warp.sync", span=span), If(first, arrive, span=span))
