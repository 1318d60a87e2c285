"""Tensor memory: allocation, the mbarriers of its products, and copies to and from fragments.

PlanTensorMemory gives each buffer of T.alloc_tmem its columns. One warp allocates all columns when the kernel begins
and frees them when all warps are done (PTX ISA: "tcgen05.alloc", "tcgen05.dealloc").
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from tirx_mini.hardware import TMEM_ALLOCATIONS, TMEM_COLUMNS, TMEM_LANES, WARPGROUP_SIZE
from tirx_mini.ir import (
    UINT64,
    AllocBuffer,
    Buffer,
    BufferLoad,
    BufferStore,
    DataType,
    DeclBuffer,
    Expr,
    Hint,
    If,
    Mutator,
    PrimFunc,
    Region,
    Scope,
    Stmt,
    TileCall,
    TirxError,
    binary,
    const,
    scalar,
    seq,
    special,
)
from tirx_mini.isa import issue
from tirx_mini.layout import Layout, S, TCol, TileLayout, TLane, tid_in_wg
from tirx_mini.passes import TEAM_HINT, ordered_by_mbarriers, team_of
from tirx_mini.records import dataclass, replace
from tirx_mini.tile import OPS

from .gemm import GEMM, NEVER, PHASE, TCGEN05_DRAIN, WG_WAIT, Place, part, tmem_fragment
from .tma import COPY, address_of, shared_layout, tma_store


def plan_tensor_memory(func: PrimFunc, arch: str) -> PrimFunc:
    """Allocate columns for tensor-memory buffers, and an mbarrier for each T.gemm without one.

    Raises TirxError if the buffers need more columns than tensor memory has.
    """
    plan = _Plan()
    for node in func.nodes:
        if isinstance(node, AllocBuffer) and node.buffer.scope == "tmem":
            plan.place(node.buffer)
    if not plan.buffers:
        return func
    return plan.func(func)


def _layout(shape: tuple[int, ...]) -> TileLayout:
    """Return the layout with rows in lanes and columns side by side: of the 128-row blocks, then of outer dimensions.
    """
    *outer, rows, columns = shape
    blocks = max(1, rows // TMEM_LANES)
    steps, step = [], columns * blocks
    for extent in reversed(outer):
        steps.append(step @ TCol)
        step *= extent
    dims = (*outer, (blocks, min(rows, TMEM_LANES)), columns)
    return TileLayout(S[dims : (*reversed(steps), (columns @ TCol, 1 @ TLane), 1 @ TCol)])


def _address() -> Buffer:
    """Return the shared-memory word that receives the address from tcgen05.alloc."""
    return Buffer("tmem_address", (1,), DataType("uint32"), "shared", align=16)


@dataclass
class _Plan(Mutator):
    """Plans the columns of tensor memory.

    buffers: the buffers with layouts and addresses. columns: the number in use.
    phases: the parity for which the next product waits, by mbarrier. own: the mbarrier of products that name none.
    """

    buffers: dict[Buffer, Buffer] = field(default_factory=dict)
    columns: int = 0
    phases: dict[Buffer, Buffer] = field(default_factory=dict)
    own: Buffer | None = None
    address: Buffer = field(default_factory=_address)

    def place(self, buffer: Buffer) -> None:
        *outer, rows, columns = buffer.shape
        if rows % TMEM_LANES:
            raise TirxError(
                f"{buffer.name} has {rows} rows, but products in tensor memory have a multiple of {TMEM_LANES}",
                buffer.span,
                "use a tile of 128 rows, or accumulate in a fragment",
            )
        word = self.address[0]
        first = binary("+", word, const(self.columns, word.dtype)) if self.columns else word
        self.buffers[buffer] = replace(buffer, layout=_layout(buffer.shape), allocated_addr=first)
        self.columns += math.prod(outer) * rows // TMEM_LANES * -(-columns * buffer.dtype.bits // 32)
        if self.columns > TMEM_COLUMNS:
            raise TirxError(
                f"the buffers of T.alloc_tmem need {self.columns} columns, but tensor memory has {TMEM_COLUMNS}",
                buffer.span,
                "make the tiles smaller",
            )

    def buffer(self, buffer: Buffer) -> Buffer:
        return self.buffers.get(buffer, buffer)

    def visit_AllocBuffer(self, node: AllocBuffer) -> Stmt:
        return seq() if node.buffer in self.buffers else node

    def visit_TileCall(self, node: TileCall) -> Stmt:
        call = self.rebuild(node)
        target = call.operands[2] if call.op in (GEMM, TCGEN05_DRAIN) else None
        in_flight = call.op == GEMM and call.option(WG_WAIT, 0) == NEVER
        if in_flight or not (isinstance(target, Region) and target.buffer.scope == "tmem"):
            return call
        operands = call.operands if len(call.operands) > 3 else (*call.operands, self._own_barrier())
        barrier = operands[3]
        assert isinstance(barrier, BufferLoad)
        phase = self.phases.setdefault(barrier.buffer, scalar(f"{barrier.buffer.name}_parity", "int32"))
        return replace(call, operands=operands, options=(*call.options, (PHASE, phase[0])))

    def visit_Hint(self, node: Hint) -> Stmt:
        hint = self.rebuild(node)
        if hint.message != TEAM_HINT or hint.body is None:
            return hint
        return team_of(hint).hint(hint.body, self.field(ordered_by_mbarriers(hint)))

    def _own_barrier(self) -> Expr:
        if self.own is None:
            self.own = Buffer("mma_done", (1,), UINT64, "shared", align=8)
        return self.own[0]

    def visit_Scope(self, node: Scope) -> Stmt:
        if node.kind != "thread":
            return self.rebuild(node)
        body = self.stmt(node.body)
        return replace(node, body=seq(*self._prologue(), body, *self._epilogue(), span=node.span))

    def _prologue(self) -> list[Stmt]:
        count = next(size for size in TMEM_ALLOCATIONS if size >= self.columns)
        first_warp = special("threadIdx.x") < 32
        own: list[Stmt] = []
        inits: list[Stmt] = []
        if self.own:
            own = [AllocBuffer(self.own)]
            inits = [If(special("threadIdx.x") < 1, issue("mbarrier.init", self.own.ptr_to([0]), 1))]
        zero = const(0)
        phases = [stmt for p in self.phases.values() for stmt in (AllocBuffer(p), BufferStore(p, (zero,), zero))]
        return [
            AllocBuffer(self.address),
            *own,
            *phases,
            If(first_warp, issue("tcgen05.alloc", self.address.ptr_to([0]), n_cols=count, cta_group=1)),
            *inits,
            issue("fence.proxy.async", "shared::cta"),
            issue("fence.mbarrier_init"),
            issue("bar.sync.all", 0),
            *(DeclBuffer(buffer) for buffer in self.buffers.values()),
        ]

    def _epilogue(self) -> list[Stmt]:
        count = next(size for size in TMEM_ALLOCATIONS if size >= self.columns)
        freed = seq(
            issue("tcgen05.relinquish_alloc_permit", cta_group=1),
            issue("tcgen05.dealloc", self.address[0], n_cols=count, cta_group=1),
        )
        fence = issue("tcgen05.fence.before_thread_sync")
        return [fence, issue("bar.sync.all", 0), If(special("threadIdx.x") < 32, freed)]


def is_tmem_copy(call: TileCall) -> bool:
    """Return whether a T.copy moves data between tensor memory and a fragment."""
    return any(isinstance(operand, Region) and operand.buffer.scope == "tmem" for operand in call.operands[:2])


def _sides(call: TileCall) -> tuple[Region, Region]:
    """Return the tensor-memory region and the fragment of a copy. Raises TirxError for unsupported operands."""
    source, target = call.operands[:2]
    assert isinstance(source, Region) and isinstance(target, Region)
    tmem, registers = (source, target) if source.buffer.scope == "tmem" else (target, source)
    if registers.buffer.scope != "fragment" or registers.buffer.dtype != tmem.buffer.dtype:
        raise TirxError(
            f"T.copy between {tmem.buffer.name}, in tensor memory, and {registers.buffer.name} is not provided",
            call.span,
            f"copy to or from a fragment of {tmem.buffer.dtype}",
        )
    if registers.extents[-2:] != registers.buffer.shape[-2:] or tmem.extents[-2:] != registers.extents[-2:]:
        raise TirxError(
            f"T.copy of {list(tmem.extents)} elements of {tmem.buffer.name} needs a whole fragment of that shape",
            call.span,
        )
    return tmem, registers


def tmem_copy_layouts(call: TileCall, place: Place) -> Mapping[Buffer, Layout]:
    """Return the fragment layout required by a copy to or from tensor memory."""
    tmem, registers = _sides(call)
    rows, columns = tmem.extents[-2:]
    if place.team.count % WARPGROUP_SIZE or columns % (place.team.count // WARPGROUP_SIZE):
        raise TirxError(
            f"{place.team.count} threads cannot share {rows} × {columns} elements of tensor memory",
            call.span,
            "whole warpgroups copy tensor memory, and share its columns",
        )
    return {registers.buffer: tmem_fragment(rows, columns, place.team.count)}


def tmem_copy(call: TileCall, place: Place) -> Stmt:
    """Emit a copy between tensor memory and a fragment; each warpgroup of the team moves some of the columns."""
    tmem, registers = _sides(call)
    rows, columns = tmem.extents[-2:]
    groups, blocks = place.team.count // WARPGROUP_SIZE, max(1, rows // TMEM_LANES)
    own = columns // groups
    group = (special("threadIdx.x") - place.team.first) // WARPGROUP_SIZE
    start = group * own if groups > 1 else const(0)
    held = place.registers(registers.buffer)
    layout = TileLayout(S[(TMEM_LANES, blocks * own) : (1 @ tid_in_wg, 1)])
    tile = Buffer(f"{held.name}_rows", (TMEM_LANES, blocks * own), held.dtype, "local", layout, held)
    moves: list[Stmt] = []
    for block in range(blocks):
        near = tile[:, block * own : (block + 1) * own]
        far = part(tmem, (block * TMEM_LANES, TMEM_LANES), (start, own))
        pair = (near, far) if tmem is call.operands[0] else (far, near)
        moves.append(OPS["copy"].build(*pair, scope="warpgroup", span=call.span))
    after = issue("tcgen05.fence.after_thread_sync", span=call.span)
    return seq(after, *moves, issue("tcgen05.fence.before_thread_sync", span=call.span), span=call.span)


class CopyRule:
    """Lowers the copies that are not parallel loops: tensor-memory copies and TMA stores."""

    def layouts(self, call: TileCall, place: Place) -> Mapping[Buffer, Layout]:
        if is_tmem_copy(call):
            return tmem_copy_layouts(call, place)
        source = call.operands[0]
        assert isinstance(source, Region)
        shape = source.buffer.root.shape
        if len(shape) < 2 or shape[-2] % 8:  # no whole atom of a swizzle
            return {}
        return {source.buffer.root: shared_layout(source.buffer.root)}

    def lower(self, call: TileCall, place: Place) -> Stmt:
        return tmem_copy(call, place) if is_tmem_copy(call) else tma_store(call, place)


RULES: Mapping[str, Any] = {COPY: CopyRule()}

__all__ = ["RULES", "address_of", "is_tmem_copy", "plan_tensor_memory", "tmem_copy", "tmem_copy_layouts"]
