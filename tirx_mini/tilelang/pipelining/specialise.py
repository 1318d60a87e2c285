"""Warp specialisation: a warp of its own makes the copies of pipelined loops by TMA, and the threads of the program
do all else.

A stage has two mbarriers (PTX ISA: "mbarrier"). The producer waits for `empty`, and the bytes of its copies complete a
phase of `full`; the consumers wait for `full`, and each warp arrives at `empty` when it has used the tiles.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tirx_mini.ir import (
    BOOL,
    INT32,
    AllocBuffer,
    Bind,
    Buffer,
    BufferStore,
    Call,
    DataType,
    Expr,
    For,
    Hint,
    If,
    Mutator,
    Range,
    Region,
    Span,
    Stmt,
    TileCall,
    Var,
    as_expr,
    binary,
    const,
    scalar,
    seq,
    special,
)
from tirx_mini.isa import TABLE
from tirx_mini.tile import OPS

from ..gemm import GEMM, WGMMA, Place, capability, gemm_plan, product_of
from ..tma import issue
from .loops import PIPELINED, Copy, Group, PipelinedLoop
from .slices import Renamed, slice_of
from .stages import Staged, staged

WARP, WARPGROUP = 32, 128
REGISTERS = {2: (24, 240), 3: (32, 160)}
"""Registers of a thread of the producer and of a consumer, by the number of warpgroups of consumers: together at most
65,536 (PTX ISA: "setmaxnreg")."""
THREADS = "tl.threads"
"""Message of a hint: which threads execute its body, and which barrier they have."""
CONSUMER_BARRIER = 1
WG_WAIT = "wg_wait"
"""The option of T.gemm that says how many groups of wgmma may be in flight afterwards."""


@dataclass(frozen=True)
class _Team:
    first: int
    count: int


@dataclass(frozen=True)
class _Place:
    """Where products are computed, before fragments have registers."""

    arch: str
    team: _Team

    def registers(self, buffer: Buffer) -> Buffer:
        raise NotImplementedError


@dataclass(frozen=True)
class Ring:
    """The tiles of a group of copies, once for each stage, and the mbarriers of the stages.

    tiles: by the buffer of the program.
    """

    group: Group
    tiles: dict[Buffer, Buffer]
    full: Buffer
    empty: Buffer


@dataclass(frozen=True)
class Position:
    """The stage at which a role is, and the parity of the phase that it waits for next."""

    stages: int
    stage: Buffer
    phase: Buffer

    @classmethod
    def of(cls, name: str, stages: int) -> Position:
        return cls(stages, scalar(f"{name}_stage", "int32"), scalar(f"{name}_phase", "int32"))

    def begin(self, parity: int) -> Stmt:
        zero, first = const(0), const(parity)
        stage = (AllocBuffer(self.stage), BufferStore(self.stage, (zero,), zero)) if self.stages > 1 else ()
        return seq(*stage, AllocBuffer(self.phase), BufferStore(self.phase, (zero,), first))

    @property
    def index(self) -> Expr:
        return self.stage[0] if self.stages > 1 else const(0)

    def advance(self) -> Stmt:
        flip = BufferStore(self.phase, (const(0),), self.phase[0] ^ 1)
        if self.stages == 1:
            return flip
        after = BufferStore(self.stage, (const(0),), self.stage[0] + 1)
        again = seq(BufferStore(self.stage, (const(0),), const(0)), flip)
        return seq(after, If(binary("==", self.stage[0], self.stages), again))


@dataclass(frozen=True)
class Pipeline:
    """A pipelined loop, its rings, and where both roles are in them."""

    loop: PipelinedLoop
    rings: tuple[Ring, ...]
    producer: Position
    consumer: Position

    @classmethod
    def of(cls, loop: PipelinedLoop, number: str) -> Pipeline:
        rings = tuple(_ring(group, loop.stages) for group in loop.groups)
        positions = (Position.of(f"{role}{number}", loop.stages) for role in ("fill", "use"))
        return cls(loop, rings, *positions)


def _ring(group: Group, stages: int) -> Ring:
    tiles = {copy.buffer: staged(copy.buffer, stages) for copy in group.copies}
    name = "_".join(buffer.name for buffer in tiles)
    full, empty = (
        Buffer(f"{name}_{state}", (stages,), DataType("uint64"), "shared", align=8) for state in ("full", "empty")
    )
    return Ring(group, tiles, full, empty)


@dataclass(frozen=True)
class Roles:
    """The threads of a kernel: those of the program, and behind them those of the producer.

    registers: of a thread of the producer and of a consumer (PTX ISA: "setmaxnreg"); None to leave them as they are.
    """

    threads: int
    producer: int
    registers: tuple[int, int] | None

    @classmethod
    def of(cls, threads: int, asked: tuple[int, int] | None, fixed: bool) -> Roles:
        """The roles beside `threads` threads.

        asked: the registers that the program asks for. fixed: whether it wants none to be moved.

        More than one warpgroup of consumers has too few registers beside a producer that has as many: then the producer
        is a warpgroup, which gives its registers away.
        """
        groups, rest = divmod(threads, WARPGROUP)
        registers = asked or REGISTERS.get(groups)
        if rest or fixed or registers is None:
            return cls(threads, WARP, None)
        return cls(threads, WARPGROUP, registers)

    @property
    def all(self) -> int:
        return self.threads + self.producer

    def moved(self, producer: bool) -> Stmt | None:
        """The instruction by which a role takes the registers that it needs."""
        if self.registers is None:
            return None
        return issue("setmaxnreg.dec" if producer else "setmaxnreg.inc", count=self.registers[0 if producer else 1])


def specialised(body: Stmt, loops: Sequence[PipelinedLoop], roles: Roles, arch: str) -> Stmt:
    """`body`, which the threads of the program execute, as the code of these and of a producer, which makes the copies.

    Raises NoSlice where the copies depend on what the threads compute.
    """
    threads = roles.threads
    pipes = [Pipeline.of(loop, str(i) if len(loops) > 1 else "") for i, loop in enumerate(loops)]
    by_hint = {id(pipe.loop.hint): pipe for pipe in pipes}
    copies = [copy.call for loop in loops for copy in loop.copies]
    sliced = slice_of(body, copies)
    producer = Renamed().stmt(_Producer(pipes).stmt(sliced.body))
    begin = [pipe.producer.begin(parity=1) for pipe in pipes]
    alone = binary("and", binary("==", special("warp_id_in_cta"), threads // WARP), _elected())
    elected = If(alone if roles.producer > WARP else _elected(), seq(*begin, producer))
    team = _Place(arch, _Team(0, threads))
    kept = _Consumer(by_hint, sliced.scalars, {id(loop.hint) for loop in loops if in_flight(loop, team)})
    begin = [pipe.consumer.begin(parity=0) for pipe in pipes]
    rings = [ring for pipe in pipes for ring in pipe.rings]
    tiles = tuple(tile for ring in rings for tile in ring.tiles.values())
    attrs = (("first", 0), ("count", threads), ("barrier", CONSUMER_BARRIER), ("rings", tiles))
    consumer = Hint(THREADS, attrs, seq(*begin, kept.stmt(body)))
    copying, computing = seq(roles.moved(True), elected), seq(roles.moved(False), consumer)
    return seq(
        *(AllocBuffer(tile) for tile in tiles),
        *(AllocBuffer(scalar) for scalar in sliced.scalars),
        *_initialised(rings, threads // WARP),
        If(special("warp_id_in_cta") < threads // WARP, computing, copying),
    )


def _elected() -> Expr:
    operands, attrs = TABLE["elect.sync"].bind((), {})
    return Call(BOOL, "elect.sync", operands, attrs)


def _initialised(rings: Iterable[Ring], warps: int) -> list[Stmt]:
    """The mbarriers: the producer arrives once at a full one, with its bytes, and each warp at an empty one."""
    counts = [(barrier, count) for ring in rings for barrier, count in ((ring.full, 1), (ring.empty, warps))]
    inits = [issue("mbarrier.init", b.ptr_to([stage]), count) for b, count in counts for stage in range(b.shape[0])]
    return [
        *(AllocBuffer(barrier) for barrier, _ in counts),
        If(special("threadIdx.x") < 1, seq(*inits)),
        issue("fence.mbarrier_init"),
        issue("bar.sync.all", 0),
    ]


class _Producer(Mutator):
    """The slice of the producer, whose copies wait for their stage and fill it."""

    def __init__(self, pipes: Iterable[Pipeline]) -> None:
        made = [(copy, pipe, ring) for pipe in pipes for ring in pipe.rings for copy in ring.group.copies]
        self.rings = {id(copy.call): (pipe, ring) for copy, pipe, ring in made}
        self.copies = {id(copy.call): copy for copy, _, _ in made}

    def visit_Hint(self, node: Hint) -> Stmt:
        if node.message != PIPELINED:
            return self.rebuild(node)
        loop = node.body
        assert isinstance(loop, For)
        pipe = next(pipe for n in loop_statements(loop) if id(n) in self.rings for pipe, _ in [self.rings[id(n)]])
        stage = Var(INT32, "stage")
        body = [self._filled(stmt, stage) for stmt in loop_statements(loop)]
        return replace(loop, body=seq(Bind(stage, pipe.producer.index), *body, pipe.producer.advance()))

    def _filled(self, stmt: Stmt, stage: Expr) -> Stmt:
        copy = self.copies.get(id(stmt))
        if copy is None:
            return stmt
        pipe, ring = self.rings[id(stmt)]
        load = _load(copy, ring, stage)
        if copy is not ring.group.copies[0]:
            return load
        wait = issue("mbarrier.try_wait", ring.empty.ptr_to([stage]), pipe.producer.phase[0], span=stmt.span)
        expect = issue("mbarrier.arrive.expect_tx", ring.full.ptr_to([stage]), ring.group.bytes, span=stmt.span)
        return seq(wait, expect, load)


def loop_statements(loop: For) -> tuple[Stmt, ...]:
    return getattr(loop.body, "stmts", (loop.body,))


def _load(copy: Copy, ring: Ring, stage: Expr) -> Stmt:
    tile = ring.tiles[copy.buffer]
    ranges = (Range(stage, const(1)), *(Range(const(0), as_expr(extent)) for extent in copy.buffer.shape))
    target = Region(tile.dtype, tile, ranges)
    return OPS["copy_async"].build(
        target, copy.source, mbar=ring.full.ptr_to([stage]), dispatch="tma", scope="thread", span=copy.call.span
    )


class _Consumer(Mutator):
    """The program without its copies: it waits for their tiles, uses them where the stage is, and releases them.

    hoisted: variables that are declared outside. in_flight: the loops, by their hints, whose products stay in flight.
    """

    def __init__(self, pipes: dict[int, Pipeline], hoisted: frozenset[Buffer], in_flight: set[int]) -> None:
        self.pipes, self.hoisted, self.in_flight = pipes, hoisted, in_flight
        self.rings = {b: tile for p in pipes.values() for ring in p.rings for b, tile in ring.tiles.items()}

    def visit_AllocBuffer(self, node: AllocBuffer) -> Stmt:
        return seq() if node.buffer in self.rings or node.buffer in self.hoisted else node

    def visit_Hint(self, node: Hint) -> Stmt:
        pipe = self.pipes.get(id(node))
        if pipe is None:
            return self.rebuild(node)
        stage = Var(INT32, "stage")
        kept = _InFlight(self.rings, pipe, stage) if id(node) in self.in_flight else _Complete(self.rings, pipe, stage)
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
        return seq(replace(pipe.loop.loop, body=seq(*body, pipe.consumer.advance())), *kept.afterwards())


@dataclass(frozen=True)
class _Complete:
    """An iteration whose statements are complete when the next begins."""

    tiles: dict[Buffer, Buffer]
    pipe: Pipeline
    stage: Expr

    def stmt(self, stmt: Stmt) -> Stmt:
        return Staged(self.tiles, self.stage).stmt(stmt)

    def after(self, rings: Sequence[Ring], span: Span | None) -> list[Stmt]:
        """What follows the last use of `rings`."""
        return [_release(ring, self.stage, span) for ring in rings]

    def afterwards(self) -> list[Stmt]:
        """What follows the loop."""
        return []


class _InFlight(_Complete):
    """An iteration whose only statement is a product by wgmma, which is complete when that of the next has begun."""

    def stmt(self, stmt: Stmt) -> Stmt:
        call = super().stmt(stmt)
        if not isinstance(call, TileCall):
            return call
        options = tuple(option for option in call.options if option[0] != WG_WAIT)
        return replace(call, options=(*options, (WG_WAIT, 1)))

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


def in_flight(loop: PipelinedLoop, place: Place) -> bool:
    """Whether the only statement of a loop, besides its copies, is a product by wgmma that may stay in flight."""
    made = {copy.position for copy in loop.copies}
    rest = [s for at, s in enumerate(loop.body) if at not in made and not isinstance(s, Bind)]
    call = rest[0] if len(rest) == 1 else None
    if loop.stages < 2 or not isinstance(call, TileCall) or call.op != GEMM or call.option(WG_WAIT, 0) != 0:
        return False
    shared = all(isinstance(x, Region) and x.buffer.scope == "shared" for x in call.operands[:2])
    return shared and gemm_plan(product_of(call, place), capability(place.arch)).instruction == WGMMA


def _release(ring: Ring, stage: Expr, span: Span | None) -> Stmt:
    """One thread of each warp arrives when all of its threads have used the tiles."""
    arrive = issue("mbarrier.arrive", ring.empty.ptr_to([stage]), span=span)
    first = binary("==", special("threadIdx.x") % WARP, 0)
    return seq(issue("bar.warp.sync", span=span), If(first, arrive, span=span))
