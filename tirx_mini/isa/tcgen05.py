"""tcgen05: the tensor cores of Blackwell and their memory.

Tensor memory has 128 lanes × 512 columns of 32 bits; an address is lane << 16 | column. One thread issues MMAs; they
read shared memory through descriptors, accumulate in tensor memory, and a commit signals their end. Warps move tensor
memory to registers and back; warp w of a warpgroup reaches lanes 32w to 32w + 31 only.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Literal, TypeVar

import numpy as np

from tirx_mini.records import replace

from .core import instruction
from .descriptors import A_IN_TMEM, PTX_TYPES, START_BITS, InstructionDescriptor, SmemDescriptor, mma_format
from .facts import BarrierEffect, Completion, Memory, Scope
from .machine import Blocking, Machine, Thread
from .operands import (
    InstructionWord,
    MbarrierAddress,
    Registers,
    SharedAddress,
    SourceRegisters,
    Tcgen05Descriptor,
    TmemAddress,
    pred,
    u32,
)
from .tma import multicasts

MASK16 = """{
    .reg .b16 mask;
    mov.b16 mask, %s;
    %s
}"""
"""The wrapper for an instruction with `mask`, the CTAs of a multicast, which PTX takes in a register."""


@instruction(
    "tcgen05.alloc.cta_group::{cta_group}.sync.aligned.shared::cta.b32 [{dst}], {n_cols};",
    name="tcgen05.alloc",
    issued_by=Scope.WARP,
    min_sm=100,
    max_sm=110,
    cost="alloc",
    writes=Memory.SHARED,
    awaits="tcgen05.alloc",
)
def tcgen05_alloc(
    gpu: Machine, thread: Thread, dst: SharedAddress, n_cols: u32, *, cta_group: Literal[1, 2] = 1
) -> Blocking:
    """Allocate `n_cols` columns (32, 64, … 512) as one warp, after waiting for free ones; write their address to `dst`.

    With cta_group = 2, a warp in each CTA of the pair must execute it.
    """
    address = yield from gpu.tmem_alloc(thread, thread.uniform(n_cols, "the number of columns"), cta_group)
    gpu.write_shared(thread, thread.uniform(dst, "the destination"), address)


@instruction(
    "tcgen05.dealloc.cta_group::{cta_group}.sync.aligned.b32 {addr}, {n_cols};",
    name="tcgen05.dealloc",
    issued_by=Scope.WARP,
    min_sm=100,
    max_sm=110,
    cost="alloc",
)
def tcgen05_dealloc(
    gpu: Machine, thread: Thread, addr: TmemAddress, n_cols: u32, *, cta_group: Literal[1, 2] = 1
) -> None:
    """Free an allocation as one warp, given its address and number of columns, before the CTA ends."""
    gpu.tmem_dealloc(
        thread, thread.uniform(addr, "the address"), thread.uniform(n_cols, "the number of columns"), cta_group
    )


@instruction(
    "tcgen05.relinquish_alloc_permit.cta_group::{cta_group}.sync.aligned;",
    name="tcgen05.relinquish_alloc_permit",
    issued_by=Scope.WARP,
    min_sm=100,
    max_sm=110,
    cost="sync",
)
def tcgen05_relinquish_alloc_permit(gpu: Machine, thread: Thread, *, cta_group: Literal[1, 2] = 1) -> None:
    """Give up the CTA's permit to allocate, so that other CTAs on the SM may allocate."""
    gpu.tmem_relinquish(thread, cta_group)


@instruction(
    "tcgen05.mma.cta_group::{cta_group}.kind::{kind} [{d}], {a_desc}, {b_desc}, {idesc}, {accumulate};",
    name="tcgen05.mma",
    issued_by=Scope.THREAD,
    min_sm=100,
    max_sm=110,
    only_on={("kind", "i8"): (100, 110)},
    cost="mma",
    reads=Memory.SHARED | Memory.TENSOR,
    writes=Memory.TENSOR,
    completion=Completion.COMMIT,
)
def tcgen05_mma(
    gpu: Machine,
    thread: Thread,
    d: TmemAddress,
    a_desc: Tcgen05Descriptor,
    b_desc: Tcgen05Descriptor,
    idesc: InstructionWord,
    accumulate: pred,
    *,
    cta_group: Literal[1, 2] = 1,
    kind: Literal["f16", "tf32", "f8f6f4", "i8"] = "f16",
) -> None:
    """Issue D = A Bᵀ (+ D if `accumulate`) from one thread: A [M, K], B [N, K] in shared memory, D in tensor memory.

    The MMA is asynchronous; a commit signals its end. With cta_group = 2, each CTA of the pair holds half of the rows
    of A, B and D.
    """
    a, start_a = smem_operand(thread, "A", a_desc)
    b, start_b = smem_operand(thread, "B", b_desc)
    shape = decoded(thread, "the instruction", InstructionDescriptor.decode, idesc, kind, cta_group)
    for _ in range(thread.mask.count):
        gpu.mma(thread, d, a, start_a, b, start_b, shape, accumulate, cta_group)


