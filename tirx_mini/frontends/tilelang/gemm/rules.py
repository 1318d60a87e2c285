"""Lowering rules for matrix products: T.gemm, T.wgmma_gemm and T.tcgen05_gemm."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from tirx_mini.ir import (
    HANDLE,
    AddressOf,
    Buffer,
    BufferLoad,
    BufferStore,
    Expr,
    If,
    Region,
    Stmt,
    TileCall,
    TirxError,
    as_bool,
    binary,
    int_value,
    seq,
    special,
)
from tirx_mini.layout import Layout, tma_shared_layout

from .code import Operands, tcgen05, wgmma
from .plan import TCGEN05, WGMMA, GemmPlan, GemmWarpPolicy, Product, gemm_plan, operand_swizzle
from .warp_code import by_warps

GEMM, WGMMA_GEMM, TCGEN05_GEMM = "tl.gemm", "tl.wgmma_gemm", "tl.tcgen05_gemm"
TCGEN05_DRAIN = "tl.tcgen05_drain"
"""The wait for products in tensor memory that T.gemm has begun in a pipelined loop."""
WG_WAIT, NEVER = "wg_wait", -1
"""The option that says how many groups of products may be in flight afterwards, and its value for no wait."""
PHASE = "phase"
"""The option of a product in tensor memory that names the parity of its mbarrier, a variable of each thread."""


class Team(Protocol):
    """The threads that execute a statement: `count` threads starting at `first`."""

    @property
    def first(self) -> int: ...
    @property
    def count(self) -> int: ...


class Place(Protocol):
    """The context in which a tile operation is lowered."""

    @property
    def arch(self) -> str: ...
    @property
    def team(self) -> Team: ...
    def registers(self, buffer: Buffer) -> Buffer: ...


def capability(arch: str) -> int:
    """Return the compute capability of an architecture: 90 for "sm_90a"."""
    return int("".join(c for c in arch if c.isdigit()))


def matrix(call: TileCall, name: str, operand: Expr) -> Region:
    """Return an operand as a matrix: a region whose outer dimensions have extent 1."""
    if not isinstance(operand, Region) or len(operand.ranges) < 2:
        raise TirxError(f"{name} of T.gemm must be a buffer of two dimensions, or a part of one", call.span)
    if any(extent != 1 for extent in operand.extents[:-2]):
        raise TirxError(
            f"{name} of T.gemm, {operand!r}, has more than two dimensions",
            call.span,
            "index the first ones, as in A[stage, :, :]",
        )
    return operand


def product_of(call: TileCall, place: Place) -> Product:
    """Return the product that a call computes. Raises TirxError for mismatched shapes or unsupported memories."""
    a, b, c = (matrix(call, name, operand) for name, operand in zip("ABC", call.operands, strict=False))
    turned_a, turned_b = (bool(call.option(name, False)) for name in ("transpose_A", "transpose_B"))
    (m, k), (kb, n) = a.extents[-2:][:: -1 if turned_a else 1], b.extents[-2:][:: -1 if turned_b else 1]
    if call.option("use_2cta", False):
        n *= 2
    if c.extents[-2:] != (m, n) or k != kb:
        raise TirxError(
            f"T.gemm multiplies {m} × {k} by {kb} × {n}, but C is {c.extents[-2]} × {c.extents[-1]}",
            call.span,
            "transpose_A=True takes A as K × M, and transpose_B=True takes B as N × K",
        )
    if b.buffer.scope != "shared":
        raise TirxError(f"T.gemm: B, {b.buffer.name}, must be in shared memory", call.span, "copy it there first")
    if a.buffer.scope not in ("shared", "fragment", "tmem") or c.buffer.scope not in ("fragment", "tmem"):
        raise TirxError(
            f"T.gemm: A is in {a.buffer.scope} memory and C in {c.buffer.scope} memory",
            call.span,
            "A may be shared, a fragment or in tensor memory, and C a fragment or in tensor memory",
        )
    policy: Any = call.option("policy", 0) or 0
    return Product(
        m, n, k, a.buffer.dtype, b.buffer.dtype, c.buffer.dtype, a.buffer.scope, c.buffer.scope, turned_a, turned_b,
        GemmWarpPolicy(int(policy)), place.team.count, call.span,
    )  # fmt: skip


class GemmRule:
    """Lowers a product of tiles. Only T.gemm waits for its completion."""

    def plan(self, call: TileCall, place: Place) -> GemmPlan:
        wanted = {WGMMA_GEMM: WGMMA, TCGEN05_GEMM: TCGEN05}.get(call.op)
        return gemm_plan(product_of(call, place), capability(place.arch), wanted)

    def layouts(self, call: TileCall, place: Place) -> Mapping[Buffer, Layout]:
        """Return the required layouts of fragments and of matrices in shared memory."""
        plan = self.plan(call, place)
        a, b, c = (matrix(call, name, operand) for name, operand in zip("ABC", call.operands, strict=False))
        found: dict[Buffer, Layout] = {}
        if a.buffer.scope == "shared":
            found[a.buffer.root] = shared_layout(a.buffer.root)
        apart = plan.instruction == WGMMA and not plan.product.transpose_b  # each warpgroup begins at a whole atom
        found[b.buffer.root] = shared_layout(b.buffer.root, plan.own_columns if apart else None)
        for name, operand, layout in (("A", a, plan.a), ("C", c, plan.c)):
            if layout is None:
                continue
            if operand.extents[-2:] != operand.buffer.shape:
                raise TirxError(f"T.gemm: {name} must be all of the fragment {operand.buffer.name}", call.span)
            found[operand.buffer] = layout
        return found

    def lower(self, call: TileCall, place: Place) -> Stmt:
        plan = self.plan(call, place)
        a, b, c = (matrix(call, name, operand) for name, operand in zip("ABC", call.operands, strict=False))
        operands = Operands(
            place.registers(c.buffer) if c.buffer.scope == "fragment" else c,
            place.registers(a.buffer) if a.buffer.scope == "fragment" else a,
            b, as_bool(call.option("clear_accum", False)), place.team.first, call.span,
        )  # fmt: skip
        if plan.instruction == TCGEN05:
            return _in_tensor_memory(call, plan, operands)
        if plan.instruction != WGMMA:
            return by_warps(plan, operands)
        wait = int_value(call.option(WG_WAIT, NEVER if call.op == WGMMA_GEMM else 0))
        waited = None if wait is None or wait < 0 else operands.issue("wgmma.wait_group", n=wait)
        return seq(wgmma(plan, operands), waited, span=call.span)


def _in_tensor_memory(call: TileCall, plan: GemmPlan, operands: Operands) -> Stmt:
    """Issue the MMAs and their commit from the first thread of the role; T.gemm also waits for the mbarrier."""
    group = 2 if call.option("use_2cta", False) else 1
    flies = call.op == GEMM and int_value(call.option(WG_WAIT, 0)) == NEVER
    barrier = None if flies else barrier_of(call)
    commit = operands.issue("tcgen05.commit", barrier, cta_group=group) if barrier is not None else None
    begin = seq(operands.issue("tcgen05.fence.after_thread_sync"), tcgen05(plan, operands, group), commit)
    issued = If(binary("==", special("threadIdx.x"), operands.first), begin, span=call.span)
    return issued if flies or call.op == TCGEN05_GEMM else seq(issued, _arrived(call, operands), span=call.span)


def _arrived(call: TileCall, operands: Operands) -> Stmt:
    """Return the wait for a product's mbarrier."""
    barrier, phase = barrier_of(call), call.option(PHASE)
    assert isinstance(phase, BufferLoad) and barrier is not None
    flip = BufferStore(phase.buffer, phase.indices, phase ^ 1)
    wait = operands.issue("mbarrier.try_wait", barrier, phase)
    return seq(wait, flip, operands.issue("tcgen05.fence.after_thread_sync"), span=call.span)


