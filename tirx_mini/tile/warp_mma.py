"""Warp-level matrix products by mma.sync on register views: D = A @ B, or A @ B + C.

All four are register views. The rule reads off their layouts which lane and which register holds each element, and
compares that with the fragments of the instruction (PTX ISA: "Matrix Fragments for mma.m16n8k16" and "… m16n8k8"):
lane 4g + t holds rows g and g + 8 of A, C and D, and column g of B, each in pairs of neighbours at 2t.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from tirx_mini.fragments import MMA_SYNC, mma_sync, tensor_product
from tirx_mini.hardware import WARP_SIZE
from tirx_mini.ir import FLOAT32, Const, Expr, Stmt, TileCall, seq
from tirx_mini.layout import laneid, m, mma_fragment_layout, tx
from tirx_mini.records import dataclass

from .context import Context
from .region import Tile, tiles_of
from .registers import RegisterTile, register_tile
from .rule import Refusal, Rule

DEPTHS = (16, 8)
"""K of one instruction, the preferred one first; M is 16 and N is 8."""

Block = tuple[int, int]
"""The number of a fragment along the rows and along the columns of a matrix."""


@dataclass(frozen=True)
class Fragments:
    """The mma.sync fragments of a matrix.

    registers: for each warp and block, the registers of a lane in the order of the instruction. Warp None stands for
        each warp, where the layout says nothing about warps.
    """

    tile: RegisterTile
    registers: Mapping[tuple[int | None, Block], tuple[int, ...]]

    def at(self, warp: int | None, block: Block) -> tuple[int, ...]:
        """Return the registers of a block in a warp. Raises Refusal if the warp does not hold it."""
        found = self.registers.get((None, block)) or self.registers.get((warp, block))
        if found is None:
            raise Refusal(f"warp {warp} does not hold the part of {self.tile.tile.buffer.name} that it multiplies")
        return found

    def blocks(self, warp: int | None) -> list[Block]:
        """Return the blocks of a warp, in register order."""
        own = ((regs, block) for (holder, block), regs in self.registers.items() if holder in (None, warp))
        return [block for _, block in sorted(own)]

    def pointers(self, registers: Sequence[int]) -> list[Expr]:
        """Return a pointer to each 32-bit register of a fragment. Raises Refusal if halves lie in different registers.
        """
        step = 32 // self.tile.tile.dtype.bits
        first = registers[::step]
        if step == 2 and any(b != a + 1 or a % 2 for a, b in zip(first, registers[1::2], strict=True)):
            raise Refusal(f"neighbours along K of {self.tile.tile.buffer.name} do not share a 32-bit register")
        return [self.tile.pointer(register) for register in first]


class WarpMma(Rule):
    """Multiplies each warp's blocks of D, one instruction at a time."""

    name = "mma.sync"
    aliases = ("mma.m16n8k*",)
    ops = ("gemm",)
    doc = "matrices in the registers of warps"

    def emit(self, call: TileCall, ctx: Context) -> Stmt:
        matrices = tiles_of(call)
        d, a, b, c = matrices
        if any(not matrix.has_thread_axes for matrix in matrices):
            raise Refusal("all four matrices must be in registers, with layouts that place them in the lanes of warps")
        product = tensor_product(MMA_SYNC, a.dtype, FLOAT32)
        if product is None or a.dtype.bits != 16 or a.dtype != b.dtype or (c.dtype, d.dtype) != (FLOAT32, FLOAT32):
            raise Refusal(
                f"A and B must be float16 or bfloat16, and C and D float32, not {a.dtype}, {b.dtype}, {c.dtype} and "
                f"{d.dtype}"
            )
        split = ctx.split_scope()
        if split:
            raise Refusal(split, "all lanes of a warp must execute it")
        adds = _adds(call)
        steps, depth = _steps(call, ctx, matrices, adds)
        parts = [mma_sync(_flat(each), product, zero=len(each) < 4, depth=depth, span=ctx.span) for each in steps]
        return seq(*parts, span=ctx.span)