@instruction(
    "tcgen05.mma.cta_group::{cta_group}.kind::{kind} [{d}], [{a}], {b_desc}, {idesc}, {accumulate};",
    name="tcgen05.mma.a_in_tmem",
    issued_by=Scope.THREAD,
    min_sm=100,
    max_sm=110,
    only_on={("kind", "i8"): (100, 110)},
    isa="tcgen05.mma",
    cost="mma",
    reads=Memory.SHARED | Memory.TENSOR,
    writes=Memory.TENSOR,
    completion=Completion.COMMIT,
)
def tcgen05_mma_a_in_tmem(
    gpu: Machine,
    thread: Thread,
    d: TmemAddress,
    a: TmemAddress,
    b_desc: Tcgen05Descriptor,
    idesc: InstructionWord,
    accumulate: pred,
    *,
    cta_group: Literal[1, 2] = 1,
    kind: Literal["f16", "tf32", "f8f6f4", "i8"] = "f16",
) -> None:
    """Issue the MMA with A in tensor memory: row r in the lane of row r of D, packed along K into columns.

    If D has its columns in two parts (M = 128 of a pair), each part has its own rows of A beside it.
    """
    b, start_b = smem_operand(thread, "B", b_desc)
    shape = decoded(thread, "the instruction", InstructionDescriptor.decode, idesc, kind, cta_group)
    shape = in_tmem(thread, shape)
    for _ in range(thread.mask.count):
        gpu.mma(thread, d, A_IN_TMEM, a, b, start_b, shape, accumulate, cta_group)


def in_tmem(thread: Thread, shape: InstructionDescriptor) -> InstructionDescriptor:
    """Return the computation of an MMA with A in tensor memory, and record where its elements are not modelled."""
    if not shape.a.bits:
        return shape
    what = f"a matrix A of {PTX_TYPES[shape.a.dtype]} in tensor memory"
    thread.not_modelled(what, "its bytes are taken as e4m3")
    return replace(shape, a=mma_format("float8_e4m3fn")[1])


def smem_operand(thread: Thread, name: str, descriptor: int) -> tuple[SmemDescriptor, int]:
    """Return the shared-memory layout and start address of operand A or B from its descriptor."""
    layout = decoded(thread, f"operand {name}", SmemDescriptor.decode, descriptor & ~START_BITS)
    return layout, (descriptor & START_BITS) << 4


Decoded = TypeVar("Decoded")


def decoded(
    thread: Thread, operand: str, decode: Callable[..., Decoded], *word: object, what: str = "an MMA"
) -> Decoded:
    """Return the decoded word; raises a fault if `decode` raises `ValueError`. operand: of `what`, for the message."""
    try:
        return decode(*word)
    except ValueError as error:
        raise thread.fault(
            "bad-descriptor",
            f"the descriptor of {operand} of {what} is wrong: {error}",
            rule="PTX ISA: tcgen05, descriptors",
        ) from None


def _commit(cta_group: int, cta_mask: int | None) -> str:
    text = f"tcgen05.commit.cta_group::{cta_group}.mbarrier::arrive::one.shared::cluster"
    return (
        MASK16 % (cta_mask, f"{text}.multicast::cluster.b64 [{{bar}}], mask;")
        if multicasts(cta_mask)
        else f"{text}.b64 [{{bar}}];"
    )


@instruction(
    _commit,
    name="tcgen05.commit",
    issued_by=Scope.THREAD,
    min_sm=100,
    max_sm=110,
    cost="smem_atomic",
    barrier=BarrierEffect.COMMIT,
)
def tcgen05_commit(
    gpu: Machine, thread: Thread, bar: MbarrierAddress, *, cta_group: Literal[1, 2] = 1, cta_mask: int | None = None
) -> None:
    """Arrive once at `bar` when all MMAs issued by this thread are complete; implies fence::before_thread_sync.

    With several bits in `cta_mask` (bit r for cluster rank r), arrive at the barrier at the same offset in each CTA
    of the mask.
    """
    mask = cta_mask if cta_mask is not None and multicasts(cta_mask) else None
    barriers = [gpu.mbarrier(thread, bar)] if mask is None else gpu.peer_mbarriers(thread, bar, mask)
    for _ in range(thread.mask.count):
        gpu.commit(thread, barriers, cta_group)


_SHAPES: dict[str, int] = {"32x32b": 1, "16x32bx2": 1, "16x64b": 1, "16x128b": 2, "16x256b": 4}
"""The number of registers of each thread for one repetition (.xN)."""


def _registers(shape: str, num: int, **_: object) -> int:
    return num * _SHAPES[shape]


