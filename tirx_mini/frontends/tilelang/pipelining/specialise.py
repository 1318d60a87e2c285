"""Warp specialisation: a producer warp performs the TMA copies of pipelined loops, and the program's threads do the
rest.

A stage has two mbarriers (PTX ISA: "mbarrier"). The producer waits for `empty`, and the bytes of its copies complete a
phase of `full`; the consumers wait for `full`, and each warp arrives at `empty` when it has used the tiles.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tirx_mini.hardware import WARP_SIZE, WARPGROUP_SIZE
from tirx_mini.ir import (
    BOOL,
    INT32,
    AllocBuffer,
    Bind,
    Buffer,
    Call,
    Expr,
    For,
    Hint,
    If,
    Mutator,
    Range,
    Region,
    Stmt,
    Var,
    as_expr,
    binary,
    const,
    seq,
    special,
)
from tirx_mini.isa import TABLE, issue
from tirx_mini.passes import Team
from tirx_mini.records import dataclass, replace
from tirx_mini.tile import OPS

from .consumers import CONSUMER_BARRIER, Consumer, product_in
from .loops import PIPELINED, Copy, PipelinedLoop
from .rings import Pipeline, Ring
from .slices import Renamed, slice_of

REGISTERS = {2: (24, 240), 3: (32, 160)}
"""Registers of a thread of the producer and of a consumer, by the number of warpgroups of consumers: together at most
65,536 (PTX ISA: "setmaxnreg")."""


@dataclass(frozen=True)
class _Place:
    """The context in which products are planned, before fragments have registers."""

    arch: str
    team: Team

    def registers(self, buffer: Buffer) -> Buffer:
        raise NotImplementedError


@dataclass(frozen=True)
class Roles:
    """The thread counts of a kernel's roles: the program's threads, followed by the producer's.

    registers: of a thread of the producer and of a consumer (PTX ISA: "setmaxnreg"); None to leave them as they are.
    """

    threads: int
    producer: int
    registers: tuple[int, int] | None

    @classmethod
    def of(cls, threads: int, asked: tuple[int, int] | None, fixed: bool) -> Roles:
        """Choose the roles for a program of `threads` threads.

        asked: the registers that the program asks for. fixed: whether it wants none to be moved.

        More than one warpgroup of consumers has too few registers beside a producer that has as many: then the producer
        is a warpgroup, which gives its registers away.
        """
        groups, rest = divmod(threads, WARPGROUP_SIZE)
        registers = asked or REGISTERS.get(groups)
        if rest or fixed or registers is None:
            return cls(threads, WARP_SIZE, None)
        return cls(threads, WARPGROUP_SIZE, registers)

    @property
    def all(self) -> int:
        return self.threads + self.producer

    def moved(self, producer: bool) -> Stmt | None:
        """Return the setmaxnreg instruction that adjusts a role's register count, or None."""
        if self.registers is None:
            return None
        return issue("setmaxnreg.dec" if producer else "setmaxnreg.inc", count=self.registers[0 if producer else 1])


def specialised(body: Stmt, loops: Sequence[PipelinedLoop], roles: Roles, arch: str) -> Stmt:
    """Split `body` into code for the program's threads and for a producer that performs the copies.

    Raises NoSlice where the copies depend on what the threads compute.
    """
    threads = roles.threads
    pipes = [Pipeline.of(loop, str(i) if len(loops) > 1 else "") for i, loop in enumerate(loops)]
    by_hint = {id(pipe.loop.hint): pipe for pipe in pipes}
    copies = [copy.call for loop in loops for copy in loop.copies]
    sliced = slice_of(body, copies)
    producer = Renamed().stmt(_Producer(pipes).stmt(sliced.body))
    begin = [pipe.producer.begin(parity=1) for pipe in pipes]
    alone = binary("and", binary("==", special("warp_id_in_cta"), threads // WARP_SIZE), _elected())
    elected = If(alone if roles.producer > WARP_SIZE else _elected(), seq(*begin, producer, *map(_last_waits, pipes)))
    team = Team(0, threads, CONSUMER_BARRIER)
    kept = Consumer(by_hint, sliced.scalars, _Place(arch, team))
    begin = [pipe.consumer.begin(parity=0) for pipe in pipes]
    rings = [ring for pipe in pipes for ring in pipe.rings]
    tiles = tuple(tile for ring in rings for tile in ring.tiles.values())
    ordered = (*tiles, *_flying(loops))
    consumer = team.hint(seq(*begin, kept.stmt(body)), ordered)
    copying, computing = seq(roles.moved(True), elected), seq(roles.moved(False), consumer)
    return seq(
        *(AllocBuffer(tile) for tile in tiles),
        *(AllocBuffer(scalar) for scalar in sliced.scalars),
        *kept.barriers,
        *_initialised(rings, threads // WARP_SIZE),
        If(special("warp_id_in_cta") < threads // WARP_SIZE, computing, copying),
    )


def _last_waits(pipe: Pipeline) -> Stmt:
    """Wait for the last commits at the rings of a loop, which may arrive after those that the consumers wait for."""
    at = pipe.producer
    waits = [
        issue("mbarrier.try_wait", ring.empty.ptr_to([at.index]), at.phase[0])
        for ring in pipe.rings
        if ring.group.in_tensor_memory
    ]
    if not waits:
        return seq()
    return For(Var(INT32, "last"), const(0), const(at.stages), seq(*waits, at.advance()))


def _flying(loops: Iterable[PipelinedLoop]) -> Iterator[Buffer]:
    """Yield the results of tensor-memory products that mbarriers order."""
    for call in filter(None, map(product_in, loops)):
        result = call.operands[2]
        if isinstance(result, Region) and result.buffer.scope == "tmem":
            yield result.buffer


def _elected() -> Expr:
    operands, attrs = TABLE["elect.sync"].bind((), {})
    return Call(BOOL, "elect.sync", operands, attrs)


def _initialised(rings: Iterable[Ring], warps: int) -> list[Stmt]:
    """Initialise the mbarriers: one arrival with bytes at a full one, and one arrival per warp at an empty one."""
    counts: list[tuple[Buffer, int]] = []
    for ring in rings:
        counts += [(ring.full, 1), (ring.empty, 1 if ring.group.in_tensor_memory else warps)]
    inits = [issue("mbarrier.init", b.ptr_to([stage]), count) for b, count in counts for stage in range(b.shape[0])]
    return [
        *(AllocBuffer(barrier) for barrier, _ in counts),
        If(special("threadIdx.x") < 1, seq(*inits)),
        issue("fence.mbarrier_init"),
        issue("bar.sync.all", 0),
    ]


class _Producer(Mutator):
    """Rewrites the producer's slice: each copy waits for its stage and fills it."""

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
        fence = issue("fence.proxy.async", "shared::cta", span=stmt.span)  # threads have read what is filled again
        return seq(wait, fence, expect, load)


def loop_statements(loop: For) -> tuple[Stmt, ...]:
    return getattr(loop.body, "stmts", (loop.body,))


def _load(copy: Copy, ring: Ring, stage: Expr) -> Stmt:
    tile = ring.tiles[copy.buffer]
    ranges = (Range(stage, const(1)), *(Range(const(0), as_expr(extent)) for extent in copy.buffer.shape))
    target = Region(tile.dtype, tile, ranges)
    return OPS["copy_async"].build(
        target, copy.source, mbar=ring.full.ptr_to([stage]), dispatch="tma", scope="thread", span=copy.call.span
    )