class DrainRule:
    """Waits until all products issued by the first thread of the role to tensor memory are complete."""

    def layouts(self, call: TileCall, place: Place) -> Mapping[Buffer, Layout]:
        return {}

    def lower(self, call: TileCall, place: Place) -> Stmt:
        a, b, c = (matrix(call, name, operand) for name, operand in zip("ABC", call.operands, strict=False))
        operands = Operands(c, a, b, as_bool(False), place.team.first, call.span)
        commit = operands.issue("tcgen05.commit", barrier_of(call), cta_group=1)
        first = binary("==", special("threadIdx.x"), place.team.first)
        return seq(If(first, commit, span=call.span), _arrived(call, operands), span=call.span)


def barrier_of(call: TileCall) -> Expr | None:
    """Return the address of the mbarrier at which a product arrives."""
    given = call.operands[3] if len(call.operands) > 3 else None
    return AddressOf(HANDLE, given.buffer, given.indices, span=call.span) if isinstance(given, BufferLoad) else given


def shared_layout(buffer: Buffer, columns: int | None = None) -> Layout:
    """Return the shared-memory layout of a matrix that TMA writes and tensor cores read.

    columns: how many neighbouring columns a warpgroup reads; by default all.
    """
    mode = operand_swizzle(columns or buffer.shape[-1], buffer.dtype)
    return tma_shared_layout(str(buffer.dtype), mode, buffer.shape)


PRODUCTS = (GEMM, WGMMA_GEMM, TCGEN05_GEMM)
RULES: Mapping[str, Any] = {**dict.fromkeys(PRODUCTS, GemmRule()), TCGEN05_DRAIN: DrainRule()}