@cache
def _places(shape: str, num: int, half: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (lane, column) of register r of thread t, int[num registers, 32], relative to warp lanes and address.

    PTX ISA: "tcgen05 data movement shape" (matrix fragments).
    """
    t = np.arange(32)[None, :]
    r = np.arange(num * _SHAPES[shape])[:, None]
    if shape == "32x32b":
        return np.broadcast_to(t, (len(r), 32)), np.broadcast_to(r, (len(r), 32))
    if shape == "16x32bx2":  # threads 16 to 31: the same lanes, `half` columns further
        return np.broadcast_to(t % 16, (len(r), 32)), r + half * (t // 16)
    if shape == "16x64b":  # thread 4i + 2j + k: column j of row i + 8k
        return np.broadcast_to(t // 4 + 8 * (t % 2), (len(r), 32)), 2 * r + t // 2 % 2
    row, quad = t // 4, t % 4
    if shape == "16x128b":  # registers 2i, 2i + 1: rows 0-7 and 8-15 of four columns
        return row + 8 * (r % 2), 4 * (r // 2) + quad
    pair, lower, column = r // 4, r // 2 % 2, r % 2
    return row + 8 * lower, 8 * pair + 2 * quad + column


def _moved(direction: str) -> Callable[..., str]:
    def template(shape: str, num: int, half: int) -> str:
        split = ", {half}" if shape == "16x32bx2" else ""
        if direction == "ld":
            return f"tcgen05.ld.sync.aligned.{shape}.x{num}.b32 {{{{dst}}}}, [{{addr}}]{split};"
        return f"tcgen05.st.sync.aligned.{shape}.x{num}.b32 [{{addr}}]{split}, {{{{src}}}};"

    return template


@instruction(
    _moved("ld"),
    name="tcgen05.ld",
    issued_by=Scope.WARP,
    min_sm=100,
    max_sm=110,
    cost="tmem",
    registers=_registers,
    reads=Memory.TENSOR,
    completion=Completion.TCGEN05_WAIT,
)
def tcgen05_ld(
    gpu: Machine,
    thread: Thread,
    dst: Registers,
    addr: TmemAddress,
    *,
    shape: Literal["32x32b", "16x32bx2", "16x64b", "16x128b", "16x256b"] = "32x32b",
    num: int = 1,
    half: int = 0,
) -> None:
    """Load a warp's lanes of tensor memory into registers, which are valid after tcgen05.wait::ld.

    32x32b: register i of thread t is column i of lane t. 16x32bx2: threads 16 to 31 access the lanes of threads 0 to
    15 again, `half` columns further.
    """
    lanes, columns = _places(shape, num, half)
    gpu.tmem_load(thread, thread.uniform(addr, "the address"), lanes, columns, dst)


@instruction(
    _moved("st"),
    name="tcgen05.st",
    issued_by=Scope.WARP,
    min_sm=100,
    max_sm=110,
    cost="tmem",
    registers=_registers,
    writes=Memory.TENSOR,
    completion=Completion.TCGEN05_WAIT,
)
def tcgen05_st(
    gpu: Machine,
    thread: Thread,
    addr: TmemAddress,
    src: SourceRegisters,
    *,
    shape: Literal["32x32b", "16x32bx2", "16x64b", "16x128b", "16x256b"] = "32x32b",
    num: int = 1,
    half: int = 0,
) -> None:
    """Store registers to a warp's lanes of tensor memory, which are valid after tcgen05.wait::st."""
    lanes, columns = _places(shape, num, half)
    gpu.tmem_store(thread, thread.uniform(addr, "the address"), lanes, columns, src)


@instruction(
    "tcgen05.wait::ld.sync.aligned;",
    name="tcgen05.wait.ld",
    implied=("sync", "aligned"),
    issued_by=Scope.WARP,
    min_sm=100,
    max_sm=110,
    isa="tcgen05.wait",
    cost="wait",
    awaits="tcgen05.ld",
)
def tcgen05_wait_ld(gpu: Machine, thread: Thread) -> None:
    """Wait for the warp's earlier tcgen05.ld to complete, with the values in registers."""
    gpu.tmem_wait(thread, True)


@instruction(
    "tcgen05.wait::st.sync.aligned;",
    name="tcgen05.wait.st",
    implied=("sync", "aligned"),
    issued_by=Scope.WARP,
    min_sm=100,
    max_sm=110,
    isa="tcgen05.wait",
    cost="wait",
    awaits="tcgen05.st",
)
def tcgen05_wait_st(gpu: Machine, thread: Thread) -> None:
    """Wait for the warp's earlier tcgen05.st to complete, with the values in tensor memory."""
    gpu.tmem_wait(thread, False)


@instruction(
    "tcgen05.fence::before_thread_sync;",
    name="tcgen05.fence.before_thread_sync",
    issued_by=Scope.THREAD,
    min_sm=100,
    max_sm=110,
    isa="tcgen05.fence",
    cost="sync",
    fence="tcgen05",
)
def tcgen05_fence_before_thread_sync(gpu: Machine, thread: Thread) -> None:
    """Order the thread's tcgen05 operations before its later synchronisation with others."""
    thread.fence_tcgen05_before()


@instruction(
    "tcgen05.fence::after_thread_sync;",
    name="tcgen05.fence.after_thread_sync",
    issued_by=Scope.THREAD,
    min_sm=100,
    max_sm=110,
    isa="tcgen05.fence",
    cost="sync",
    fence="tcgen05",
)
def tcgen05_fence_after_thread_sync(gpu: Machine, thread: Thread) -> None:
    """Order the thread's later tcgen05 operations after its earlier synchronisation with others."""
    thread.fence_tcgen05_after()
