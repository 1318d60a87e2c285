"""Code generation for matrix products: the instructions that the threads of a role execute."""

from __future__ import annotations

from tirx_mini.hardware import TMEM_LANES, WARP_SIZE, WARPGROUP_SIZE
from tirx_mini.ir import (
    HANDLE,
    AddressOf,
    Buffer,
    Expr,
    Range,
    Region,
    Span,
    Stmt,
    as_expr,
    int_value,
    seq,
    special,
    unary,
)
from tirx_mini.isa import issue
from tirx_mini.layout import wgmma_accumulator_layout
from tirx_mini.records import dataclass, replace
from tirx_mini.tile import OPS

from .plan import TCGEN05, WGMMA, WGMMA_ROWS, GemmPlan


@dataclass(frozen=True)
class Operands:
    """The operands of a matrix product.

    c: the registers of a thread that hold C, in their order; or C in tensor memory.
    a: a matrix in shared or tensor memory, or the registers that hold it.
    b: a matrix in shared memory.
    clear: whether the product overwrites C.
    first: the first thread of the role.
    """

    c: Buffer | Region
    a: Buffer | Region
    b: Region
    clear: Expr
    first: int = 0
    span: Span | None = None

    @property
    def thread(self) -> Expr:
        """The index of the executing thread, relative to the first thread of the role."""
        return special("threadIdx.x") - self.first if self.first else special("threadIdx.x")

    @property
    def lane(self) -> Expr:
        return special("threadIdx.x") % WARP_SIZE

    def issue(self, name: str, *args: object, **modifiers: object) -> Stmt:
        """Emit instruction `name` for its side effects."""
        return issue(name, *args, span=self.span, **modifiers)


def part(region: Region, *boxes: tuple[Expr | int, int]) -> Region:
    """Return a submatrix given by (start, extent) in each of the last dimensions, relative to the matrix."""
    kept = region.ranges[: len(region.ranges) - len(boxes)]
    within = zip(region.ranges[len(kept) :], boxes, strict=True)
    ranges = tuple(Range(whole.start + start, as_expr(extent)) for whole, (start, extent) in within)
    return replace(region, ranges=(*kept, *ranges))


def element(region: Region, row: Expr, column: Expr) -> Expr:
    """Return the address of a matrix element."""
    *outer, rows, columns = region.ranges
    indices = (*(r.start for r in outer), rows.start + row, columns.start + column)
    return AddressOf(HANDLE, region.buffer, indices, span=region.span)


def wgmma(plan: GemmPlan, operands: Operands) -> Stmt:
    """Issue a product as one group of wgmma.mma_async, to be completed by `wgmma.wait_group`.

    Each warpgroup multiplies the rows and columns that it holds of C.
    """
    product, c = plan.product, operands.c
    assert plan.instruction == WGMMA and isinstance(c, Buffer)
    group = operands.thread // WARPGROUP_SIZE
    row_group = group % plan.along_m if plan.along_n > 1 else group
    column_group = group // plan.along_m
    rows, columns = plan.own_rows, plan.own_columns
    start = column_group * columns if plan.along_n > 1 else 0
    b = part(operands.b, *_turned((0, product.k), (start, columns), product.transpose_b))
    sums = _tile(c, rows, columns)
    mmas: list[Stmt] = []
    for block in range(rows // WGMMA_ROWS):
        own = (block * WGMMA_ROWS, WGMMA_ROWS)
        if isinstance(operands.a, Buffer):
            a = part(_tile(operands.a, rows, product.k).region(), own, (0, product.k))
        else:
            first = row_group * rows + own[0] if plan.along_m > 1 else own[0]
            a = part(operands.a, *_turned((first, WGMMA_ROWS), (0, product.k), product.transpose_a))
        mmas.append(
            OPS["gemm_async"].build(
                part(sums.region(), own, (0, columns)), a, b, transA=product.transpose_a,
                transB=not product.transpose_b, accum=_adds(operands.clear), dispatch="wgmma", scope="warpgroup",
                span=operands.span,
            )
        )  # fmt: skip
    return seq(operands.issue("wgmma.fence"), *mmas, operands.issue("wgmma.commit_group"), span=operands.span)


def tcgen05(plan: GemmPlan, operands: Operands, cta_group: int = 1) -> Stmt:
    """Issue a product with C in tensor memory from one thread; `tcgen05.commit` signals its completion.

    C has blocks of 128 rows, each in columns of its own.
    """
    product, c = plan.product, operands.c
    assert plan.instruction == TCGEN05 and isinstance(c, Region)
    rows = min(product.m, TMEM_LANES)
    b_columns = product.n // cta_group
    mmas: list[Stmt] = []
    for block in range(product.m // rows):
        a = operands.a
        assert isinstance(a, Region)
        if a.buffer.scope == "shared":
            a = part(a, *_turned((block * rows, rows), (0, product.k), product.transpose_a))
        b = part(operands.b, *_turned((0, product.k), (0, b_columns), product.transpose_b))
        mmas.append(
            OPS["gemm_async"].build(
                part(c, (block * rows, rows), (0, product.n)), a, b, transA=product.transpose_a,
                transB=not product.transpose_b, accum=_adds(operands.clear), dispatch="tcgen05", cta_group=cta_group,
                scope="thread", span=operands.span,
            )
        )  # fmt: skip
    return seq(*mmas, span=operands.span)


def _turned(first: tuple[Expr | int, int], second: tuple[Expr | int, int], on: bool) -> list[tuple[Expr | int, int]]:
    return [second, first] if on else [first, second]


def _adds(clear: Expr) -> Expr | bool:
    known = int_value(clear)
    return unary("not", clear) if known is None else not known


def _tile(registers: Buffer, rows: int, columns: int) -> Buffer:
    """Return the registers viewed as a warpgroup's tile."""
    layout = wgmma_accumulator_layout(columns, rows) if columns <= 256 else None
    return Buffer(f"{registers.name}_tile", (rows, columns), registers.dtype, "local", layout, registers)
