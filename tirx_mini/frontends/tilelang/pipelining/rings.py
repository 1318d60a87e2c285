"""Ring buffers of pipelined loops: one tile and one pair of mbarriers per stage (PTX ISA: "mbarrier").

The producer waits for `empty`, and the bytes of its copies complete a phase of `full`; the consumers wait for `full`,
and arrive at `empty` when they have used the tiles.
"""

from __future__ import annotations

from tirx_mini.ir import AllocBuffer, Buffer, BufferStore, DataType, Expr, If, Stmt, binary, const, scalar, seq
from tirx_mini.records import dataclass

from .loops import Group, PipelinedLoop
from .stages import staged


@dataclass(frozen=True)
class Ring:
    """The tiles and mbarriers of a copy group, one of each per stage.

    tiles: by the buffer of the program.
    """

    group: Group
    tiles: dict[Buffer, Buffer]
    full: Buffer
    empty: Buffer


@dataclass(frozen=True)
class Position:
    """The current stage of a role, and the phase parity that it waits for next."""

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
    """A pipelined loop with its rings and the positions of both roles."""

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
