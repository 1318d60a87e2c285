"""Warp-level matrix products: fragments loaded by ldmatrix and multiplied by mma.sync."""

from __future__ import annotations

from collections.abc import Callable

from tirx_mini.fragments import MMA_SYNC, STEP_BYTES, mma_sync
from tirx_mini.hardware import WARP_SIZE
from tirx_mini.ir import (
    HANDLE,
    INT32,
    UINT32,
    AddressOf,
    AllocBuffer,
    Buffer,
    BufferLoad,
    BufferStore,
    Const,
    DataType,
    Expr,
    For,
    If,
    Region,
    Stmt,
    Var,
    cast,
    const,
    reinterpret,
    seq,
)
from tirx_mini.records import dataclass

from .code import Operands, element
from .plan import GemmPlan

CHUNK_BYTES = 16
"""A row of an 8 × 8 block of ldmatrix."""


def by_warps(plan: GemmPlan, operands: Operands) -> Stmt:
    """Emit C (+)= A B, where each warp multiplies the rows and columns of its part of C."""
    return _WarpProduct(plan, operands).code()


@dataclass(frozen=True)
class _WarpProduct:
    plan: GemmPlan
    operands: Operands

    def __post_init__(self) -> None:
        assert self.plan.instruction == MMA_SYNC

    @property
    def blocks(self) -> int:
        """The number of 16-row blocks of a warp."""
        return self.plan.own_rows // 16

    @property
    def octets(self) -> int:
        """The number of 8-column blocks of a warp."""
        return self.plan.own_columns // 8

    @property
    def depth(self) -> int:
        """The number of elements along K of one instruction."""
        return STEP_BYTES // self.plan.product.dtype.itemsize

    @property
    def chunk(self) -> int:
        """The number of elements in 16 bytes."""
        return CHUNK_BYTES // self.plan.product.dtype.itemsize

    def code(self) -> Stmt:
        product, span = self.plan.product, self.operands.span
        c, a, b = self.operands.c, self.operands.a, self.operands.b
        assert isinstance(c, Buffer)
        right = Buffer(f"{b.buffer.name}_frag", (self.octets * 2,), DataType("uint32"), "local", span=span)
        step = Var(INT32, "k")
        body: list[Stmt] = [AllocBuffer(right), self._load_b(right, b, step)]
        if isinstance(a, Region):
            left = Buffer(f"{a.buffer.name}_frag", (self.blocks * 4,), DataType("uint32"), "local", span=span)
            body = [AllocBuffer(left), self._load_a(left, a, step), *body]
            fragment: Callable[[Expr], Expr] = lambda m: _at(left, m * 4)  # noqa: E731
        else:
            octets, held = product.k // 8, a
            fragment = lambda m: _at(held, (m * octets + step * 2) * 4)  # noqa: E731
        m, n = Var(INT32, "m"), Var(INT32, "n")
        sums = _at(c, (m * self.octets + n) * 4)
        a_product, b_product = self.plan.products
        mma = mma_sync([sums, fragment(m), _at(right, n * 2), sums], a_product, b_product, span=span)
        body.append(_loop(m, self.blocks, _loop(n, self.octets, mma)))
        return seq(self._cleared(c), _loop(step, product.k // self.depth, seq(*body)), span=span)

    def _cleared(self, c: Buffer) -> Stmt | None:
        """Emit a loop that zeroes C if the product overwrites it."""
        clear = self.operands.clear
        if isinstance(clear, Const) and not clear.value:
            return None
        index = Var(INT32, "i")
        store = BufferStore(c, (index,), const(0, c.dtype), span=self.operands.span)
        zero = For(index, const(0), const(c.size), store, parallel=True, unroll=True)
        return zero if isinstance(clear, Const) else If(clear, zero)

    def _load_a(self, fragment: Buffer, a: Region, step: Expr) -> Stmt:
        """Load A in blocks of 16 rows and 32 bytes of K, ordered by halves of K and then by groups of 8 rows."""
        product, lane = self.plan.product, self.operands.lane
        warp = self.operands.thread // WARP_SIZE
        row = (warp % self.plan.along_m if self.plan.along_n > 1 else warp) * self.plan.own_rows
        m = Var(INT32, "m")
        if not product.transpose_a:
            address = element(a, row + m * 16 + lane % 16, step * self.depth + lane // 16 * self.chunk)
            return _loop(m, self.blocks, self._ldmatrix(fragment, m * 4, address, 4, False))
        if product.dtype.bits == 16:
            address = element(a, step * self.depth + lane // 16 * 8 + lane % 8, row + m * 16 + lane // 8 % 2 * 8)
            return _loop(m, self.blocks, self._ldmatrix(fragment, m * 4, address, 4, True))
        return self._words(
            fragment, a, self.blocks, 4,
            lambda block, r: (row + block * 16 + r % 2 * 8 + lane // 4, step * self.depth + r // 2 * self.chunk),
        )  # fmt: skip

    def _load_b(self, fragment: Buffer, b: Region, step: Expr) -> Stmt:
        """Load B in blocks of 8 columns and 32 bytes of K, two blocks at once where possible."""
        product, lane = self.plan.product, self.operands.lane
        column = self.operands.thread // WARP_SIZE // self.plan.along_m * self.plan.own_columns
        if not product.transpose_b and product.dtype.bits != 16:
            return self._words(
                fragment, b, self.octets, 2,
                lambda octet, r: (column + octet * 8 + lane // 4, step * self.depth + r * self.chunk),
            )  # fmt: skip
        n = Var(INT32, "n")

        def load(first: Expr | int, num: int) -> Stmt:
            near = column + first * 8 + (lane // 16 * 8 if num == 4 else 0)
            along = step * self.depth + lane // 8 % 2 * self.chunk
            if product.transpose_b:
                return self._ldmatrix(fragment, first * 2, element(b, near + lane % 8, along), num, False)
            return self._ldmatrix(fragment, first * 2, element(b, along + lane % 8, near), num, True)

        pairs = _loop(n, self.octets // 2, load(n * 2, 4)) if self.octets > 1 else None
        return seq(pairs, load(const(self.octets - 1), 2) if self.octets % 2 else None)

    def _ldmatrix(self, fragment: Buffer, first: Expr | int, address: Expr, num: int, transpose: bool) -> Stmt:
        return self.operands.issue("ldmatrix", _at(fragment, first), address, num=num, transpose=transpose)

    def _words(
        self, fragment: Buffer, matrix: Region, blocks: int, registers: int,
        place: Callable[[Expr, Expr], tuple[Expr, Expr]],
    ) -> Stmt:  # fmt: skip
        """Load a fragment element by element from a matrix contiguous along M or N; ldmatrix transposes only 16 bits.

        place: the row (M or N) and K of register `r` of a block, in lane 0 of four that share the row.
        """
        dtype, span = matrix.buffer.dtype, self.operands.span
        block, r = Var(INT32, "n"), Var(INT32, "r")
        row, along = place(block, r)
        count = 32 // dtype.bits
        word: Expr | None = None
        for number in range(count):
            source = element(matrix, along + self.operands.lane % 4 * count + number, row)
            assert isinstance(source, AddressOf)
            value = BufferLoad(dtype, matrix.buffer, source.indices, span=span)
            bits = cast(UINT32, reinterpret(DataType(f"uint{dtype.bits}"), value)) << number * dtype.bits
            word = bits if word is None else word | bits
        assert word is not None
        store = BufferStore(fragment, (block * registers + r,), word, span=span)
        return _loop(block, blocks, _loop(r, registers, store))


def _at(registers: Buffer, index: Expr | int) -> Expr:
    return AddressOf(HANDLE, registers, (const(index) if isinstance(index, int) else index,))


def _loop(var: Var, count: int, body: Stmt) -> Stmt:
    """Return a loop that CUDA's compiler unrolls, so that fragments stay in registers."""
    return For(var, const(0), const(count), body, unroll=True, span=body.span)