def _steps(
    call: TileCall, ctx: Context, matrices: Sequence[Tile], adds: bool
) -> tuple[list[list[list[Expr]]], int]:
    """Return the operands of each instruction, and the instruction's K."""
    refusal: Refusal | None = None
    turned = {name: bool(call.option(f"transpose_{name}", False)) for name in ("A", "B")}
    d, a, b, c = matrices
    k = a.extents[0 if turned["A"] else 1]
    for depth in DEPTHS:
        if k % depth:
            continue
        try:
            sums = _fragments(ctx, d, (16, 8), False)
            start = _fragments(ctx, c, (16, 8), False) if adds else sums
            left = _fragments(ctx, a, (16, depth), turned["A"])
            right = _fragments(ctx, b, (8, depth), not turned["B"])
            return _products(ctx, sums, left, right, start if adds else None, k // depth), depth
        except Refusal as error:
            refusal = refusal or error
    raise refusal or Refusal(f"K is {k}, which is not a multiple of 8")


def _products(
    ctx: Context, d: Fragments, a: Fragments, b: Fragments, c: Fragments | None, count: int
) -> list[list[list[Expr]]]:
    """Return the operands of each instruction. Raises Refusal if warps need different registers."""
    warps = range(ctx.threads // WARP_SIZE) if all(holder is not None for holder, _ in d.registers) else [None]
    plans = []
    for warp in warps:
        plan = []
        for i, j in d.blocks(warp):
            own = d.at(warp, (i, j))
            for k in range(count):
                start = own if k else c.at(warp, (i, j)) if c else ()
                plan.append((own, a.at(warp, (i, k)), b.at(warp, (j, k)), start))
        plans.append(plan)
    if any(plan != plans[0] for plan in plans):
        raise Refusal(f"the warps hold different numbers of blocks of {d.tile.tile.buffer.name}, or in other registers")
    made = []
    for number, (own, left, right, start) in enumerate(plans[0]):
        operands = [d.pointers(own), a.pointers(left), b.pointers(right)]
        if start:
            operands.append((d if number % count else c or d).pointers(start))
        made.append(operands)
    return made


def _fragments(ctx: Context, matrix: Tile, block: Block, turned: bool) -> Fragments:
    """Return the fragments of a matrix, transposed if `turned`. Raises Refusal for another distribution."""
    tile = register_tile(ctx, matrix)
    if ctx.divisor(tile.base) % 2:
        raise Refusal(f"the slice of {matrix.buffer.name} does not begin at a register of 32 bits")
    places = tile.layout.apply(*np.indices(matrix.extents))
    thread, register = (np.broadcast_to(np.asarray(places.get(axis, 0)), matrix.extents) for axis in (tx, m))
    if turned:
        thread, register = thread.T, register.T
    everywhere = tile.threads <= WARP_SIZE < ctx.threads
    height, width = block
    if any(extent % one for extent, one in zip(thread.shape, block, strict=True)):
        raise Refusal(f"the {matrix.describe()} is not a whole number of {height} × {width} fragments")
    found: dict[tuple[int | None, Block], tuple[int, ...]] = {}
    for i in range(thread.shape[0] // height):
        for j in range(thread.shape[1] // width):
            corner = slice(i * height, (i + 1) * height), slice(j * width, (j + 1) * width)
            warp, registers = _fragment(matrix, thread[corner], register[corner])
            found[None if everywhere else warp, (i, j)] = registers
    return Fragments(tile, found)


def _fragment(matrix: Tile, thread: np.ndarray, register: np.ndarray) -> tuple[int, tuple[int, ...]]:
    """Return the warp that holds a block, and its registers in instruction order."""
    warp, registers = int(thread[0, 0]) // WARP_SIZE, []
    for at in _slots(*thread.shape):
        if (thread[at] != warp * WARP_SIZE + np.arange(WARP_SIZE)).any() or (register[at] != register[at][0]).any():
            raise Refusal(
                f"{matrix.buffer.name} is not laid out as mma.sync needs it: lane 4g + t must hold rows g and g + 8, "
                "of B column g, and there the neighbours at 2t and 2t + 1 of each 8"
            )
        registers.append(int(register[at][0]))
    return warp, tuple(registers)


def _slots(height: int, width: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Return the row and column of each register of a fragment, for each lane."""
    rows, columns = np.indices((height, width)).reshape(2, -1)
    places = mma_fragment_layout(height, width).apply(rows, columns)
    order = np.lexsort((places[laneid], places[m])).reshape(-1, WARP_SIZE)
    for slot in order:
        yield rows[slot], columns[slot]


def _adds(call: TileCall) -> bool:
    """Return whether C is added, that is, beta is 1. Raises Refusal for unsupported factors."""
    alpha, beta = (_number(call.option(name, default)) for name, default in (("alpha", 1.0), ("beta", 0.0)))
    if alpha != 1 or beta not in (0, 1):
        raise Refusal(
            f"mma.sync computes A @ B + C, so alpha must be 1 and beta 0 or 1, not {call.option('alpha', 1.0)} and "
            f"{call.option('beta', 0.0)}",
            "multiply the matrices by the factors with Tx.mul",
        )
    return beta == 1


def _number(value: object) -> float | None:
    value = value.value if isinstance(value, Const) else value
    return float(value) if isinstance(value, (int, float)) else None


def _flat(operands: Sequence[Sequence[Expr]]) -> list[Expr]:
    return [pointer for pointers in operands for pointer in pointers]
